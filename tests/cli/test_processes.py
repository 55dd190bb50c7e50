"""The command in a process of its own: stopped, killed, with streams and terminals of every kind."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import OWN, lists_file, prepared

from authbench.cli.main import execute

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


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return prepared(tmp_path, monkeypatch)


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


#: What a shell starts in the background ignores Ctrl-C, and so do its children; these processes must not.
HEED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"


def test_ctrl_c_keeps_what_was_answered(at: Path) -> None:
    begin = time.time()
    command = [sys.executable, "-c", f"{HEED}; from authbench.cli.main import main; main()", *SLOWER]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    until_answers_are_on_disk(process, at, begin)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130 and out == ""
    assert said.endswith("authbench: stopped; what was answered is kept, the same command continues\n")
    assert "Traceback" not in said
    assert json.loads((at / "results/x/fake/run.json").read_text())["status"] == "running"
    done = subprocess.run([*AUTHBENCH, *SLOW], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and " stored" in done.stderr


#: Statements that make Ctrl-C come at one moment of a process.
MOMENTS = {
    "typer is imported": """
class Finder:
    def find_spec(self, name, *rest):
        if name == "typer":
            sys.meta_path.remove(self)
            press()
sys.meta_path.insert(0, Finder())""",
    "a thread is waited for": """
import threading, time
def late():
    threading.main_thread().join()
    time.sleep(0.5)  # the main thread waits for this one by now
    press()
    time.sleep(60)
threading.Thread(target=late).start()""",
    "functions are called at the exit": "import atexit; atexit.register(press)",
    "modules are taken down": """
class Last:
    def __del__(self, press=press):
        press()
sys.last = Last()""",
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("word", "status"), [("--version", 0), ("--bogus", 2)])
def test_ctrl_c_gives_one_defined_status_at_any_moment(moment: str, word: str, status: int) -> None:
    script = f"""
{HEED}
import os, sys
from functools import partial
press = partial(os.kill, os.getpid(), signal.SIGINT)
{MOMENTS[moment]}
from authbench.cli.main import main
sys.argv = ["authbench", "{word}"]
main()
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    stopped = moment == "typer is imported"
    assert done.returncode == (130 if stopped else status), done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert ("authbench: stopped" in done.stderr) == stopped


@pytest.mark.parametrize("words", [["list", "models"], ["run", "x.yaml"], ["--help"]])
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
