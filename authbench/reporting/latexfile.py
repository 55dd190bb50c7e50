"""The papers' tables as a LaTeX file that compiles, whatever a model or an experiment is called."""

from __future__ import annotations

from collections.abc import Sequence

from authbench.reporting.results import Run
from authbench.reporting.tables import render_tables

#: Signs beyond ASCII that pdfLaTeX sets with its default fonts and no package.
SIGNS = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ"
    "ĂăĆćČčĎďĚěĞğĹĺĽľŁłŃńŇňŐőŔŕŘřŚśŞşŠšŢţŤťŮůŰűŹźŻżŽž"
    "–—‘’“”…€£§°±×÷·¡¿©®µ¬²³"
)


def latex_file(runs: Sequence[Run], *, paper: bool = False) -> str:
    """The tables of these runs, with the papers' numbers if asked for."""
    return compilable(render_tables(runs, format="latex", paper=paper))


def compilable(text: str) -> str:
    """LaTeX in which every sign that pdfLaTeX would stop at is a question mark.

    Control characters end a run of TeX, and a sign without a font is an error.
    """
    return "".join(sign if sign == "\n" or " " <= sign <= "~" or sign in SIGNS else "?" for sign in text)
