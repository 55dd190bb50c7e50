"""What users get wrong, one line each: the right exit status, a line or two on stderr, nothing lost."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from authbench.cli.main import execute
from authbench.engines.fake import FakeEngine
from authbench.runtime import storefile

CONFIG = """\
table: authoritybench/1
task: listwise
dataset: {name: sample-domains, lists: 3}
context: [without]
judges: [point, list-rank]
models: [fake]
engine: fake
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the configuration `x.yaml`, and nothing from the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTHBENCH_DATA", "")
    monkeypatch.setenv("AUTHBENCH_MIRROR", "")
    monkeypatch.setenv("AUTHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "x.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def run(at: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line; gives exit status, stdout and stderr."""

    def do(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = execute(words)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return status, said.out, said.err

    return do


def refused(said: tuple[int, str, str], status: int, *words: str) -> None:
    assert said[0] == status, said
    for word in words:
        assert word in said[2], f"{word!r} is not in {said[2]!r}"
    assert said[1] == ""
    lines = [line for line in said[2].splitlines() if not line.startswith(("note: ", "fake "))]
    assert 1 <= len(lines) <= 4 if "Usage" in said[2] else 1 <= len(lines) <= 2, said[2]


@dataclass(frozen=True)
class Case:
    """Arguments after `run x.yaml`, what they end with, and words of the message."""

    words: str
    status: int
    message: tuple[str, ...]
    config: str | bytes = CONFIG
    files: dict[str, str | bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.words or str(self.config)[:40]


def lists_file(levels: range, text: str = "Some text.", lacking: int | None = None) -> str:
    rows = [f"d{level}.org,{level},{'' if level == lacking else text}" for level in levels]
    return "\n".join(["domain,label,text", *rows]) + "\n"


OWN = "--set dataset.name=own --set dataset.path=f.csv "

COMMAND_LINE = [
    Case("--set dataset.lsts=4", 2, ("--set dataset.lsts=4: unknown key", "did you mean 'lists'?")),
    Case("--set dataset.scale=fin", 2, ("--set dataset.scale=fin", "'fine' or 'coarse'", "did you mean")),
    Case("--set dataset.lists=0", 2, ("dataset.lists is 0",)),
    Case("--set dataset.lists=many", 2, ("dataset.lists is 'many'", "valid integer")),
    Case("--set dataset=3", 2, ("dataset is 3: it must be a mapping",)),
    Case("--set dataset.name.x=3", 2, ("name is 'sample-domains', it has no keys below it",)),
    Case("--set a.b.c=1", 2, ("unknown key 'a'",)),
    Case("--set =1", 2, ("write it as key=value",)),
    Case("--set dataset..lists=1", 2, ("write it as key=value",)),
    Case("--set judges=[point", 2, ("not valid YAML; quote it",)),
    Case("--set judges=[]", 2, ("judges is []: at least 1 is needed",)),
    Case("--set judges=[point,point]", 2, ("the same value stands there twice: 'point'",)),
    Case("--set context=[with,with]", 2, ("the same value stands there twice: 'with'",)),
    Case("--set dataset.domains=[]", 2, ("at least 1 is needed",)),
    Case("--set dataset.domains=[movies]", 2, ("no domain is called 'movies'", "known: domains")),
    Case("--set dataset.columns.foo=x", 2, ("foo",)),
    Case("--set anchors=11", 2, ("anchors is 11",)),
    Case("--set models=[]", 2, ("models is []: at least 1 is needed",)),
    Case("--models ,", 2, ("--models : models is []", "at least 1 is needed")),
    Case("--models fake,fake", 2, ("--models fake,fake", "the same value stands there twice: 'fake'")),
    Case("--models fakr", 2, ("unknown model 'fakr' (did you mean 'fake'?)",)),
    Case("--models nowhere/model.gguf/x", 2, ("unknown model", "a path to a folder or .gguf file")),
    Case("--models /", 2, ("unknown model '/'",)),
    Case("--engine fak", 2, ("unknown engine 'fak' (did you mean 'fake'?)", "known: vllm")),
    Case("--set engine.sed=1", 2, ("engine fake: unknown setting 'sed' (did you mean 'seed'?)",)),
    Case("--set engine.seed=x", 2, ("engine fake: seed is 'x'",)),
    Case("--set engine={}", 2, ("--set engine={}: 'engine.name' is missing",)),
    Case("--set engine.name=3", 2, ("engine.name is 3",)),
    Case("--set engine=replay", 2, ("engine replay", "--set engine.path=FILE")),
    Case("--set engine=replay --set engine.path=gone.gz", 3, ("no recorded answers at gone.gz", "export")),
    Case("--set dataset.name=sample-dmains", 2, ("no data set is called", "did you mean 'sample-domains'?")),
    Case("--set dataset.name=factcheckgpt", 2, ("is a set of questions",)),
    Case("--set dataset.name=sample-entities --set context=[with]", 2, ("no web page text", "context")),
    Case("--set dataset.name=domainauth", 3, ("corpus_10_scale.jsonl not found", "data pull", "stand-in")),
    Case("--set dataset.lists=9999999999", 3, ("only 60466176 different ones", "set dataset.lists=60466176")),
    Case("--data nowhere", 2, ("Directory 'nowhere' does not exist",)),
    Case("--limit 0", 2, ("'--limit'",)),
    Case("--results x.yaml", 2, ("'--results'",)),
    Case("--results x.yaml/sub", 3, ("x.yaml/sub cannot be made", "choose another --results")),
    Case("--bogus", 2, ("No such option",)),
]

FILES = [
    Case(OWN, 3, ("f.csv: cannot be read (No such file", "dataset.path")),
    Case("--set dataset.path=.", 3, (".: cannot be read (Is a directory)",)),
    Case(OWN, 3, ("f.csv: empty",), files={"f.csv": ""}),
    Case(OWN, 3, ("f.csv: no records",), files={"f.csv": "domain,label\n"}),
    Case(OWN, 3, ("no column found for 'name'; columns found: a, b",), files={"f.csv": "a,b\n1,2\n"}),
    Case(OWN, 3, ("f.csv, line 2, column 'label': 'x'",), files={"f.csv": "domain,label\na.org,x\n"}),
    Case(OWN, 3, ("f.csv, line 2: 11 is no authority label",), files={"f.csv": "domain,label\na.org,11\n"}),
    Case(OWN, 3, ("f.csv, line 2: more fields",), files={"f.csv": "domain,label\na.org,1,2\n"}),
    Case(OWN, 3, ("not UTF-8 text",), files={"f.csv": b"domain,label\na\xff.org,1\n"}),
    Case(OWN, 3, ("no items of level 7, 8, 9",), files={"f.csv": lists_file(range(7))}),
    Case(OWN, 3, ("3 lists wanted, but only 1",), files={"f.csv": lists_file(range(10))}),
    Case(
        OWN + "--set context=[with] --set dataset.lists=1",
        3,
        ("no items of level 4",),
        files={"f.csv": lists_file(range(10), lacking=4)},
    ),
    Case(
        OWN + "--set context=[with]",
        3,
        ("no column found for 'text'", "context: [without]"),
        files={"f.csv": "domain,label\na.org,1\n"},
    ),
]

YAML = [
    Case("", 2, ("x.yaml: must be a mapping of keys to values, it is a list",), "- a\n"),
    Case("", 2, ("x.yaml: must be a mapping of keys to values, it is empty",), "# nothing\n"),
    Case("", 2, ("x.yaml: must be a mapping of keys to values, it is a str",), "just text"),
    Case("", 2, ("x.yaml:2: not valid YAML",), "a: [1\n"),
    Case("", 2, ("x.yaml: not UTF-8 text (invalid start byte at byte 7)",), b"title: \xff\n"),
    Case("", 2, ("x.yaml: not text",), b"title: \x00\n"),
    Case("", 2, ("x.yaml:9: the key 'task' stands there twice, first at x.yaml:2",), CONFIG + "\ntask: rag"),
    Case("", 2, ("x.yaml:1: task is ['listwise']; it must be one of",), "task: [listwise]\n"),
    Case("", 2, ("nested too deeply",), "a: " + "[" * 5000),
    Case("", 2, ("x.yaml:8: unknown key 'more'",), CONFIG + "more: &more [*more]\n"),
    Case("", 2, ("could not determine a constructor",), "task: !!python/object:os.system x\n"),
    Case("", 2, ("not valid YAML: month must be in 1..12",), CONFIG + "title: 2024-13-45\n"),
    Case("", 2, ("x.yaml:8: extends ['a'], which is no file",), CONFIG + "extends: [a]\n"),
    Case(
        "",
        2,
        ("x.yaml:2: dataset is None: it must be a mapping",),
        "task: listwise\ndataset:\nmodels: [fake]\n",
    ),
]


@pytest.mark.parametrize("case", [*COMMAND_LINE, *FILES, *YAML], ids=str)
def test_a_mistake_is_one_line_and_writes_nothing(case: Case, at: Path, run: Run) -> None:
    config = case.config.encode() if isinstance(case.config, str) else case.config
    (at / "x.yaml").write_bytes(config)
    for name, content in case.files.items():
        (at / name).write_bytes(content.encode() if isinstance(content, str) else content)
    refused(run("run", "x.yaml", *case.words.split()), case.status, *case.message)
    assert not (at / "results").exists(), "something was written before everything was checked"


def test_words_that_are_not_there(run: Run) -> None:
    refused(run("--verson"), 2, "No such option '--verson'", "'--version'")
    refused(run("tabel"), 2, "no such command 'tabel' (did you mean 'table'?)")
    refused(run("help", "run"), 2, "no such command 'help': authbench --help", "authbench COMMAND --help")
    refused(run("table", "authoritybench/9"), 3, "no folder, and no table of the papers", "authoritybench/6")
    refused(run("plot", "--kind", "forest"), 2, "plot needs a run")
    refused(run("data", "build", "sample-domains", "--lists", "-1"), 2, "'--lists': -1 is not in the range")


def test_an_engine_that_is_not_installed_names_its_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from authbench.engines import registry

    monkeypatch.setattr(registry, "installed", lambda name: name != "vllm")
    refused(run("run", "x.yaml", "--engine", "vllm"), 4, "pip install 'authbench[vllm]'", "list engines")


def test_a_model_file_that_is_not_there(at: Path, run: Run) -> None:
    pytest.importorskip("openvino_genai")
    (at / "models").mkdir()
    (at / "models" / "gone.yaml").write_text("id: gone\ngguf: {path: nowhere/gone.gguf}\n")
    refused(run("run", "x.yaml", "--engine", "openvino", "--models", "gone"), 4, "nowhere/gone.gguf")


def test_configurations_that_are_none(at: Path, run: Run) -> None:
    (at / "folder.yaml").mkdir()
    (at / "dangling.yaml").symlink_to("nowhere.yaml")
    refused(run("run", "folder.yaml"), 2, "folder.yaml is a folder, not a configuration")
    refused(run("run", "dangling.yaml"), 2, "no configuration dangling.yaml")
    refused(run("run", "domainauth_fin"), 2, "did you mean 'domainauth_fine'?")


def test_no_two_jobs_write_one_folder(at: Path, run: Run) -> None:
    for folder in ("a", "b"):
        (at / folder / "m").mkdir(parents=True)
        (at / folder / "x.yaml").write_text(CONFIG)
    refused(run("run", "x.yaml", "./x.yaml"), 2, "x.yaml is given twice")
    refused(run("run", "a/x.yaml", "b/x.yaml"), 2, "a/x.yaml and b/x.yaml would both write results to x/fake")
    refused(run("run", "x.yaml", "--models", "a/m/.,b/m/."), 2, "two of its models are called 'm'")
    assert not (at / "results").exists()


def test_data_that_is_cut_or_changed(at: Path, run: Run, mirror: Path) -> None:
    shutil.copytree(mirror / "entityauth", at / "data" / "entityauth", copy_function=shutil.copyfile)
    words = ("run", "x.yaml", "--data", "data", "--set", "dataset.name=entityauth")
    songs = at / "data" / "entityauth" / "songs.jsonl"
    whole = songs.read_bytes()
    songs.write_bytes(whole[:100_000])
    refused(
        run(*words), 3, "songs.jsonl is truncated, 100000 bytes instead of 330363", "data pull entityauth"
    )
    songs.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    refused(run(*words), 3, "songs.jsonl has SHA-256", "expected")
    songs.unlink()
    refused(run(*words), 3, "entityauth/songs.jsonl not found (looked in data data")
    songs.write_bytes(whole)
    assert run(*words)[0] == 0


# --- texts and contexts ------------------------------------------------------------------------------


def test_sources_without_text_are_left_out_counted_and_said(at: Path, run: Run) -> None:
    (at / "f.csv").write_text(lists_file(range(10)) + lists_file(range(10), lacking=3)[18:].replace("d", "e"))
    words = (OWN + "--set context=[with,without] --set dataset.lists=2").split()
    status, _, said = run("run", "x.yaml", *words)
    assert status == 0
    assert "note: 1 sources without text are left out of every context." in said
    data = json.loads((at / "results/x/fake/run.json").read_text())["data"]
    assert data["dropped"] == {"no text": 1}
    assert data["notes"] == ["1 sources without text are left out of every context."]


@pytest.fixture
def small(at: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Words for lists with long texts, and a model with a context of a thousand tokens."""
    monkeypatch.setattr(FakeEngine, "context_length", property(lambda engine: engine._model.context_length))
    (at / "models").mkdir()
    (at / "models" / "small.yaml").write_text("id: small\ncontext_length: 1000\n")
    (at / "models" / "tiny.yaml").write_text("id: tiny\ncontext_length: 100\n")
    (at / "f.csv").write_text(lists_file(range(10), text="word " * 400))
    return (*OWN.split(), "--set", "context=[with]", "--set", "dataset.lists=1", "--models", "small")


def test_a_prompt_longer_than_the_context_is_found_before_anything_is_asked(
    at: Path, run: Run, small: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "load", lambda self: pytest.fail("the model was loaded"))
    refused(
        run("run", "x.yaml", *small),
        2,
        "domains/with/domains-0000: a prompt of",
        "does not fit the context of 1000 of small",
        "--set overflow=truncate",
    )
    assert not (at / "results").exists()
    status, out, _ = run("run", "x.yaml", *small, "--dry-run", "--json")
    assert status == 0 and [row["overflows"] for row in json.loads(out)] == [1, 1]
    _, out, _ = run("run", "x.yaml", *small, "--dry-run")
    assert "2 items do not fit the model's context (column over): a run refuses them; cut their texts" in out
    refused(run("run", "x.yaml", *small, "--models", "tiny"), 2, "even if texts are cut", "longer context")
    refused(run("run", "x.yaml", "--models", "tiny"), 2, "domains/without/", "even if texts are cut")


def test_texts_that_are_cut_are_recorded(at: Path, run: Run, small: tuple[str, ...]) -> None:
    longest = 0
    submit = FakeEngine.submit

    def measured(engine: FakeEngine, jobs: list[object]) -> None:
        nonlocal longest
        longest = max(longest, *(len(job.prompt.text) for job in jobs))  # type: ignore[attr-defined]
        submit(engine, jobs)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeEngine, "submit", measured)
        status, _, said = run("run", "x.yaml", *small, "--set", "overflow=truncate")
    assert status == 0, said
    facts = json.loads((at / "results/x/small/run.json").read_text())
    [(item, budget)] = facts["truncated"].items()
    assert item == "domains/with/domains-0000" and budget in (100, 250)
    assert facts["config"]["overflow"] == "truncate" and longest <= 4 * 1000
    before = (at / "results/x/small/cells.json").read_bytes()
    (at / "results/x/small/cells.json").unlink()
    assert run("score", "results")[0] == 0
    assert (at / "results/x/small/cells.json").read_bytes() == before


# --- the results folder ------------------------------------------------------------------------------


def test_results_of_something_else_are_refused_with_the_difference(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    before = {path: path.read_bytes() for path in (at / "results/x/fake").iterdir()}
    again = "use --fresh to replace it, or another --results folder"
    refused(run("run", "x.yaml", "--set", "dataset.lists=4"), 2, "dataset.lists: 3 there, 4 here", again)
    refused(run("run", "x.yaml", "--set", "engine.seed=4"), 2, "another model (revision: ", again)
    refused(run("run", "x.yaml", "--limit", "2"), 2, "holds a whole run, and --limit 2 would replace it")
    assert {path: path.read_bytes() for path in (at / "results/x/fake").iterdir()} == before
    file = at / "results/x/fake/run.json"
    facts = json.loads(file.read_text())
    file.write_text(json.dumps({**facts, "format": 0, "authbench": "0.0.1"}))
    refused(run("run", "x.yaml"), 2, "was written by authbench 0.0.1 (format 0), this is", "(format 1)")
    refused(run("score", "results"), 2, "has format 0, this authbench reads 1")


@pytest.mark.parametrize(
    "damage",
    ["{", "[]", "{}", '{"format": 1}', '{"format": 1, "config": 3}', "\xff", "[" * 100_000],
    ids=lambda text: text[:20],
)
def test_a_damaged_run_file_is_named(at: Path, run: Run, damage: str) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    file = at / "results/x/fake/run.json"
    file.write_bytes(damage.encode("latin-1"))
    for words in (("run", "x.yaml"), ("score", "results")):
        refused(run(*words), 3, "run.json is damaged", "remove it and run the experiment again")
    file.unlink()
    status, _, said = run("run", "x.yaml")
    assert status == 0 and "33 stored" in said, "the answers were kept"


def test_a_configuration_that_is_not_understood_any_more(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    file = at / "results/x/fake/run.json"
    facts = json.loads(file.read_text())
    facts["config"]["judges"] = ["oracle"]
    file.write_text(json.dumps(facts))
    refused(run("score", "results"), 2, "run.json: config.judges.0 is not understood")


def test_score_goes_on_after_a_run_that_it_cannot_measure(at: Path, run: Run) -> None:
    for results in ("results/a", "results/b"):
        assert run("run", "x.yaml", "-q", "--results", results)[0] == 0
    (at / "results/a/x/fake/run.json").write_text("{")
    (at / "results/b/x/fake/cells.json").unlink()
    status, out, said = run("score", "results")
    assert status == 3 and "Table 1" in out and "results/a/x/fake/run.json is damaged" in said
    assert (at / "results/b/x/fake/cells.json").exists()


def test_runs_that_are_not_there(at: Path, run: Run) -> None:
    refused(run("score", "nowhere"), 2, "nowhere holds no run (no run.json)", "results/EXPERIMENT/MODEL")
    refused(run("store", "stats", "--results", "nowhere"), 3, "no answers in nowhere", "--results")
    assert run("run", "x.yaml", "-q")[0] == 0
    (at / "results/responses.sqlite").unlink()
    refused(run("score", "results"), 3, "no store at results/responses.sqlite")


# --- the store ---------------------------------------------------------------------------------------


def test_a_locked_store(at: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    monkeypatch.setattr(storefile, "BUSY_TIMEOUT", 0.1)
    holder = sqlite3.connect(at / "results/responses.sqlite")
    try:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        for words in (("run", "x.yaml"), ("score", "results"), ("store", "stats")):
            refused(run(*words), 3, "responses.sqlite is locked by another process", "wait for it")
    finally:
        holder.rollback()
        holder.close()
    assert run("run", "x.yaml")[0] == 0


def test_a_damaged_store_is_mended_by_a_run_and_by_repair_only(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    store = at / "results/responses.sqlite"
    whole = store.read_bytes()
    damaged = whole[:8192] + b"\xff" * 3000 + whole[11192:]
    store.write_bytes(damaged)
    looks = (("run", "x.yaml", "--dry-run"), ("score", "results"), ("store", "stats"))
    for words in (*looks, ("store", "export", "-o", "out.gz")):
        refused(run(*words), 3, "is damaged", "`authbench store repair --results results`")
    assert store.read_bytes() == damaged
    status, _, said = run("store", "repair")
    assert status == 0 and "answers were saved" in said
    [kept] = (at / "results").glob("responses.sqlite.damaged-*")
    assert kept.read_bytes() == damaged
    assert run("store", "repair")[2] == "nothing to repair\n"
    assert run("run", "x.yaml")[0] == 0


def test_looking_changes_nothing(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    before = {path: path.stat().st_mtime_ns for path in (at / "results").rglob("*")}
    for words in (("run", "x.yaml", "--dry-run"), ("store", "stats"), ("store", "export", "-o", "out.gz")):
        assert run(*words)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in (at / "results").rglob("*")} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    folder = at / "results"
    folder.chmod(0o500)
    try:
        refused(run("run", "x.yaml", "--set", "dataset.lists=4"), 2, "another configuration")
        refused(run("run", "x.yaml", "--results", "results/sub"), 3, "cannot be made")
        assert run("store", "stats")[0] == 0
    finally:
        folder.chmod(0o700)


def test_a_full_disk(at: Path, run: Run, tmp_path: Path) -> None:
    """A small file system in memory; only root can make one."""
    full = tmp_path / "full"
    full.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(full)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        words = ("run", "x.yaml", "--results", str(full), "--set", "dataset.lists=100")
        refused(run(*words), 3, "the same command continues")
        assert (full / "responses.sqlite").exists()
        refused(run(*words), 3)
        subprocess.run(["mount", "-o", "remount,size=30m", str(full)], check=True)
        assert run(*words)[0] == 0
        subprocess.run(["mount", "-o", "remount,ro", str(full)], check=True)
        refused(
            run("run", "x.yaml", "--results", str(full / "sub")), 3, "cannot be made (Read-only file system"
        )
        refused(run("score", str(full)), 3, "items.jsonl cannot be written: Read-only file system")
        assert run("store", "stats", "--results", str(full))[0] == 0
        assert run(*words, "--dry-run")[0] == 0
    finally:
        subprocess.run(["umount", str(full)], check=True)


# --- other processes ---------------------------------------------------------------------------------

AUTHBENCH = [sys.executable, "-m", "authbench.cli.main"]
SLOW = [
    "run",
    "x.yaml",
    "--set",
    "engine.latency=0.01",
    "--set",
    "dataset.lists=60",
    "--set",
    "judges=[point]",
]


#: Six seconds of answers, committed every second.
SLOWER = [*SLOW, "--set", "engine.latency=0.1"]


def until_answers_are_on_disk(process: subprocess.Popen[Any], at: Path, since: float) -> None:
    """Wait until a run has committed answers given after a Unix time, or has ended."""
    while process.poll() is None:
        try:
            with closing(sqlite3.connect(f"file:{at}/results/responses.sqlite?mode=ro", uri=True)) as store:
                if store.execute("SELECT COUNT(*) FROM samples WHERE created > ?", (since,)).fetchone()[0]:
                    return
        except sqlite3.Error:
            pass  # not made yet
        time.sleep(0.05)


def test_ctrl_c_keeps_what_was_answered(at: Path) -> None:
    begin = time.time()
    process = subprocess.Popen(
        [*AUTHBENCH, *SLOWER], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    until_answers_are_on_disk(process, at, begin)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130 and out == ""
    assert said.endswith("authbench: stopped; what was answered is kept, the same command continues\n")
    assert "Traceback" not in said
    assert json.loads((at / "results/x/fake/run.json").read_text())["status"] == "running"
    done = subprocess.run([*AUTHBENCH, *SLOW], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and " stored" in done.stderr


@pytest.mark.parametrize("words", [["list", "models"], ["run", "x.yaml"]])
def test_nobody_reads_on(at: Path, words: list[str]) -> None:
    """As in `authbench ... | head -c 1`."""
    process = subprocess.Popen(
        [*AUTHBENCH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait() == 0, said
    assert "rror" not in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_streams_that_cannot_be_written(at: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*AUTHBENCH, "list", "models"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
        assert done.returncode == 3
        assert done.stderr == "authbench: No space left on device (--debug shows where)\n"
        done = subprocess.run(
            [*AUTHBENCH, "run", "x.yaml"], stderr=full, stdout=subprocess.PIPE, text=True, check=False
        )
        assert done.returncode == 0 and "Table 1" in done.stdout


@pytest.mark.parametrize(
    ("encoding", "settings"),
    [
        ("ascii", {"COLUMNS": "0"}),
        ("latin-1", {"COLUMNS": "20"}),
        ("utf-8", {"COLUMNS": "many"}),
        ("utf-8", {"NO_COLOR": "1", "TERM": "dumb"}),
    ],
)
def test_odd_terminals(
    at: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, settings: dict[str, str]
) -> None:
    (at / "f.csv").write_text(lists_file(range(10), text="Gerüst – 三 𝒜"), encoding="utf-8")
    own = (OWN + "--set context=[with] --set dataset.lists=1").split()
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    def printed(*words: str) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        assert execute(words) == 0
        stream.flush()
        stream.buffer.seek(0)
        # Click takes ASCII for a terminal that nobody has set up, and writes UTF-8.
        return stream.buffer.read().decode("utf-8" if encoding == "ascii" else encoding)

    assert "PointJudge" in printed("run", "x.yaml", *own)
    shown = printed("prompt", "x.yaml", *own, "--all")
    assert ("Gerüst – 三 𝒜" in shown) == (encoding != "latin-1")
    assert "Gerüst – 三 𝒜" in json.loads(printed("prompt", "x.yaml", *own, "--json"))[0]["prompt"]


def test_a_process_with_nothing_around_it(at: Path) -> None:
    """A locale without UTF-8, a home that is not there, a stderr that is closed."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LC_ALL": "POSIX",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    words = " ".join([*AUTHBENCH, "run", "x.yaml"])
    done = subprocess.run(
        ["sh", "-c", f"{words} 2>&-"], stdout=subprocess.PIPE, cwd=at, env=environment, check=False
    )
    assert done.returncode == 0
    assert done.stdout.decode("ascii").startswith("AuthorityBench Table 1.")


def test_a_fresh_run_that_is_killed_goes_on(at: Path) -> None:
    assert subprocess.run([*AUTHBENCH, *SLOW, "-q"], capture_output=True, check=False).returncode == 0
    first = (at / "results/x/fake/cells.json").read_bytes()
    fresh = [*AUTHBENCH, *SLOWER, "--fresh"]
    begin = time.time()
    process = subprocess.Popen(fresh, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    until_answers_are_on_disk(process, at, begin)
    process.kill()
    process.communicate()
    done = subprocess.run(fresh, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "goes on" in done.stderr and " stored" in done.stderr
    assert (at / "results/x/fake/cells.json").read_bytes() == first
    facts = json.loads((at / "results/x/fake/run.json").read_text())
    assert facts["status"] == "complete" and facts["fresh_since"] is None
