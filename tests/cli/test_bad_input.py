"""What users get wrong, one line each: the right exit status, a line or two on stderr, nothing lost."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from command_line import CONFIG, OWN, Run, lists_file, prepared, refused, runner


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return prepared(tmp_path, monkeypatch)


@pytest.fixture
def run(at: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


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


COMMAND_LINE = [
    Case("--set dataset.lsts=4", 2, ("--set dataset.lsts=4: unknown key", "did you mean 'lists'?")),
    Case("--set dataset.scale=fin", 2, ("--set dataset.scale=fin", "'fine' or 'coarse'", "did you mean")),
    Case("--set dataset.lists=0", 2, ("dataset.lists is 0",)),
    Case("--set dataset.lists=many", 2, ("dataset.lists is 'many'", "valid integer")),
    Case(
        "--set dataset.lists=true", 2, ("--set dataset.lists=true: dataset.lists is 'true'", "valid integer")
    ),
    Case("--set text_chars=0", 2, ("--set text_chars=0: text_chars is 0", "greater than or equal to 1")),
    Case("--set table=authoritybench/9", 2, ("papers have no such table", "authoritybench/1,")),
    Case("--set table=lcr/2", 2, ("table is 'lcr/2': the task lcr makes it", "listwise: authoritybench/1,")),
    Case("--set dataset=3", 2, ("dataset is 3: it must be a mapping",)),
    Case("--set dataset.name.x=3", 2, ("name is 'sample-domains', it has no keys below it",)),
    Case("--set a.b.c=1", 2, ("unknown key 'a'",)),
    Case("--set =1", 2, ("write it as key=value",)),
    Case("--set dataset..lists=1", 2, ("write it as key=value",)),
    Case("--set judges=[point", 2, ("not valid YAML; quote it",)),
    Case("--set judges=[]", 2, ("judges is []: at least 1 is needed",)),
    Case("--set judges=[point,point]", 2, ("the same value stands there twice: 'point'",)),
    Case("--set context=both", 2, ("context.0 is 'both': input should be 'without' or 'with'\n",)),
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
    Case("--engine openai --set engine.base_ur=x", 2, ("no such setting", "did you mean 'base_url'")),
    Case("--set engine={}", 2, ("--set engine={}: 'engine.name' is missing",)),
    Case("--set engine.name=3", 2, ("engine.name is 3",)),
    Case("--set engine=replay", 2, ("engine replay", "--set engine.path=FILE")),
    Case("--set engine=replay --set engine.path=gone.gz", 3, ("no recorded answers at gone.gz", "export")),
    Case("--set dataset.name=sample-dmains", 2, ("no data set is called", "did you mean 'sample-domains'?")),
    Case("--set dataset.name=factcheckgpt", 2, ("is a set of questions",)),
    Case("--set dataset.name=sample-entities --set context=[with]", 2, ("no web page text", "context")),
    Case("--set dataset.name=domainauth", 3, ("corpus_10_scale.jsonl not found", "data pull", "stand-in")),
    Case("--set dataset.lists=9999999999", 3, ("only 60466176 different ones", "set dataset.lists=60466176")),
    Case("--data nowhere", 2, ("'--data': dir 'nowhere' does not exist",)),
    Case("--limit 0", 2, ("'--limit'",)),
    Case("--results x.yaml", 2, ("'--results'",)),
    Case("--results x.yaml/sub", 3, ("x.yaml/sub cannot be made", "choose another --results")),
    Case("--bogus", 2, ("No such option: --bogus",)),
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
    Case("", 2, ("x.yaml:8: the key 1 is no text; quote it",), CONFIG + "1: 2\n"),
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
    refused(run("--verson"), 2, "No such option: --verson", "--version")
    refused(run("tabel"), 2, "No such command 'tabel'. Did you mean 'table'?")
    refused(run("help", "run"), 2, "No such command 'help'", "Try 'authbench --help' for help")
    refused(run("table", "authoritybench/9"), 3, "no folder, and no table of the papers", "authoritybench/6")
    refused(run("plot", "--kind", "forest"), 2, "plot needs a run")
    refused(
        run("data", "build", "sample-domains", "--lists", "-1"),
        2,
        "'--lists': Input should be greater than or equal to 0",
    )


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
