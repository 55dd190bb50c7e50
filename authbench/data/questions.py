"""Yes/no questions with retrieved web documents: RAGAuth, its stand-in, and a user's own file.

Documents are kept as the data has them, in retrieval order; URLs are never visited. What a document says is
data: nothing in it is interpreted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from authbench.data.catalog import Dataset, FileSpec, dataset
from authbench.data.columns import Columns, check_roles, first_filled
from authbench.data.fetch import FileRecord, Places, expand, fetch, own_file
from authbench.data.records import Document, Question
from authbench.data.rows import read_rows
from authbench.errors import ConfigError, DataError

#: What counts as an answer, in lower case.
ANSWERS: Mapping[str, Literal["yes", "no"]] = {
    **dict.fromkeys(("yes", "true", "1", "y"), "yes"),
    **dict.fromkeys(("no", "false", "0", "n"), "no"),
}

_FUNCTION_WORDS = """
a an the this that these those there it its he she his her their our some any all both each every many most
several few in on at by for from of to with without within into between over under after before during since
until when while where if as because although
"""

#: First words of a claim that lose their capital inside a sentence; anything else may be a name.
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class QuestionData:
    """Questions in the order of their file.

    Attributes:
        questions: with their documents.
        files: what was read.
        dropped: what was left out or lacks something -> how many: "questions without documents" are left out;
            "documents without text" and "documents without url" are kept, with an empty string.
    """

    questions: tuple[Question, ...]
    files: tuple[FileRecord, ...]
    dropped: Mapping[str, int]


def load_questions(
    name: str,
    *,
    path: Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    places: Places | None = None,
) -> QuestionData:
    """Load a set of questions of the catalogue, or a user's own file.

    Args:
        name: of the catalogue; with `path` any name.
        path: JSONL, one `{"id", "question", "answer", "documents": [{"url", "text", "label"?}]}` a line
            (`id` may be left out: the record's number then).
        columns: role -> column, over the catalogue's: id, question, answer, documents, topic, document_url,
            document_text, document_label.
        limit: only the first so many questions.
        places: where to look; None: as the environment says.

    Raises:
        ConfigError: an unknown name or role, or a set that is none of questions.
        DataError: a file that is missing or damaged; a record that cannot be read, with file and line; an
            answer that is neither yes nor no; an id that comes twice.
    """
    fixed = check_roles(columns)
    if path is not None:
        return _read(own_file(path), fixed, limit)
    entry = dataset(name)
    if entry.kind != "questions":
        raise ConfigError(f"dataset.name: '{name}' is no set of questions; the task rag needs one")
    places = places or Places.from_environment()
    spec = _one_file(entry, places)
    columns = {**entry.columns, **fixed}
    return _read(fetch(entry, spec, places), columns, limit, entry.question == "claim")


def claim_question(claim: str) -> str:
    """A claim as a yes/no question: `Is it true that CLAIM?`

    Blanks around the claim and punctuation at its end are cut, and its first letter loses its capital if the
    first word is a function word (`The`, `In`, ...), since any other may be a name.
    """
    text = claim.strip().rstrip(".,;:!? ")
    first, _, rest = text.partition(" ")
    if rest and first.lower() in FUNCTION_WORDS:
        text = f"{first.lower()} {rest}"
    return f"Is it true that {text}?"


def _one_file(entry: Dataset, places: Places) -> FileSpec:
    specs = [spec for pattern in entry.select("questions") for spec in expand(entry, pattern, places)]
    if len(specs) != 1:
        names = ", ".join(spec.path for spec in specs)
        raise DataError(
            f"{entry.name}: {len(specs)} files could hold the questions: {names}\n"
            "Say which one: --set dataset.path=FILE"
        )
    return specs[0]


def _read(
    record: FileRecord, fixed: Mapping[str, str], limit: int | None, claims: bool = False
) -> QuestionData:
    questions: list[Question] = []
    counts: Counter[str] = Counter()
    lines: dict[str, int] = {}
    reader: _Reader | None = None
    for line, row in read_rows(record.location):
        if limit is not None and len(questions) >= limit:
            break
        place = f"{record.location}, line {line}"
        reader = reader or _Reader(Columns(str(record.location), list(row), fixed), claims, counts)
        question = reader.question(place, row, len(questions))
        if question is None:
            continue
        if question.id in lines:
            raise DataError(f"{place}: id '{question.id}' is that of line {lines[question.id]} too")
        lines[question.id] = line
        questions.append(question)
    if not questions and limit != 0:
        raise DataError(f"{record.location}: no questions with documents")
    found = {what: count for what, count in sorted(counts.items()) if count}
    return QuestionData(tuple(questions), (record,), MappingProxyType(found))


class _Reader:
    """Reads the records of one file; what is left out or lacks something is counted in `counts`."""

    def __init__(self, columns: Columns, claims: bool, counts: Counter[str]) -> None:
        self.fixed = columns.fixed
        self.claims = claims
        self.counts = counts
        self.text = columns.need("question")
        self.answer = columns.need("answer", besides=(self.text,))
        self.documents = columns.need("documents")
        self.id = columns.get("id") or ""
        self.topic = columns.get("topic", besides=(self.text, self.answer, self.documents)) or ""

    def question(self, place: str, row: Mapping[str, Any], number: int) -> Question | None:
        """The question of one record, or None (counted) if it has no documents."""
        text = str(row.get(self.text) or "").strip()
        if not text:
            raise DataError(f"{place}: no question in column '{self.text}'")
        documents = self._documents(place, row.get(self.documents) or ())
        said = row.get(self.answer)
        answer = ANSWERS.get(str(said).strip().rstrip(".").lower())
        if answer is None:
            raise DataError(
                f"{place}: the answer is {said!r}, neither yes nor no (column '{self.answer}')\n"
                "If another column has it: --set dataset.columns.answer=COLUMN"
            )
        if not documents:
            self.counts["questions without documents"] += 1
            return None
        identifier, topic = row.get(self.id), row.get(self.topic)
        return Question(
            id=f"q{number:04d}" if identifier is None else str(identifier),
            number=number,
            question=claim_question(text) if self.claims else text,
            answer=answer,
            documents=documents,
            topic=str(topic) if topic else None,
        )

    def _documents(self, place: str, value: Any) -> tuple[Document, ...]:
        if not isinstance(value, list | tuple):
            raise DataError(f"{place}: column '{self.documents}' does not hold a list of documents")
        documents = []
        for position, entry in enumerate(value):
            if not isinstance(entry, Mapping):
                raise DataError(f"{place}: document {position} is no object with url and text")
            url, text, label = (self._field(entry, f"document_{part}") for part in ("url", "text", "label"))
            if isinstance(label, bool) or not isinstance(label, str | int | float):
                label = None
            document = Document(
                str(url or "").strip(),
                str(text or ""),
                label if isinstance(label, str | None) else float(label),
            )
            self.counts["documents without url"] += not document.url
            self.counts["documents without text"] += not document.text.strip()
            documents.append(document)
        return tuple(documents)

    def _field(self, entry: Mapping[str, Any], role: str) -> Any:
        column = self.fixed.get(role)
        return entry.get(column) if column else first_filled(entry, role)
