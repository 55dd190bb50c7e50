"""Results taken elsewhere: flat tables, logs for inspect_ai, a hub folder, and LaTeX that compiles."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakeruns import FINE, run_one
from hostile import hostile_run
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.errors import ConfigError
from authbench.reporting.export import COLUMNS, rows
from authbench.reporting.formats import TEX_SIGNS
from authbench.reporting.results import find_runs, load_run


def cli(*words: object) -> Any:
    return CliRunner().invoke(app, ["export", *map(str, words)], catch_exceptions=False)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_values_as_csv_have_the_means_of_the_cells(fake_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "values.csv"
    done = cli(fake_results, "--to", "csv", "-o", out)
    found = read(out)
    assert done.output == f"{out}: {len(found):,} rows\n" and set(found[0]) == set(COLUMNS["values"])
    own = [
        float(row["value"])
        for row in found
        if (row["experiment"], row["model"], row["judge"], row["output"], row["context"], row["metric"])
        == ("domainauth_fine", "qwen3-14b", "list", "score", "with", "kendall")
    ]
    run = load_run(fake_results / "domainauth_fine" / "qwen3-14b")
    (cell,) = [
        c
        for c in run.cells
        if (c["judge"], c["output"], c["context"], c["metric"], c["policy"])
        == ("list", "score", "with", "kendall", "strict")
    ]
    assert len(own) == 12 and sum(own) / 12 == pytest.approx(cell["value"], abs=1e-9)


def test_answers_as_jsonl_are_those_of_the_run(fake_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    folder = fake_results / "ragauth" / "qwen3-8b"
    cli(folder, "--to", "jsonl", "--what", "answers", "--prompts", "-o", out)
    found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert [row["text"] for row in found] == [
        t for line in lines for a in line["answers"] for t in a["texts"]
    ]
    facts = json.loads((folder / "run.json").read_text())
    assert Counter(row["status"] for row in found) == facts["statuses"]
    assert all(row["prompt"].startswith(("You are", "Source")) for row in found)
    kept = next(row for row in found if row["group"].endswith("/authority") and row["status"] == "ok")
    assert len(kept["read"].split(", ")) == 6


def test_cells_are_those_of_cells_json(fake_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells.jsonl"
    cli(fake_results, "--to", "jsonl", "--what", "cells", "-o", out)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["value"] for row in found] == [
        c["value"] for run in find_runs([fake_results]) for c in run.cells
    ]


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_parquet_has_types_and_the_same_rows(fake_results: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    runs = find_runs([fake_results])
    for what in ("values", "answers", "cells"):
        out = tmp_path / f"{what}.parquet"
        cli(fake_results, "--to", "parquet", "--what", what, "-o", out)
        table = parquet.read_table(out)
        wanted = list(rows(runs, what))
        assert table.num_rows == len(wanted) and tuple(table.column_names) == COLUMNS[what]
        if what == "values":
            assert table.column("value").to_pylist() == [row["value"] for row in wanted]
            assert (
                str(table.schema.field("k").type) == "int64"
                and str(table.schema.field("valid").type) == "bool"
            )


def test_without_pyarrow_the_extra_is_named(
    fake_results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'authbench\[parquet\]'"):
        cli(fake_results, "--to", "parquet", "-o", tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_inspect_logs_have_the_fields_of_the_format(fake_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "logs"
    folder = fake_results / "domainauth_fine" / "qwen3-8b"
    assert cli(folder, "--to", "inspect", "-o", out).output == f"{out}: 10 logs\n"
    names = [path.name for path in sorted(out.iterdir())]
    # inspect_ai lists only files that are named by time.
    assert all(re.match(r"^\d{4}-\d{2}-\d{2}T\d{2}[:-]\d{2}[:-]\d{2}.*\.json$", name) for name in names)
    logs = {log["eval"]["task"]: log for log in (json.loads(p.read_text()) for p in out.iterdir())}
    log = logs["domainauth_fine/domains/without/pair-score"]
    assert log["version"] == 2 and log["status"] == "success" and len(log["samples"]) == 12
    sample = log["samples"][0]
    assert len(sample["messages"]) == 70 and sample["messages"][0]["role"] == "user"
    assert set(sample["scores"]) == {
        f"{m} {a}" for m in ("spearman", "kendall") for a in ("AverageScore", "BubbleSort")
    }
    run = load_run(folder)
    values = {
        (c["metric"], c["aggregation"]): c["value"]
        for c in run.cells
        if (c["judge"], c["output"], c["context"], c["policy"]) == ("pair", "score", "without", "strict")
    }
    means = {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]}
    assert means["spearman AverageScore"] == pytest.approx(values["spearman", "average"])
    assert means["kendall BubbleSort"] == pytest.approx(values["kendall", "bubble"])


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="inspect_ai is not installed")
def test_inspect_ai_reads_the_logs(fake_results: Path, tmp_path: Path) -> None:
    from importlib import import_module

    log_module = import_module("inspect_ai.log")
    failing = run_one(tmp_path, "failing", FINE, errors=0.02)
    out = tmp_path / "logs"
    cli(fake_results, failing, "--to", "inspect", "-o", out)
    listed = log_module.list_eval_logs(str(out))
    assert len(listed) == len(list(out.iterdir())) > 40
    statuses: Counter[str] = Counter()
    for info in listed:
        log = log_module.read_eval_log(info.name)
        statuses[log.status] += 1
        assert log.samples and log.eval.dataset.samples == len(log.samples) == log.results.total_samples
        assert all(sample.messages or sample.error for sample in log.samples)
    assert statuses["error"] > 0 and statuses["success"] > 40


def test_a_hub_folder_has_a_card_and_no_places_of_this_machine(fake_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "hub"
    cli(fake_results, "--to", "hub", "-o", out)
    card = (out / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---")[1])
    for config in front["configs"]:
        lines = (out / config["data_files"]).read_text(encoding="utf-8").splitlines()
        assert f"| `{config['data_files']}` | {len(lines):,} |" in card
        keys = {tuple(json.loads(line)) for line in lines}
        assert len(keys) == 1  # The hub's viewer wants one set of columns.
    assert "AuthorityBench Table 1" in card and "**PARTIAL**" in card and "made up" in card
    facts = json.loads((out / "runs" / "ragauth" / "qwen3-8b" / "run.json").read_text())
    assert all(set(file) <= {"path", "sha256", "size", "where"} for file in facts["data"]["files"])
    assert "location" not in (out / "runs" / "domainauth_fine" / "qwen3-8b" / "run.json").read_text()
    with pytest.raises(ConfigError, match="exists and is no empty folder"):
        cli(fake_results, "--to", "hub", "-o", out)


def latex(folder: Path, *words: object) -> str:
    out = folder / "tables.tex"
    cli(*words, "--to", "latex", "-o", out)
    return out.read_text(encoding="utf-8")


def test_latex_has_the_papers_layout(fake_results: Path, tmp_path: Path) -> None:
    text = latex(tmp_path, fake_results / "domainauth_fine", "--paper")
    assert r"\documentclass" in text and r"\end{document}" in text
    assert r"\multicolumn{4}{c}{ListJudge}" in text and r"\multicolumn{4}{c}{PairJudge}" in text
    assert text.count(r"\textbf{") >= 4 and text.count(r"\underline{") >= 4


def compiled(folder: Path) -> str:
    """What pdfLaTeX says of `tables.tex` in the second run."""
    for _ in range(2):
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "tables.pdf").stat().st_size > 20_000
    return done.stdout


needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")


@needs_latex
def test_latex_compiles_and_fits_the_page(fake_results: Path, tmp_path: Path) -> None:
    latex(tmp_path, fake_results, "--paper")
    said = compiled(tmp_path)
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", said)]
    assert not [width for width in wide if width > 5], wide


@needs_latex
def test_latex_compiles_whatever_is_in_it(tmp_path: Path) -> None:
    hostile = hostile_run(tmp_path / "results")
    signs = hostile.parent / "signs"
    shutil.copytree(hostile, signs)
    facts = json.loads((signs / "run.json").read_text())
    facts["model"]["name"] = " ".join(sorted(TEX_SIGNS)) + " 中文 😀"
    (signs / "run.json").write_text(json.dumps(facts))
    latex(tmp_path, hostile, signs)
    compiled(tmp_path)


def test_wrong_use(fake_results: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--prompts needs --what answers"):
        cli(fake_results, "--to", "csv", "--prompts")
    done = json.loads(
        cli(fake_results, "--to", "csv", "--what", "cells", "-o", tmp_path / "c.csv", "--json").output
    )
    assert done["unit"] == "rows" and done["count"] == len(read(tmp_path / "c.csv"))
