"""The papers' numbers: complete, as printed, and found by what a cell measures."""

from __future__ import annotations

from typing import Any

import pytest

from authbench.errors import ConfigError, DataError
from authbench.reporting import paper
from authbench.reporting.paper import paper_runs, paper_table, paper_value, runs_or_paper, table_ids

POINT = {"dataset": "domainauth", "scale": "fine", "context": "without", "judge": "point", "output": "score"}
PAIR = {**POINT, "judge": "pair", "output": "score"}


# Models x contexts or domains x judges x measures, as the tables are printed.
@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("authoritybench/1", 5 * 2 * 5 * 2),
        ("authoritybench/2", 5 * 2 * 5 * 2),
        ("authoritybench/3", 5 * 2 * 6),
        ("authoritybench/4", 3 * 5 * 5 * 2),
        ("authoritybench/5", 5 * (1 + 3 * 3)),
        ("authoritybench/6", 3 * 5 * 5 * 2),
        ("lcr/2", 2),
        ("lcr/3", 2),
        ("car/contriever", 7 * 4 * 2),
    ],
)
def test_every_cell_is_there_once(table: str, count: int) -> None:
    values = paper_table(table)
    places = {(*sorted(value.dims.items(), key=str), value.metric) for value in values}
    assert len(values) == len(places) == count
    assert all(-100 <= value.value <= 100 for value in values)


def test_table_3_counts_five_thousand_pairs_and_table_5_120_questions() -> None:
    """Every number is a multiple of one item; the exception is the impossible 71.76 of Table 5."""
    assert all(
        (value.value * 50) % 1 == pytest.approx(0, abs=1e-9) for value in paper_table("authoritybench/3")
    )
    odd = {
        v.value for v in paper_table("authoritybench/5") if abs(v.value * 1.2 - round(v.value * 1.2)) > 0.013
    }
    assert odd == {71.76}


@pytest.mark.parametrize(
    ("table", "name", "cell", "expected"),
    [
        ("authoritybench/1", "Qwen3-8B", {**POINT, "metric": "spearman"}, 41.97),
        ("authoritybench/1", "Qwen3-8B", {**POINT, "metric": "kendall", "context": "with"}, 36.51),
        ("authoritybench/1", "Llama-3-8B-Instruct", {**PAIR, "metric": "kendall"}, 49.93),
        ("authoritybench/1", "Qwen3-8B", {**PAIR, "metric": "spearman", "aggregation": "average"}, 71.35),
        # BubbleSort of scores stands in appendix F, which we do not have.
        ("authoritybench/1", "Qwen3-8B", {**PAIR, "metric": "spearman", "aggregation": "bubble"}, None),
        # A stand-in's data is compared, another benchmark's and another scale are not.
        (
            "authoritybench/1",
            "Qwen3-8B",
            {**POINT, "dataset": "domainauth-openpagerank", "metric": "spearman"},
            41.97,
        ),
        ("authoritybench/1", "Qwen3-8B", {**POINT, "dataset": "entityauth", "metric": "spearman"}, None),
        ("authoritybench/1", "Qwen3-8B", {**POINT, "scale": "coarse", "metric": "spearman"}, None),
        # Tables 3 and 5 print the Llamas without -Instruct.
        (
            "authoritybench/3",
            "Llama-3.1-8B-Instruct",
            {**PAIR, "difficulty": "hard", "context": "with", "metric": "accuracy"},
            81.56,
        ),
        (
            "authoritybench/3",
            "Qwen3-8B",
            {**PAIR, "difficulty": "hard", "metric": "accuracy-unequal"},
            None,
        ),
        (
            "authoritybench/5",
            "Llama-3.1-8B-Instruct",
            {"dataset": "factcheckgpt", "filter": "authority", "k": 3, "metric": "accuracy"},
            71.76,
        ),
        ("authoritybench/5", "Qwen3-8B", {"filter": "none", "k": None, "metric": "accuracy"}, 53.33),
        (
            "authoritybench/6",
            "Llama-3.1-8B-Instruct",
            {**PAIR, "dataset": "entityauth", "scale": "coarse", "domain": "songs", "metric": "kendall"},
            39.54,
        ),
        # An experiment of one's own finds the table by its data, if it is the paper's.
        (None, "Qwen3-14B", {**POINT, "metric": "spearman"}, 71.97),
        ("aggregation", "Qwen3-14B", {**PAIR, "metric": "kendall", "aggregation": "average"}, 58.33),
        (None, "Qwen3-14B", {**POINT, "dataset": "sample", "metric": "spearman"}, None),
        (None, "Qwen3-14B", {**PAIR, "difficulty": "easy", "metric": "accuracy"}, 97.02),
        ("authoritybench/1", "SmolLM2-135M", {**POINT, "metric": "spearman"}, None),
        ("authoritybench/1", None, {**POINT, "metric": "spearman"}, None),
    ],
)
def test_look_up(table: str | None, name: str | None, cell: dict[str, Any], expected: float | None) -> None:
    assert paper_value(table, cell, name) == expected


def test_lcr_numbers_are_percent() -> None:
    with_lcr = [value for value in paper_table("lcr/2") if value.dims["method"] == "lcr"]
    assert [(value.value, value.sure) for value in with_lcr] == [(20.95, "one reader")]


def test_unknown_table_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'authoritybench/1'") as error:
        paper_table("authoritybnch/1")
    assert "car/contriever" in str(error.value)


def test_paper_as_runs_gives_back_every_number() -> None:
    for table in table_ids():
        runs = paper_runs(table)
        strict = [cell for run in runs for cell in run.cells if cell["policy"] == "strict"]
        assert sorted(cell["value"] for cell in strict) == pytest.approx(
            sorted(value.value / 100 for value in paper_table(table))
        )
    run = paper_runs("authoritybench/4")[0]
    assert (run.model, run.paper_name, run.experiment, run.table) == (
        "Qwen3-8B",
        "Qwen3-8B",
        "paper",
        "authoritybench/4",
    )


def test_a_table_id_stands_for_the_paper() -> None:
    assert [run.model for run in runs_or_paper(["lcr/3"])] == ["Qwen2.5-7B-Instruct"]
    with pytest.raises(DataError, match="no folder, and no table of the papers"):
        runs_or_paper(["authoritybench/9"])


def test_damaged_reference_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "share_dir", tmp_path.joinpath)
    paper_table.cache_clear()
    try:
        with pytest.raises(DataError, match="cannot be read"):
            paper_table("authoritybench/3")
        folder = tmp_path / "data" / "paper"
        folder.mkdir(parents=True)
        (folder / "authoritybench_table3.csv").write_text("model,metric,value\nQwen3-8B,accuracy,many\n")
        with pytest.raises(DataError, match=r"authoritybench_table3.csv:2: 'many' is not a number"):
            paper_table("authoritybench/3")
    finally:
        paper_table.cache_clear()
