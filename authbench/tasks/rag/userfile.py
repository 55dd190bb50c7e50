"""A filter over a user's own retrieved documents: JSONL in, the same lines with scores and kept flags out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from authbench.data.columns import first_filled
from authbench.data.records import Document, Question
from authbench.data.rows import read_rows
from authbench.errors import DataError
from authbench.prompts.render import RagPrompts
from authbench.rag.documents import cut_documents
from authbench.rag.filters import Filter
from authbench.rag.procedure import filter_procedure, scoring_request
from authbench.rag.selection import Cut
from authbench.runtime.messages import Outcome, Procedure, Request
from authbench.tasks.fitting import Fitter


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One line of the file.

    Attributes:
        number: of the record, from 0.
        row: the line as it was read.
        question: what is asked about it; its answer means nothing here.
        documents: the key under which the row holds its documents.
    """

    number: int
    row: Mapping[str, Any]
    question: Question
    documents: str


def read_lines(path: Path, *, need_question: bool) -> Iterator[Line]:
    """The lines of a JSONL file (or JSON array) of questions with documents, one by one.

    A line needs `documents`, a list of objects with `url` and `text` (or another common name for them; either
    may be missing), and `question` where the filter looks at it. Everything else is carried along.

    Raises `DataError` naming file and line.
    """
    for number, (line, row) in enumerate(read_rows(path)):
        place = f"{path}, line {line}"
        key = _documents_key(row)
        if key is None:
            raise DataError(
                f"{place}: no list of documents; keys found: {', '.join(row) or 'none'}\n"
                'a line looks like {"question": "...", "documents": [{"url": "...", "text": "..."}]}'
            )
        question = first_filled(row, "question")
        if need_question and not (isinstance(question, str) and question.strip()):
            raise DataError(f"{place}: no question, and this filter scores documents against one")
        documents = tuple(_document(f"{place}: document {k}", entry) for k, entry in enumerate(row[key]))
        name = f"{path.name}, line {line}"
        yield Line(number, row, Question(name, number, str(question or "").strip(), "yes", documents), key)


@dataclass(frozen=True, slots=True)
class LineFilter:
    """A filter that is asked about lines.

    Attributes:
        chosen: the filter; made of parts that a model is asked for.
        cut: how many documents are kept, or from which score on.
        minimum: fewest documents that a threshold keeps.
        prompts: how the model is asked.
        fitter: says how much of each document fits the model.
    """

    chosen: Filter
    cut: Cut
    minimum: int
    prompts: RagPrompts
    fitter: Fitter

    def start(self, line: Line) -> Procedure[Outcome]:
        """The procedure that filters a line. Raises `ConfigError` for a line that does not fit the model."""

        def within(budget: int | None) -> Question:
            return cut_documents(line.question, lambda place, document: budget)

        def longest(budget: int | None) -> list[Request]:
            shown = within(budget)
            return [scoring_request(part, shown, self.prompts) for part in self.chosen.asked]

        shown = within(self.fitter.budget(line.question.id, longest))
        return filter_procedure(shown, self.prompts, self.chosen, self.cut, self.minimum)

    def text_chars(self, line: Line) -> int | None:
        """Most characters that were shown of each of a line's documents; None for all."""
        return self.fitter.truncated.get(line.question.id, self.fitter.text_chars)


def line_status(outcome: Outcome | None) -> str:
    """The status of a line: `failed`, the first that is not valid, else `repaired` if any is, else `ok`."""
    if outcome is None:
        return "failed"
    statuses = [answer.status for answer in outcome.answers]
    invalid = [answer.status for answer in outcome.answers if not answer.valid]
    return invalid[0] if invalid else "repaired" if "repaired" in statuses else "ok"


def filtered_row(
    line: Line, chosen: Filter, values: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """The line with what the filter found out.

    Each document gets `<filter>_score` (of every part of a joined filter, and `filter_score` for what they
    come to) and `kept`, null where the filter has no answer; the line gets `filter`, with `facts`.
    """
    scores, kept = values.get("scores", {}), values.get("kept")
    documents = []
    for place, entry in enumerate(line.row[line.documents]):
        found: dict[str, Any] = {f"{part}_score": _at(scores.get(part), place) for part in chosen.parts}
        if len(chosen.parts) > 1:
            found["filter_score"] = _at(values.get("combined"), place)
        found["kept"] = None if kept is None else place in kept
        documents.append({**entry, **found})
    tie = {"tie": values.get("tie", False)}
    return {**line.row, line.documents: documents, "filter": {"name": chosen.name, **facts, **tie}}


def _documents_key(row: Mapping[str, Any]) -> str | None:
    value = first_filled(row, "documents")
    if not isinstance(value, list):
        return None
    return next(key for key in row if row[key] is value)


def _document(place: str, entry: object) -> Document:
    if not isinstance(entry, Mapping):
        raise DataError(f"{place} is no object with url and text")
    url, text = first_filled(entry, "document_url"), first_filled(entry, "document_text")
    return Document(str(url or "").strip(), str(text or ""))


def _at(scores: Sequence[float] | None, place: int) -> float | None:
    return None if scores is None else scores[place]
