"""Marks, differences and printed lines of a table."""

from __future__ import annotations

import pytest

from authbench.reporting.grid import Cell, Column, Mark, Row, Table, mark_best, percent, printed_lines


def _row(*values: float | None) -> Row:
    return Row(("",), tuple(None if value is None else Cell(value) for value in values))


def _marks(row: Row) -> list[Mark | None]:
    return [None if cell is None else cell.mark for cell in row.cells]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.1, 0.3, 0.2], [None, "best", "second"]),
        ([0.3, 0.3, 0.2], ["best", "best", "second"]),
        ([0.3, 0.2, 0.2], ["best", "second", "second"]),
        # 41.972 and 41.968 are printed alike.
        ([0.41972, 0.41968, 0.1], ["best", "best", "second"]),
        ([0.2, 0.2, 0.2], ["best", "best", "best"]),
        ([-0.2, -0.1, None], ["second", "best", None]),
        ([0.2, None, None], [None, None, None]),
        ([None, None, None], [None, None, None]),
    ],
)
def test_best_and_second(values: list[float | None], expected: list[str | None]) -> None:
    (row,) = mark_best([_row(*values)], [[(0, 0), (0, 1), (0, 2)]], second=True)
    assert _marks(row) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # (value, share of invalid items)
        ([(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)], [None, None, None]),
        ([(0.0, 1.0), (-0.2, 0.5), (-0.1, None)], [None, "second", "best"]),
        ([(0.3, 0.9), (0.0, 1.0), (0.2, 0.0)], ["best", None, "second"]),
        # A zero that some answers stand behind competes; one cell alone does not.
        ([(0.0, 0.99), (0.0, 1.0), (-0.5, 0.0)], ["best", None, "second"]),
        ([(0.3, 0.0), (0.0, 1.0), (0.0, 1.0)], [None, None, None]),
    ],
)
def test_cells_without_a_usable_answer_are_out_of_the_contest(
    values: list[tuple[float, float | None]], expected: list[str | None]
) -> None:
    row = Row(("",), tuple(Cell(value, invalid=invalid) for value, invalid in values))
    (marked,) = mark_best([row], [[(0, 0), (0, 1), (0, 2)]], second=True)
    assert _marks(marked) == expected


def test_contests_are_apart() -> None:
    rows = mark_best([_row(0.1, 0.9), _row(0.2, 0.8)], [[(0, 0), (1, 0)], [(0, 1), (1, 1)]], second=False)
    assert [_marks(row) for row in rows] == [[None, "best"], ["best", None]]


def test_difference_and_interval() -> None:
    cell = Cell(0.45, low=0.40, high=0.50, paper=0.4197)
    assert cell.difference == pytest.approx(0.0303)
    assert cell.inside is True
    # The paper's 39.99 may be anything down to 39.985: an interval from 39.995 on is not above it.
    assert Cell(0.45, low=0.39995, high=0.5, paper=0.3999).inside is True
    assert Cell(0.45, low=0.4002, high=0.5, paper=0.3999).inside is False
    assert Cell(0.45, paper=0.4).inside is None
    assert (Cell(None, paper=0.4).difference, Cell(0.4).inside) == (None, None)


def test_percent() -> None:
    assert [percent(v) for v in (0.5, -0.1234, -0.00001, 1.0, None)] == [
        "50.00",
        "-12.34",
        "0.00",
        "100.00",
        "-",
    ]


def _table(*rows: Row) -> Table:
    columns = (Column(("A",), "ρ"), Column(("A",), "τ"))
    return Table("t", "T", ("Model", "Ctx"), columns, rows)


def test_lines_below_a_row() -> None:
    source = {"judge": "point", "n_invalid": 2}
    rho = Cell(0.5, 0.4, 0.6, paper=0.55, invalid=0.02, source=source)
    tau = Cell(0.3, 0.2, 0.4, paper=0.45, invalid=0.02, source=source, extras={"unequal": Cell(0.35)})
    lines = printed_lines(_table(Row(("m", "w/o"), (rho, tau))), "below", paper=True)
    assert [(line.labels, [entry.text for entry in line.entries]) for line in lines] == [
        (("m", "w/o"), ["50.00", "30.00"]),
        (("", "low"), ["40.00", "20.00"]),
        (("", "high"), ["60.00", "40.00"]),
        (("", "unequal"), ["-", "35.00"]),
        # Both measure the same answers.
        (("", "invalid"), ["2.0%", ""]),
        (("", "paper"), ["55.00", "45.00"]),
        (("", "diff"), ["-5.00", "-15.00"]),
        (("", "in CI"), ["yes", "no"]),
    ]


def test_lines_say_only_what_there_is() -> None:
    table = _table(
        Row(("m", "w/o"), (Cell(0.5, invalid=0.0), None)), Row(("m", "w/"), (Cell(0.4, 0.3, 0.5), None))
    )
    lines = printed_lines(table, "none", paper=True)
    assert [line.labels for line in lines] == [("m", "w/o"), ("", "w/")]
    assert [entry.text for entry in lines[0].entries] == ["50.00", "-"]
    inline = printed_lines(table, "inline")
    assert [line.entries[0].text for line in inline] == ["50.00", "40.00 [30.00, 50.00]"]


def test_counts() -> None:
    table = Table("t", "T", ("Model",), (Column((), "Calls", "count"),), (Row(("m",), (Cell(41000),)),))
    assert printed_lines(table)[0].entries[0].text == "41,000"
