"""Yes/no answers from filtered documents: AuthorityBench Table 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from authbench.data.fetch import FileRecord
from authbench.data.questions import load_questions
from authbench.data.records import Document, Question
from authbench.errors import ConfigError
from authbench.measures.accuracy import summarise_accuracy
from authbench.measures.resampling import measure_row
from authbench.prompts.render import rag_prompts
from authbench.rag import oracle
from authbench.rag.documents import characters_within, cut_documents
from authbench.rag.filters import ORACLES, Filter, parse_filter
from authbench.rag.labels import document_levels, domain_table
from authbench.rag.procedure import Plan, rag_procedure, scoring_request
from authbench.rag.selection import Cut
from authbench.runtime.messages import Outcome, Procedure, Request
from authbench.tasks.base import DataUse, Group, Record, Task, Unit
from authbench.tasks.fitting import Fitter
from authbench.tasks.rag.calibration import calibrate
from authbench.tasks.rag.settings import RagDataset, RagExperiment


class RagTask(Task):
    """Groups are filters; items are questions, whose documents are scored once, and answered at every cut.

    What is kept is a pure function of the scores, so joined filters ask for nothing that the single ones
    have not asked; equal sets of documents are answered once.
    """

    def __init__(self, settings: RagExperiment, fitter: Fitter) -> None:
        super().__init__(settings, fitter)
        self._settings = settings
        self._prompts = rag_prompts(constrain=settings.constrain)
        self._questions, self._use = _load(settings.dataset)
        filters = [parse_filter(name, settings.weights, settings.pool) for name in settings.filters]
        self._plans = {chosen.name: self._plan(chosen) for chosen in filters}
        self._levels = self._load_levels()
        self._check_oracles()
        self._shown: dict[str, Question] = {}

    def _plan(self, chosen: Filter) -> Plan:
        settings = self._settings
        cuts = [Cut()]
        if chosen.parts:
            cuts = [*(Cut(k=k) for k in settings.keep), *(Cut(threshold=t) for t in settings.thresholds)]
        return Plan(chosen, tuple(cuts), settings.shown, settings.threshold_minimum)

    def _load_levels(self) -> dict[str, list[float | None]]:
        """Authority labels of each question's documents: of their domains, else their own."""
        name = self._settings.dataset.labels
        if name is None:
            return {q.id: [oracle.numeric_label(d) for d in q.documents] for q in self._questions}
        table, files = _domain_labels(name)
        self._use = replace(self._use, files=[*self._use.files, *_files(files)])
        return {q.id: document_levels(q.documents, table) for q in self._questions}

    def _check_oracles(self) -> None:
        wanted = {part for plan in self._plans.values() for part in plan.filter.parts} & set(ORACLES)
        kind = oracle.label_kind(
            [document for question in self._questions for document in question.documents]
        )
        for name in sorted(wanted):
            oracle.check_oracle(name, kind, joined=self._settings.dataset.labels is not None)
        if "oracle-stance" in wanted:
            for question in self._questions:
                oracle.stance_scores(question)
        levels = any(level is not None for row in self._levels.values() for level in row)
        if self._settings.calibration and not levels:
            raise ConfigError(
                "calibration: true needs documents with a number as label, and this data has none\n"
                "take the labels of their domains with --set dataset.labels=domainauth-openpagerank"
            )

    def check_fit(self, limit: int | None) -> None:
        """Looks at every question: its longest prompt is the one that shows all its documents."""
        for question in self._questions[:limit]:
            self._as_shown(question)

    def groups(self) -> Sequence[Group]:
        """A group a filter, in the order of the configuration."""
        name = self._settings.dataset.name
        return [Group(f"{name}/{chosen}", {"dataset": name, "filter": chosen}) for chosen in self._plans]

    def size(self, group: Group) -> int:
        """All questions."""
        return len(self._questions)

    def units(self, group: Group) -> Iterator[Unit]:
        """A unit a question; `gold`: its `answer` and `topic`, and `urls`, `labels` and `levels` of its
        documents."""
        plan = self._plans[group.dims["filter"]]
        for question in self._questions:
            gold = {
                "answer": question.answer,
                "topic": question.topic,
                "urls": [document.url for document in question.documents],
                "labels": [document.label for document in question.documents],
                "levels": self._levels[question.id],
            }
            yield Unit(group, question.id, question.number, gold, partial(self._procedure, question, plan))

    def _procedure(self, question: Question, plan: Plan) -> Procedure[Outcome]:
        return rag_procedure(self._as_shown(question), self._prompts, plan, self._given(question, plan))

    def _given(self, question: Question, plan: Plan) -> dict[str, list[float]]:
        """The scores that come from labels, not from the model."""
        scores = {}
        if "oracle-stance" in plan.filter.parts:
            scores["oracle-stance"] = oracle.stance_scores(question)
        if "oracle-authority" in plan.filter.parts:
            scores["oracle-authority"] = oracle.authority_scores(self._levels[question.id])
        return scores

    def _as_shown(self, question: Question) -> Question:
        """The question as the model sees it in every prompt: its documents cut to what fits."""
        if question.id not in self._shown:
            name = f"rag/{question.id}"
            cut = self._cut_to_tokens(name, question)

            def within(budget: int | None) -> Question:
                return cut_documents(cut, lambda place, document: budget)

            budget = self.fitter.budget(name, lambda b: self._longest(within(b)))
            self._shown[question.id] = within(budget)
        return self._shown[question.id]

    def _cut_to_tokens(self, name: str, question: Question) -> Question:
        """Apply `document_tokens`; what was cut is recorded in characters, so that no tokenizer is needed
        to make the same prompt again."""
        tokens, fitter = self._settings.document_tokens, self.fitter
        if tokens is None:
            return question

        def budget(place: int, document: Document) -> int | None:
            key = f"{name}/document {place}"
            if fitter.recorded is not None:
                return fitter.recorded.get(key)
            if key not in fitter.truncated:
                characters = characters_within(document.text, tokens, fitter.engine)
                if characters >= len(document.text):
                    return None
                fitter.truncated[key] = characters
            return fitter.truncated[key]

        return cut_documents(question, budget)

    def _longest(self, question: Question) -> list[Request]:
        """Every prompt that shows the most: the scoring ones, and the answer from what may be kept."""
        asked = dict.fromkeys(part for plan in self._plans.values() for part in plan.filter.asked)
        requests = [scoring_request(part, question, self._prompts) for part in asked]
        most = max(cut.k or len(question.documents) for plan in self._plans.values() for cut in plan.cuts)
        longest = sorted(question.documents, key=lambda document: -len(document.text))[:most]
        return [*requests, self._prompts.answer(question.question, longest)]

    def score(self, group: Group, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Accuracy at every cut, strict and valid only.

        A question without a usable filter answer, or answered with neither yes nor no, is invalid. `n_ties`
        counts questions at whose cut only the order of retrieval decided between equal scores. A threshold
        is named in `method`, and its rows `kept-share` say how many of the documents it keeps.
        """
        chosen = self._plans[group.dims["filter"]]
        rows: list[dict[str, Any]] = []
        for place, cut in enumerate(chosen.cuts):
            dims = {"k": cut.k, "method": cut.name if cut.threshold is not None else None}
            answers = [_answer(record, place) for record in records]
            ties = sum(_tie(record, place) for record in records)
            rows += [{**dims, **row} for row in _accuracy(answers, records, ties)]
            if self._settings.by_topic:
                rows += [{**dims, **row} for row in _by_topic(answers, records)]
            if cut.threshold is not None:
                rows += [{**dims, **row} for row in _kept_share(records, place)]
        if self._settings.calibration and chosen.filter.name == "authority":
            scores = [record.values.get("scores", {}).get("authority") for record in records]
            rows += calibrate(scores, [record.gold["levels"] for record in records])
        return rows

    def data(self) -> DataUse:
        """The file of questions, and what documents lack."""
        return self._use


def _load(dataset: RagDataset) -> tuple[list[Question], DataUse]:
    """The questions with the documents that the settings admit."""
    path = None if dataset.path is None else Path(dataset.path)
    data = load_questions(dataset.name, path=path, columns=dataset.columns)
    questions, dropped = [], 0
    for question in data.questions:
        documents = [
            document
            for document in question.documents[: dataset.depth]
            if (dataset.no_text == "keep" or document.text.strip())
            and (dataset.no_url == "keep" or document.url)
        ]
        dropped += len(question.documents[: dataset.depth]) - len(documents)
        questions.append(replace(question, documents=tuple(documents)))
    counts = {**data.dropped, **({"documents dropped": dropped} if dropped else {})}
    return questions, DataUse(_files(data.files), counts)


def _files(files: Sequence[FileRecord]) -> list[Mapping[str, Any]]:
    return [{k: str(v) if isinstance(v, Path) else v for k, v in asdict(file).items()} for file in files]


def _domain_labels(name: str) -> tuple[Mapping[str, int], Sequence[FileRecord]]:
    from authbench.data.authority import load_authority

    data = load_authority(name, "fine")
    if data.family != "domain":
        raise ConfigError(f"dataset.labels: '{name}' has labels of entities, and documents have domains")
    return domain_table(source for sources in data.domains.values() for source in sources), data.files


def _values(record: Record, place: int) -> Mapping[str, Any] | None:
    cuts = record.values.get("cuts") if record.error is None else None
    return None if cuts is None else cuts[place]


def _answer(record: Record, place: int) -> str | None:
    values = _values(record, place)
    return None if values is None else values["answer"]


def _tie(record: Record, place: int) -> bool:
    values = _values(record, place)
    return values is not None and bool(values["tie"])


def _accuracy(answers: Sequence[str | None], records: Sequence[Record], ties: int) -> list[dict[str, Any]]:
    right = [
        None if answer is None else answer == record.gold["answer"]
        for answer, record in zip(answers, records, strict=True)
    ]
    return [asdict(row) | {"n_ties": ties} for row in summarise_accuracy(right)]


def _by_topic(answers: Sequence[str | None], records: Sequence[Record]) -> list[dict[str, Any]]:
    """The same for the questions of each topic, as `accuracy-by-topic` with the topic as `domain`."""
    topics = dict.fromkeys(record.gold["topic"] for record in records if record.gold["topic"] is not None)
    rows = []
    for topic in topics:
        here = [place for place, record in enumerate(records) if record.gold["topic"] == topic]
        measured = _accuracy([answers[place] for place in here], [records[place] for place in here], 0)
        rows += [row | {"metric": "accuracy-by-topic", "domain": topic} for row in measured]
    return rows


def _kept_share(records: Sequence[Record], place: int) -> list[dict[str, Any]]:
    """Share of the documents that a threshold keeps, over questions that were filtered."""
    shares = []
    for record in records:
        values = _values(record, place)
        if values is not None and values["kept"] is not None and record.gold["urls"]:
            shares.append(len(values["kept"]) / len(record.gold["urls"]))
    row = asdict(measure_row("kept-share", "strict", shares, 0))
    return [row, row | {"policy": "valid"}]
