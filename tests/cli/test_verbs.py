"""Every verb: help, JSON, quiet, completion; what must stay light, and what must not load a model."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from authbench.cli.app import app
from authbench.cli.main import execute
from authbench.engines.fake import FakeEngine

CONFIG = """\
table: authoritybench/1
task: listwise
dataset: {name: sample-domains, lists: 3}
context: [without]
models: [fake]
engine: fake
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a folder with `x.yaml`; gives exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(CONFIG)

    def do(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = execute(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return do


def commands(group: TyperGroup, above: str = "") -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    """Every command with its words, those of groups too."""
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand | TyperGroup)
        yield above + name, command
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{name} ")


ROOT = typer.main.get_command(app)
assert isinstance(ROOT, TyperGroup)
COMMANDS = dict(commands(ROOT))
#: Verbs whose options are this module's business; the others' are tested beside their modules.
OWN = {"run", "score", "list", "prompt", "validate", "doctor", "completion"} | {
    f"store {name}" for name in ("stats", "prune", "export", "repair")
}


@pytest.mark.parametrize("words", COMMANDS)
def test_every_help_works_and_has_an_example(run: Run, words: str) -> None:
    status, out, _ = run(*words.split(), "--help")
    assert status == 0 and out.split()[:3] == ["Usage:", "authbench", words.split(maxsplit=1)[0]]
    if not isinstance(COMMANDS[words], TyperGroup):
        assert f"authbench {words}" in out.partition("Example")[2]


def test_help_shows_the_verbs_in_groups(run: Run) -> None:
    status, out, _ = run("--help")
    titles = [line.split("─ ")[1].rstrip(" ─╮") for line in out.splitlines() if line.startswith("╭─ ")]
    assert titles == ["Options", "Run", "Read results", "LCR", "Data", "Service"]
    first = {line.split()[1] for line in out.splitlines() if line.startswith("│ ")}
    assert status == 0 and {words.split()[0] for words in COMMANDS} <= first
    assert run("-h")[1] == out


@pytest.mark.parametrize("words", sorted(OWN))
def test_every_verb_has_json_and_quiet(words: str) -> None:
    names = {name for parameter in COMMANDS[words].params for name in parameter.opts}
    assert {"--json", "--quiet", "-q"} <= names


@pytest.fixture
def ran(run: Run) -> Run:
    assert run("run", "x.yaml", "-q")[0] == 0
    return run


@pytest.mark.parametrize(
    "words",
    [
        "run x.yaml",
        "run x.yaml --dry-run",
        "score results",
        "list configs",
        "list datasets",
        "list models",
        "list judges",
        "list engines",
        "prompt x.yaml",
        "validate x.yaml",
        "doctor --no-generate",
        "completion bash",
        "store stats",
        "store export -o a.gz",
        "store repair",
        "store prune --older-than 1 --yes",
    ],
)
def test_json_can_be_parsed_and_quiet_is_quiet(ran: Run, words: str) -> None:
    status, out, said = ran(*words.split(), "--json")
    assert status == 0 and said == "" and json.loads(out)
    status, plain, _ = ran(*words.split())
    assert status == 0 and plain != out
    status, quiet, said = ran(*words.split(), "-q")
    assert (status, said) == (0, "")
    assert quiet == plain or words.startswith(("validate", "run"))


def test_run_and_dry_run_as_json(ran: Run) -> None:
    [shown] = json.loads(ran("run", "x.yaml", "--json")[1])
    assert shown["path"] == "results/x/fake" and shown["run"]["status"] == "complete"
    assert shown["cells"] == json.loads(Path("results/x/fake/cells.json").read_text())
    rows = json.loads(ran("run", "x.yaml", "--dry-run", "--json")[1])
    # Section 4.1 on fine lists: 10 point calls, 1 a list judge, 35 a pair judge.
    assert [row["calls"] for row in rows] == [30, 3, 3, 105, 105]
    assert {row["new_calls"] for row in rows} == {0} and not rows[0]["tokens"]["exact"]


def test_nothing_that_looks_loads_a_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "load", lambda self: pytest.fail("the model was loaded"))
    for words in ("validate x.yaml", "run x.yaml --dry-run", "prompt x.yaml", "doctor --no-generate"):
        assert run(*words.split())[0] == 0
    assert not Path("results").exists()
    monkeypatch.undo()


def test_a_finished_run_is_only_printed(ran: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "load", lambda self: pytest.fail("the model was loaded"))
    before = {path: path.read_bytes() for path in Path("results/x/fake").iterdir()}
    assert ran("run", "x.yaml")[0] == 0
    assert {path: path.read_bytes() for path in Path("results/x/fake").iterdir()} == before


HEAVY = (
    "numpy",
    "scipy",
    "pandas",
    "pydantic",
    "rich",
    "httpx",
    "jinja2",
    "torch",
    "vllm",
    "openvino",
    "ray",
)


@pytest.mark.parametrize(
    ("words", "may"),
    [
        ("--version", ()),
        ("--help", ("rich",)),
        ("list models", ("pydantic",)),
        ("list engines", ("pydantic",)),
        ("list configs", ("pydantic",)),
        ("list datasets", ("pydantic",)),
        ("list judges", ("pydantic",)),
        ("completion fish", ("pydantic",)),
        ("validate x.yaml", ("pydantic", "jinja2")),
    ],
)
def test_what_must_answer_at_once_imports_nothing_heavy(run: Run, words: str, may: tuple[str, ...]) -> None:
    script = (
        "import sys; from authbench.cli.main import execute; status = execute(sys.argv[1:]); "
        f"sys.exit(f'{{status}}' + ','.join(m for m in {HEAVY} if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words.split()], capture_output=True, text=True, check=False
    )
    assert set(filter(None, done.stderr.strip()[1:].split(","))) <= set(may), done.stderr
    assert done.stderr.startswith("0")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run: Run, shell: str) -> None:
    status, out, _ = run("completion", shell)
    assert status == 0 and "_AUTHBENCH_COMPLETE" in out and shell in out


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sco", {"score"}),
        ("run domainauth_", {"domainauth_fine", "domainauth_coarse", "domainauth_pairs"}),
        ("run x.yaml --models qwen3-8b,smol", {"qwen3-8b,smollm2-135m"}),
        ("run x.yaml --engine open", {"openvino", "openai"}),
        ("data stats sample-", {"sample-domains", "sample-entities"}),
        ("audit --claim songs", {"songs-hardest"}),
        ("plot --kind heat", {"heatmap"}),
        ("export x --to j", {"jsonl"}),
    ],
)
def test_completion_answers(line: str, found: set[str]) -> None:
    asked = {"COMP_WORDS": f"authbench {line}", "COMP_CWORD": str(len(line.split()))}
    environment = {"_AUTHBENCH_COMPLETE": "complete_bash", **asked}
    command = [sys.executable, "-m", "authbench.cli.main"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == found


def test_wrong_verbs_and_no_verb(run: Run) -> None:
    status, _, said = run("rn")
    assert status == 2 and "Error: No such command 'rn'. Did you mean 'run'" in said
    assert "─" not in said, "an error stands in plain lines"
    status, out, _ = run()
    assert status == 2 and "Usage: authbench" in out
    assert run("--version")[1].startswith("authbench, version ")


def test_debug_shows_the_traceback(run: Run) -> None:
    from authbench.errors import ConfigError

    with pytest.raises(ConfigError):
        run("--debug", "run", "nowhere.yaml")
    with pytest.raises(ConfigError):
        run("run", "nowhere.yaml", "--debug")


# --- the store ---------------------------------------------------------------------------------------


def test_stats_count_what_a_run_asked(ran: Run) -> None:
    stats = json.loads(ran("store", "stats", "--json")[1])
    [row] = stats["models"]
    facts = json.loads(Path("results/x/fake/run.json").read_text())
    assert row["prompts"] == row["samples"] == facts["session"]["submitted"]
    assert row["identity"] == facts["identity"] and stats["bytes"] > 10_000
    assert "fake   fake    none" in ran("store", "stats")[1]


def test_an_export_replays_to_the_same_results(ran: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(ran("store", "export", "-o", "a.jsonl.gz", "--json")[1])["written"] > 100
    assert ran("store", "export", "-o", "b.jsonl.gz", "-q") == (0, "", "")
    assert Path("a.jsonl.gz").read_bytes() == Path("b.jsonl.gz").read_bytes()
    header = json.loads(gzip.decompress(Path("a.jsonl.gz").read_bytes()).splitlines()[0])
    assert [model["identity"]["model"] for model in header["models"]] == ["fake"]
    monkeypatch.setattr(FakeEngine, "__init__", lambda *_: pytest.fail("an engine was made"))
    replay = ("--engine", "replay", "--set", "engine.path=a.jsonl.gz", "--results", "replayed")
    assert ran("run", "x.yaml", "-q", *replay)[0] == 0
    ours, theirs = (
        [
            {key: value for key, value in row.items() if key != "engine"}
            for row in json.loads(Path(folder, "x/fake/cells.json").read_text())
        ]
        for folder in ("results", "replayed")
    )
    assert ours == theirs
    assert Path("replayed/x/fake/items.jsonl").read_bytes() == Path("results/x/fake/items.jsonl").read_bytes()
    # What was replayed can be exported in turn.
    assert ran("store", "export", "-o", "c.jsonl.gz", "--results", "replayed")[0] == 0
    assert Path("c.jsonl.gz").read_bytes() == Path("a.jsonl.gz").read_bytes()


def test_what_was_not_recorded_fails_and_says_so(ran: Run) -> None:
    assert ran("store", "export", "-o", "a.jsonl.gz")[0] == 0
    replay = ("--engine", "replay", "--set", "engine.path=a.jsonl.gz", "--results", "replayed")
    status, out, said = ran("run", "x.yaml", *replay, "--set", "dataset.seed=5")
    assert status == 7 and "PARTIAL" in out and "items failed: no recorded answer to a prompt" in said
    facts = json.loads(Path("replayed/x/fake/run.json").read_text())
    assert facts["status"] == "failed" and facts["errors"][0].startswith("no recorded answer to a prompt")


def test_prune_asks_first_and_a_run_asks_again(ran: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ran("store", "prune")[0] == 2
    monkeypatch.setattr("typer.confirm", _no)
    assert ran("store", "prune", "--model", "fake")[0] == 130
    assert json.loads(ran("store", "prune", "--model", "other", "--yes", "--json")[1])["deleted"] == 0
    count = json.loads(ran("store", "stats", "--json")[1])["models"][0]["samples"]
    assert ran("store", "prune", "--model", "fake", "--yes")[2] == f"{count:,} answers deleted\n"
    assert json.loads(ran("store", "stats", "--json")[1])["models"] == []
    assert ran("store", "export", "-o", "a.gz")[0] == 3
    assert ran("score", "results")[0] == 3
    status, _, said = ran("run", "x.yaml")
    assert status == 0 and "stored" not in said


def _no(*_: Any, **__: Any) -> None:
    raise typer.Abort


def test_what_there_is_can_be_asked_without_a_run(run: Run) -> None:
    status, out, _ = run("plot", "--kind", "list")
    assert status == 0 and out.startswith("  forest ")
    rows = json.loads(run("list", "configs", "--json")[1])
    tasks = {row["name"]: row["task"] for row in rows}
    assert tasks["lcr_contriever"] == "lcr", "it extends lcr_bm25"
    assert set(tasks.values()) == {"listwise", "pairwise", "rag", "lcr"}
    Path("y.yaml").write_text(CONFIG.replace("engine: fake", "engine: {name: replay, path: gone.gz}"))
    Path("z.yaml").write_text(Path("y.yaml").read_text())
    status, out, said = run("validate", "x.yaml", "y.yaml", "z.yaml")
    assert (
        status == 0
        and [line.split(": ")[1] for line in out.splitlines()]
        == ["ok (listwise, 1 model, table authoritybench/1)"] * 3
    )
    [note] = said.splitlines()
    assert note.startswith("note: y.yaml and 1 more: the engine's settings could not be checked here: ")
    assert run("validate", "x.yaml")[1] == "x.yaml: ok (listwise, 1 model, table authoritybench/1)\n"


# --- engines -----------------------------------------------------------------------------------------


def test_what_an_engine_cannot_do_is_refused_with_those_that_can(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from authbench.runtime.engine import Capabilities

    monkeypatch.setattr(FakeEngine, "capabilities", property(lambda engine: Capabilities()))
    status, _, said = run("run", "x.yaml", "--set", "constrain=json")
    assert status == 2 and "the engine 'fake' cannot do what domains/without/point asks for" in said
    assert "constraint json\nuse another with --engine: vllm, openvino, openai, ray" in said
    status, _, said = run("run", "x.yaml", "--set", "scoring=logprob")
    assert status == 2 and "asks for: label_logprobs" in said
    assert not Path("results").exists()
