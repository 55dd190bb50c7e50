"""One item in full: gold beside what was predicted, and every answer with how it was read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from authbench.reporting.facts.rag import cut_name
from authbench.reporting.itemfiles import Item

if TYPE_CHECKING:
    from authbench.lcr.rerank import Rule


@dataclass(frozen=True, slots=True)
class AnswerDetail:
    """One answer.

    Attributes:
        status: how it was read.
        read: what was read out of it, in words; empty where nothing was.
        prompt: the rendered prompt, or None where the store does not have it.
        texts: the answer, one text a sample.
    """

    status: str
    read: str
    prompt: str | None
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemDetail:
    """An item in full.

    Attributes:
        facts: what is known of it, as names and words.
        head: headings of the table of its parts (sources, documents); empty where there is none.
        rows: its rows, as words.
        answers: its answers, in the order asked.
    """

    facts: tuple[tuple[str, str], ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    answers: tuple[AnswerDetail, ...]


Parts = tuple[list[tuple[str, str]], tuple[str, ...], list[tuple[str, ...]], list[str]]


def item_detail(
    task: str,
    item: Item,
    prompts: Mapping[str, str] | None = None,
    most: int = 0,
    rule: Rule | None = None,
) -> ItemDetail:
    """The item in words.

    Args:
        task: what the run's items are: `listwise`, `pairwise`, `rag`.
        item: from `read_items`.
        prompts: rendered prompts by key.
        most: most signs kept of a prompt or an answer, the middle being left out; 0 for all.
        rule: of LCR, if the place after reranking is wanted.
    """
    describe = _TASKS.get(task, _any)
    if task == "lcr":
        describe = partial(_lcr, rule=rule)
    try:
        facts, head, rows, read = describe(item) if item.error is None else _any(item)
    except (KeyError, IndexError, TypeError):  # Values of another version: show them as they are.
        facts, head, rows, read = _any(item)
    if item.error is not None:
        facts.append(("failed", item.error))
    answers = []
    for number, answer in enumerate(item.answers):
        prompt = (prompts or {}).get(answer.key)
        answers.append(
            AnswerDetail(
                answer.status,
                read[number] if number < len(read) else "",
                None if prompt is None else shortened(prompt, most),
                tuple(shortened(text, most) for text in answer.texts),
            )
        )
    return ItemDetail(tuple(facts), head, tuple(rows), tuple(answers))


def shortened(text: str, most: int) -> str:
    """A text of at most about `most` signs, with what was left out of its middle counted; 0 keeps all."""
    if not most or len(text) <= most:
        return text
    tail = most // 3
    left_out = len(text) - most
    return f"{text[: most - tail]}\n[... {left_out:,} characters left out ...]\n{text[-tail:]}"


def _listwise(item: Item) -> Parts:
    from authbench.judging.aggregate import AGGREGATIONS

    judge = item.group.rpartition("/")[2]
    levels = item.gold["levels"]
    predicted: dict[str, Sequence[float | None]] = {}
    read: list[str]
    if "pairs" in item.values:
        pairs = item.values["pairs"]
        for name, aggregate in AGGREGATIONS.get(judge, {}).items():
            predicted[name] = aggregate(len(levels), pairs)
        read = [f"{_number(a)} for place {i + 1}, {_number(b)} for place {j + 1}" for i, j, a, b in pairs]
    else:
        predicted["predicted"] = item.values["scores"]
        scores = [_number(score) for score in item.values["scores"]]
        read = scores if judge == "point" else [", ".join(scores)]
    head = ("place shown", "true level", *predicted)
    rows = [
        (str(place + 1), str(level), *(_number(scores[place]) for scores in predicted.values()))
        for place, level in enumerate(levels)
    ]
    return [], head, rows, read


def _pairwise(item: Item) -> Parts:
    levels, values = item.gold["levels"], item.values
    scores = values["scores"]
    head: tuple[str, ...] = ("side", "true level", "score")
    rows: list[tuple[str, ...]] = [(side, str(levels[i]), _number(scores[i])) for i, side in enumerate("AB")]
    orders = values.get("by_order")
    read = [f"A {_number(scores[0])}, B {_number(scores[1])}"]
    facts = [("gap", str(abs(levels[0] - levels[1])))]
    if item.group.endswith("/point"):
        read = [_number(score) for score in scores]
    if orders:
        read = [f"first {_number(first)}, second {_number(second)}" for first, second in orders]
    return facts, head, rows, read


def _rag(item: Item) -> Parts:
    gold, values = item.gold, item.values
    parts, cuts = values["scores"], values["cuts"]
    facts = [("right answer", str(gold["answer"]))]
    for cut in cuts:
        verdict = "no usable answer"
        if cut["answer"] is not None:
            verdict = f"{cut['answer']}, {'right' if cut['answer'] == gold['answer'] else 'wrong'}"
        if cut["tie"]:
            verdict += " (a tie at the cut)"
        facts.append((cut_name(cut), verdict))
    head = ("place", "URL", "label", "level", *parts, *(_kept_heading(cut) for cut in cuts))
    rows = []
    for place, url in enumerate(gold["urls"]):
        scores = [_number(None if given is None else given[place]) for given in parts.values()]
        kept = ["yes" if place in (cut["kept"] or ()) else "" for cut in cuts]
        label, level = gold["labels"][place], gold["levels"][place]
        rows.append((str(place + 1), url, _word(label), _number(level), *scores, *kept))
    asked = (
        len(item.answers) - len(cuts) if all(cut["kept"] is not None for cut in cuts) else len(item.answers)
    )
    read = [", ".join(map(_number, given)) if given is not None else "" for given in parts.values()][:asked]
    read += [""] * (asked - len(read)) + [f"{cut['answer'] or ''} ({cut_name(cut)})".strip() for cut in cuts]
    return facts, head, rows, read


def _lcr(item: Item, rule: Rule | None = None) -> Parts:
    from authbench.lcr.items import to_query
    from authbench.lcr.rerank import rerank

    gold, values = item.gold, item.values
    query = to_query(item.item, gold, values)
    order = list(values["order"])
    before = {document: place for place, document in enumerate(order, start=1)}
    after = before
    facts = [("confidence of the query", _share(values["query"]))]
    if rule is not None:
        reranked = rerank(order, query.own, query.documents, rule, len(order))
        after = {document: place for place, document in enumerate(reranked, start=1)}
        facts += [("thresholds", str(rule)), ("gate", "open" if rule.opens(query.own) else "closed")]
    rows = []
    for place, document in enumerate(gold["documents"], start=1):
        number = place - 1
        taken = values["documents"][number] if number < len(values["documents"]) else None
        confidence = "–" if taken is None else _share(taken)
        places = [str(found[document]) if document in found else "–" for found in (before, after)]
        rows.append((str(place), document, _word(gold["grades"][number]), confidence, *places))
    head = ("retrieved", "document", "grade", "confidence", "base ranking", "reranked")
    return facts, head, sorted(rows, key=lambda row: int(row[-1]) if row[-1].isdigit() else 10_000), []


def _share(confidence: Mapping[str, Any]) -> str:
    """C as the counts that it is made of; the least that it can be where the work ended early (adaptive)."""
    size, k, labels = confidence["largest"], confidence["k"], confidence["labels"]
    whole = len(labels) == k and None not in labels
    return f"{'' if whole else '≥ '}{size / k:.2f} ({size}/{k})"


def _kept_heading(cut: Mapping[str, Any]) -> str:
    name = cut_name(cut)
    return "kept" if name == "all" else f"kept at {name}"


def _any(item: Item) -> Parts:
    facts = [(name, _word(value)) for name, value in {**item.gold, **item.values}.items()]
    return facts, (), [], []


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _word(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_TASKS: dict[str, Callable[[Item], Parts]] = {"listwise": _listwise, "pairwise": _pairwise, "rag": _rag}
