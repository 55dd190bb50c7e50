"""Requests made from templates: the judges' prompts and the RAG prompts (AuthorityBench, appendix A).

Data goes in verbatim. A set is made once for a cell and shared by all its items; making a request costs
a few microseconds. See docs/prompts.md for where each prompt's words come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from authbench.data.records import Document, Source
from authbench.errors import ConfigError, did_you_mean
from authbench.prompts import formats
from authbench.prompts.loading import Template, bind, noun_slots, prompt_set_hash, templates
from authbench.runtime.messages import Constraint, Message, Request, Sampling

__all__ = ["ENTITY_NOUNS", "PromptSet", "RagPrompts", "prompt_set", "prompt_set_hash", "rag_prompts"]

#: What the members of EntityAuth's three domains are called in its prompts.
ENTITY_NOUNS: Mapping[str, str] = {"basketball": "basketball player", "movies": "movie", "songs": "song"}

FAMILIES = ("domain", "entity")
CONTEXTS = ("without", "with")
CONSTRAIN = ("none", "json", "choice")


@dataclass(frozen=True, slots=True)
class _Form:
    """A prompt ready to be filled: `%` formats, how to decode the answer."""

    text: str
    sampling: Sampling
    constraint: Constraint | None
    item: str = ""

    def request(self, values: Mapping[str, str]) -> Request:
        return Request((Message("user", self.text % values),), self.sampling, self.constraint)

    def list_request(self, rows: Sequence[Mapping[str, Any]], **values: str) -> Request:
        item = self.item
        return self.request({"items": "\n".join([item % row for row in rows]), **values})


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The five judges' prompts for one kind of source, one context and one scale. Made by `prompt_set`.

    Attributes:
        family: `domain` or `entity`.
        context: `without` or `with` the sources' web text.
        scale_levels: number of levels; scores run from 0 to `scale_levels - 1`.
        noun: what a source is called in the prompts: `domain`, `movie`.
        constrain: `none`, `json` or `choice`.
        text_budget: most characters of a source's text, or None for the whole text.
    """

    family: str
    context: str
    scale_levels: int
    noun: str
    constrain: str
    text_budget: int | None
    _forms: Mapping[str, _Form] = field(repr=False, compare=False)
    _lists: dict[tuple[str, int], _Form] = field(repr=False, compare=False)

    @property
    def low(self) -> int:
        """The lowest score that may be given."""
        return 0

    @property
    def high(self) -> int:
        """The highest score that may be given."""
        return self.scale_levels - 1

    def point(self, source: Source) -> Request:
        """PointJudge: one source, answered with `{"score": X}` (prompts A and B)."""
        return self._forms["point"].request({"name": source.name, "text": self._text(source)})

    def point_label(self, source: Source) -> Request:
        """PointJudge for one-token scoring: the same prompt, asking for the bare number.

        An option beyond the paper: after `{"score": X}` had been asked for, the first token of the
        answer would be a brace and say nothing about the score.
        """
        return self._forms["point-label"].request({"name": source.name, "text": self._text(source)})

    def pair_rank(self, a: Source, b: Source) -> Request:
        """PairJudge: two sources, answered with `A` or `B` (prompts C and D)."""
        return self._forms["pair-rank"].request(self._pair(a, b))

    def pair_score(self, a: Source, b: Source) -> Request:
        """PairJudge: two sources, answered with `{"A": X, "B": X}` (prompt E)."""
        return self._forms["pair-score"].request(self._pair(a, b))

    def list_rank(self, sources: Sequence[Source]) -> Request:
        """ListJudge: answered with `[4] > [0] > ...` (prompt F). Identifiers count from 0 as shown."""
        return self._list("list-rank", sources)

    def list_score(self, sources: Sequence[Source]) -> Request:
        """ListJudge: answered with `{"0": X, "1": X, ...}` (prompt G)."""
        return self._list("list-score", sources)

    def _list(self, judge: str, sources: Sequence[Source]) -> Request:
        form = self._lists.get((judge, len(sources)))
        if form is None:
            form = _list_form(self, judge, len(sources))
            self._lists[judge, len(sources)] = form
        rows = [{"id": k, "name": s.name, "text": self._text(s)} for k, s in enumerate(sources)]
        return form.list_request(rows)

    def _pair(self, a: Source, b: Source) -> dict[str, str]:
        return {"name_a": a.name, "text_a": self._text(a), "name_b": b.name, "text_b": self._text(b)}

    def _text(self, source: Source) -> str:
        text = source.text
        if text is None or self.context == "without":
            return ""
        return text if self.text_budget is None else text[: self.text_budget]


def prompt_set(
    family: str,
    *,
    context: str,
    scale_levels: int,
    noun: str | None = None,
    constrain: str = "none",
    text_budget: int | None = None,
) -> PromptSet:
    """The prompts of one cell.

    Args:
        family: `domain`, or `entity`: the same prompts with a noun in place of "domain".
        context: `without` or `with` web text. A source without text has an empty one.
        scale_levels: 10 (fine, the paper's words exactly), 5 (coarse), or any number from 2.
        noun: for entities, what one is called; "entity" if None. See `ENTITY_NOUNS`.
        constrain: `json` limits the decoding of every format, `choice` of A/B only.
        text_budget: most characters of one source's text.

    Raises `ConfigError` for a value that is none of these.
    """
    _check("prompt family", family, FAMILIES)
    _check("context", context, CONTEXTS)
    _check("constrain", constrain, CONSTRAIN)
    _check_budget(text_budget)
    if scale_levels < 2:
        raise ConfigError(f"scale: {scale_levels} levels are too few, a rating needs 2 or more")
    if family == "domain" and noun not in (None, "domain"):
        raise ConfigError(f"noun '{noun}': the prompts of the family 'domain' take none, use 'entity'")
    name = noun or family
    forms = _fixed_forms(family, context, scale_levels - 1, name, constrain)
    return PromptSet(family, context, scale_levels, name, constrain, text_budget, forms, {})


def _fixed_forms(family: str, context: str, high: int, noun: str, constrain: str) -> dict[str, _Form]:
    slots = {
        "low": "0",
        "high": str(high),
        "allowed": formats.allowed_scores(high),
        "example": f'{{"A": {formats.example_score(7, high)}, "B": {formats.example_score(4, high)}}}',
        **noun_slots(noun),
    }

    def form(judge: str, tokens: int, constraint: Constraint | None, *, bare: bool = False) -> _Form:
        text = templates()[f"{family}/{judge}.{context}"].text
        if bare:
            text = text.replace('{"score": X} where X', "X where X")
        return _Form(bind(text, slots), formats.greedy(tokens), constraint)

    as_json = constrain == "json"
    point = formats.scores_schema(("score",), high) if as_json else None
    pair = formats.scores_schema(("A", "B"), high) if as_json else None
    letter = formats.choice("A", "B") if constrain != "none" else None
    return {
        "point": form("point", formats.point_tokens(high), point),
        "point-label": form("point", 1, None, bare=True),
        "pair-rank": form("pair-rank", formats.WORD_TOKENS, letter),
        "pair-score": form("pair-score", formats.pair_tokens(high), pair),
    }


def _list_form(prompts: PromptSet, judge: str, count: int) -> _Form:
    template = templates()[f"{prompts.family}/{judge}.{prompts.context}"]
    high, ranks = prompts.high, judge == "list-rank"
    example = formats.rank_example(count) if ranks else formats.score_example(count, high)
    tokens = formats.rank_tokens(count) if ranks else formats.list_tokens(count, high)
    constraint = None
    if prompts.constrain == "json":
        constraint = formats.rank_regex(count) if ranks else formats.list_schema(count, high)
    slots = {"count": str(count), "low": "0", "high": str(high), "example": example}
    return _bound_list(template, slots | noun_slots(prompts.noun), tokens, constraint)


def _bound_list(
    template: Template, slots: Mapping[str, str], tokens: int, constraint: Constraint | None
) -> _Form:
    text, item = bind(template.text, slots), bind(template.item or "", slots)
    return _Form(text, formats.greedy(tokens), constraint, item)


@dataclass(frozen=True, slots=True)
class RagPrompts:
    """The four prompts of RAGAuth (appendix A, strategies a to d). Made by `rag_prompts`.

    Scores are integers from 0 to 9; identifiers count from 0 in the order of the documents.
    `text_budget` is the most characters of one document, None for the whole.
    """

    constrain: str
    text_budget: int | None
    _lists: dict[tuple[str, int], _Form] = field(repr=False, compare=False)

    low = 0
    high = 9

    def answer(self, question: str, documents: Sequence[Document]) -> Request:
        """The final answer, `yes` or `no`, from the documents given (strategy a)."""
        return self._request("answer", documents, question=question)

    def relevance(self, question: str, documents: Sequence[Document]) -> Request:
        """A score of relevance for each document, as a JSON object (strategy b)."""
        return self._request("relevance", documents, question=question)

    def utility(self, question: str, documents: Sequence[Document]) -> Request:
        """Pseudo-answers, then a score of utility for each document, in one JSON object (strategy c)."""
        return self._request("utility", documents, question=question)

    def authority(self, documents: Sequence[Document]) -> Request:
        """A score of authority for each URL; neither question nor text is shown (strategy d)."""
        return self._request("authority", documents)

    def _request(self, kind: str, documents: Sequence[Document], **values: str) -> Request:
        form = self._lists.get((kind, len(documents)))
        if form is None:
            form = _rag_form(self.constrain, kind, len(documents))
            self._lists[kind, len(documents)] = form
        end = self.text_budget
        rows = [{"id": k, "url": d.url, "text": d.text[:end]} for k, d in enumerate(documents)]
        return form.list_request(rows, **values)


def rag_prompts(*, constrain: str = "none", text_budget: int | None = None) -> RagPrompts:
    """The RAG prompts; `constrain` and `text_budget` as in `prompt_set` (`choice`: yes or no only)."""
    _check("constrain", constrain, CONSTRAIN)
    _check_budget(text_budget)
    return RagPrompts(constrain, text_budget, {})


def _rag_form(constrain: str, kind: str, count: int) -> _Form:
    template = templates()[f"rag/{kind}"]
    if kind == "answer":
        word = formats.choice("yes", "no") if constrain != "none" else None
        return _bound_list(template, {}, formats.WORD_TOKENS, word)
    utility = kind == "utility"
    example = formats.utility_example(count) if utility else formats.score_example(count, 9)
    tokens = formats.utility_tokens(count) if utility else formats.list_tokens(count, 9)
    constraint = None
    if constrain == "json":
        constraint = formats.utility_schema(count) if utility else formats.list_schema(count, 9)
    return _bound_list(template, {"example": example}, tokens, constraint)


def _check(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{what} '{value}' is not one of {', '.join(known)}{did_you_mean(value, known)}")


def _check_budget(budget: int | None) -> None:
    if budget is not None and budget < 1:
        raise ConfigError(f"text_budget {budget}: it is a number of characters, 1 or more, or left out")
