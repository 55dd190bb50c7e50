"""`authbench table` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.errors import ConfigError, DataError


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A folder with one measured run."""
    folder = tmp_path / "results" / "fine" / "m"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"experiment": "fine", "model": {"name": "m"}}))
    costs = {"calls": 30, "unique_calls": 20, "prompt_tokens": 900, "output_tokens": 40}
    cells = [
        {"metric": "accuracy", "policy": policy, "value": value, "low": 0.1, "high": 0.9, "n": 10, **costs}
        for policy, value in (("strict", 0.5), ("valid", 0.625))
    ]
    (folder / "cells.json").write_text(json.dumps(cells))
    return folder


def test_text_and_policy(run_folder: Path) -> None:
    result = CliRunner().invoke(app, ["table", str(run_folder)])
    assert (result.exit_code, "m         50.00" in result.output) == (0, True)
    result = CliRunner().invoke(app, ["table", str(run_folder), "--policy", "valid", "--intervals"])
    assert "62.50 [10.00, 90.00]" in result.output


def test_costs_stand_alone_or_below_the_measures(run_folder: Path) -> None:
    def shown(*words: str) -> tuple[bool, bool]:
        out = CliRunner().invoke(app, ["table", str(run_folder), *words]).output
        return "50.00" in out, "Prompt tok." in out or "prompt_tokens" in out

    assert shown() == (True, False)
    assert shown("--cost") == shown("--cost", "--format", "md") == (False, True)
    assert shown("--with-cost") == shown("--cost", "--with-cost") == (True, True)
    for format in ("csv", "json"):
        args = ["table", str(run_folder), "--format", format]
        alone, both = (
            CliRunner().invoke(app, [*args, option]).output for option in ("--cost", "--with-cost")
        )
        assert alone == both, "what is data always has all"


def test_json_and_its_alias(run_folder: Path) -> None:
    one = CliRunner().invoke(app, ["table", str(run_folder), "--json"])
    other = CliRunner().invoke(app, ["table", str(run_folder), "--format", "json"])
    assert one.output == other.output
    assert json.loads(one.output)["tables"][0]["rows"][0]["cells"][0]["value"] == 50.0


@pytest.mark.parametrize("format", ["text", "md", "csv", "latex", "json"])
def test_output_file_holds_what_would_be_printed(run_folder: Path, tmp_path: Path, format: str) -> None:
    printed = CliRunner().invoke(app, ["table", str(run_folder), "--format", format])
    target = tmp_path / "table.out"
    written = CliRunner().invoke(app, ["table", str(run_folder), "--format", format, "-o", str(target)])
    assert (written.exit_code, written.stdout) == (0, "")
    assert target.read_text(encoding="utf-8") == printed.stdout


def test_the_papers_own_table() -> None:
    result = CliRunner().invoke(app, ["table", "authoritybench/1", "--format", "md"])
    assert "**71.35**" in result.output


def test_unfinished_runs_are_named(run_folder: Path) -> None:
    other = run_folder.parent / "running"
    other.mkdir()
    (other / "run.json").write_text("{}")
    result = CliRunner().invoke(app, ["table", str(run_folder.parent)])
    assert result.exit_code == 0
    assert result.stderr.startswith(f"left out: {other}: no cells.json")


def test_what_goes_wrong(run_folder: Path, tmp_path: Path) -> None:
    assert isinstance(CliRunner().invoke(app, ["table", str(tmp_path / "nowhere")]).exception, DataError)
    target = tmp_path / "missing" / "table.txt"
    result = CliRunner().invoke(app, ["table", str(run_folder), "-o", str(target)])
    assert isinstance(result.exception, ConfigError)
    assert CliRunner().invoke(app, ["table"]).exit_code == 2
    assert CliRunner().invoke(app, ["table", str(run_folder), "--format", "xml"]).exit_code == 2
