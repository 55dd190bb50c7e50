"""Tables as Markdown, CSV, LaTeX and JSON; text has a module of its own. Measures are in percent.

CSV and JSON hold every cell with its interval and counts whatever is asked for; the others print lines as
`authbench.reporting.grid.printed_lines` gives them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from authbench.reporting.grid import Cell, Column, Entry, Intervals, Line, Table, printed_lines
from authbench.reporting.layouts import DIMENSIONS
from authbench.reporting.placing import Options

_COUNTS = ("n", "n_invalid", "n_constant", "n_ties")
_COSTS = ("calls", "unique_calls", "prompt_tokens", "output_tokens", "seconds")
_CSV = (
    "table",
    "experiment",
    *DIMENSIONS,
    "engine",
    "metric",
    "policy",
    "value",
    "low",
    "high",
    "unit",
    *_COUNTS,
    *_COSTS,
    "partial",
    "mark",
    "paper",
    "difference",
    "inside",
)


def markdown(tables: Sequence[Table], options: Options) -> str:
    """GitHub's Markdown: best in bold, second best underlined with `<ins>`."""
    return "\n".join(_markdown(table, options) for table in tables)


def comma_separated(tables: Sequence[Table], options: Options) -> str:
    """One line a cell, in the long form of `cells.json` and of the paper's files."""
    file = io.StringIO()
    writer = csv.DictWriter(file, _CSV, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for table in tables:
        if table.kind == "cost":  # Its numbers stand in every line already.
            continue
        for cell in table.cells():
            for each in (cell, *cell.extras.values()):
                facts = _facts(each)
                facts["inside"] = {True: "yes", False: "no", None: None}[each.inside]
                writer.writerow({**each.source, "table": table.id, "unit": "percent", **facts})
    return file.getvalue()


def latex(tables: Sequence[Table], options: Options) -> str:
    """Floats with booktabs, to be read with `\\input` or compiled as they are, whatever a model is called."""
    return "\n".join([_PREAMBLE, *(_latex(table, options) for table in tables), _END])


def as_json(tables: Sequence[Table], options: Options) -> str:
    """`{"tables": [...]}`: title, headings, rows of cells, footnotes."""
    return json.dumps({"tables": [_object(table) for table in tables]}, ensure_ascii=False, indent=1) + "\n"


def header_spans(columns: Sequence[Column], level: int) -> list[tuple[str, int]]:
    """The headings of one level of groups with the number of columns each stands over."""
    spans: list[tuple[tuple[str, ...], int]] = []
    for column in columns:
        path = column.groups[: level + 1]
        if spans and spans[-1][0] == path:
            spans[-1] = (path, spans[-1][1] + 1)
        else:
            spans.append((path, 1))
    return [(path[level], count) for path, count in spans]


def _facts(cell: Cell) -> dict[str, Any]:
    """The numbers of a cell in percent, rounded to what a float of percent can say."""

    def scaled(value: float | None) -> float | None:
        return None if value is None else round(100 * value, 6)

    return {
        "value": scaled(cell.value),
        "low": scaled(cell.low),
        "high": scaled(cell.high),
        "mark": cell.mark,
        "paper": scaled(cell.paper),
        "difference": scaled(cell.difference),
        "inside": cell.inside,
    }


def _object(table: Table) -> dict[str, Any]:
    def cell_object(cell: Cell | None) -> dict[str, Any] | None:
        if cell is None:
            return None
        if table.kind == "cost":
            return {"value": cell.value}
        counts = {name: cell.source.get(name) for name in (*_COUNTS, *_COSTS)}
        return {**_facts(cell), **counts, "extras": {n: cell_object(c) for n, c in cell.extras.items()}}

    return {
        "id": table.id,
        "kind": table.kind,
        "title": table.title,
        "unit": "percent" if table.kind == "measures" else "count",
        "stub": list(table.stub),
        "columns": [{"groups": list(c.groups), "label": c.label} for c in table.columns],
        "rows": [
            {"labels": list(row.labels), "span": row.span, "cells": [cell_object(c) for c in row.cells]}
            for row in table.rows
        ],
        "marks": table.among,
        "notes": list(table.notes),
    }


def legend(table: Table, best: str, second: str) -> list[str]:
    """What the marks mean, as a footnote, where there are any."""
    if not table.marked:
        return []
    return [f"{best}: best" + (f"; {second}: second best" if table.second else "") + f", {table.among}."]


def _lines(table: Table, options: Options) -> list[Line]:
    """Printed lines, with intervals beside the numbers where there are few columns and nothing else."""
    beside: Intervals = "inline" if len(table.columns) <= 4 and not options.paper else "below"
    return printed_lines(table, beside if options.intervals else "none", options.paper)


def _markdown(table: Table, options: Options) -> str:
    headings = [*table.stub, *(" ".join(p for p in (*c.groups, c.label) if p) for c in table.columns)]
    lines = [f"### {_md(table.title)}", "", _md_row([_md(heading) for heading in headings])]
    lines.append(_md_row([":--"] * len(table.stub) + ["--:"] * len(table.columns)))
    for line in _lines(table, options):
        entries = [_md_entry(entry) for entry in line.entries]
        if line.span is not None:
            entries = [f"{line.span}: {entries[0]}" if line.span else entries[0]]
            entries += [""] * (len(table.columns) - 1)
        lines.append(_md_row([*(_md(label) for label in line.labels), *entries]))
    notes = [*legend(table, "Bold", "underlined"), *table.notes]
    return "\n".join([*lines, "", *(f"{_md(note)}  " for note in notes)]).rstrip() + "\n"


def _md_entry(entry: Entry) -> str:
    return {"best": "**{}**", "second": "<ins>{}</ins>", None: "{}"}[entry.mark].format(entry.text)


def _md_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    for sign in "\\|<>*_`":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


#: Inside a document the class and packages are already there; `\@nodocument` is `\relax` from its start on.
_PREAMBLE = r"""% Compiles as it is; \input it into a document that has \usepackage{booktabs}.
\makeatletter
\ifx\@nodocument\relax\def\authbenchend{}\else\def\authbenchend{\end{document}}
\documentclass{article}
\usepackage[margin=15mm]{geometry}
\usepackage{booktabs}
\begin{document}
\fi
\makeatother"""
_END = "\\authbenchend\n"
#: Signs beyond ASCII that pdfLaTeX sets with its default fonts and no package.
TEX_SIGNS = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ"
    "ĂăĆćČčĎďĚěĞğĹĺĽľŁłŃńŇňŐőŔŕŘřŚśŞşŠšŢţŤťŮůŰűŹźŻżŽž"
    "–—‘’“”…€£§°±×÷·¡¿©®µ¬²³"
)
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "–": "--",
    "·": r"$\cdot$",
}


def _latex(table: Table, options: Options) -> str:
    stub, width = len(table.stub), len(table.columns)
    lines = [
        r"\begin{table*}[t]",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{_tex(table.title)}}}",
        rf"\begin{{tabular}}{{{'l' * stub}{'r' * width}}}",
        r"\toprule",
    ]
    for level in range(len(table.columns[0].groups)):
        lines += _latex_groups(header_spans(table.columns, level), stub)
    headings = [rf"\multicolumn{{1}}{{c}}{{{_tex(column.label)}}}" for column in table.columns]
    lines += [_tex_row([*map(_tex, table.stub), *headings]), r"\midrule"]
    for number, line in enumerate(_lines(table, options)):
        if number and line.starts and stub > 1:
            lines.append(r"\addlinespace")
        entries = [_tex_entry(entry) for entry in line.entries]
        if line.span is not None:
            said = f"{_tex(line.span)}: {entries[0]}" if line.span else entries[0]
            entries = [rf"\multicolumn{{{width}}}{{c}}{{{said}}}"]
        lines.append(_tex_row([*map(_tex, line.labels), *entries]))
    notes = [*legend(table, "Bold", "underlined"), *table.notes]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if notes:
        lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {_tex(' '.join(notes))}}}")
    return "\n".join([*lines, r"\end{table*}"])


def _latex_groups(spans: Sequence[tuple[str, int]], stub: int) -> list[str]:
    cells, rules, start = [""] * stub, [], stub + 1
    for text, count in spans:
        cells.append(rf"\multicolumn{{{count}}}{{c}}{{{_tex(text)}}}")
        if text:
            rules.append(rf"\cmidrule(lr){{{start}-{start + count - 1}}}")
        start += count
    return [_tex_row(cells), "".join(rules)] if rules else []


def _tex_entry(entry: Entry) -> str:
    text = _tex(entry.text)
    if text.startswith(("-", "+")) and text != "-":
        text = f"${text[0]}${text[1:]}"
    return {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", None: "{}"}[entry.mark].format(text)


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _tex(text: str) -> str:
    """Text for LaTeX, white space as single blanks, and a question mark for what pdfLaTeX would stop at.

    Control characters end a run of TeX, an empty line ends a caption, a sign without a font is an error.
    """
    return "".join(
        _TEX.get(sign, sign if " " <= sign <= "~" or sign in TEX_SIGNS else "?")
        for sign in " ".join(text.split())
    )
