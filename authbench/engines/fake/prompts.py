"""What the `fake` engine reads in a prompt: which format is asked for, and the things that are shown.

It goes by the wording of authbench's own prompts. Everything is done with `str.find`, since a run asks
thousands of prompts a second and documents can be long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HIGH = re.compile(r"(?:\(0–|from 0 to |range of 0 to )(\d+)")
_HEAD, _TAIL = 110, 190
_FORMS: dict[tuple[str, str], tuple[str, int]] = {}
_MOST_FORMS = 4096


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt as understood.

    Attributes:
        kind: a judge (`point`, `point-label`, `pair-rank`, ...), what a RAG filter scores (`authority`,
            `relevance`, `utility`), `yes-no-answer`, LCR's (`yes-no-relevance`, `entailment`,
            `brief-answer`, `query`, `passage-rank`), or `free` for any other.
        high: the highest score that may be given, 9 where the prompt names none.
        things: names, URLs or texts of what is to be judged, in the order shown; for `entailment` the two
            answers, for `brief-answer` the document or nothing.
        question: the question or query, or an empty string.
    """

    kind: str
    high: int = 9
    things: tuple[str, ...] = ()
    question: str = ""


def read_prompt(content: str) -> Asked:
    """Understand one prompt; never raises, what is not understood is `free`."""
    form = (content[:_HEAD], content[-_TAIL:])
    known = _FORMS.get(form)
    if known is None:
        known = _classify(content)
        if len(_FORMS) < _MOST_FORMS:
            _FORMS[form] = known
    kind, high = known
    if kind.startswith("point"):
        return Asked(kind, high, _point_name(content))
    if kind.startswith("pair"):
        return Asked(kind, high, _pair_names(content))
    if kind.startswith("list"):
        return Asked(kind, high, _list_names(content))
    if kind in ("authority", "relevance", "utility"):
        return Asked(kind, high, _urls(content, kind), _section(content, "\nQUESTION: ", "\n"))
    if kind == "yes-no-answer":
        return Asked(kind, high, _sources(content), _section(content, "\nQuestion: ", "\n"))
    return _lcr(kind, content)


def _classify(content: str) -> tuple[str, int]:
    head, tail = content[:_HEAD], content[-1500:]
    found = _HIGH.search(tail)
    high = int(found[1]) if found else 9
    return _judge_kind(head, tail) or _rag_kind(head, tail) or _lcr_kind(head) or "free", high


def _judge_kind(head: str, tail: str) -> str | None:
    if "Output only: " in tail and "where X is your evaluated score" in tail:
        return "point" if 'Output only: {"score": X}' in tail else "point-label"
    if "Only return ‘A’ or ‘B’" in tail:
        return "pair-rank"
    if '{"A": X, "B": X}' in tail:
        return "pair-score"
    if "Only respond with the ranking results." in tail:
        return "list-rank"
    if "score the source authority of each" in head and "source URL" not in head:
        return "list-score"
    return None


def _rag_kind(head: str, tail: str) -> str | None:
    if "score the source authority of each source URL" in head:
        return "authority"
    if "score the relevance of each document" in head:
        return "relevance"
    if "score the utility of each document" in head:
        return "utility"
    return "yes-no-answer" if "ONLY ‘yes’ or ‘no’" in tail else None


def _lcr_kind(head: str) -> str | None:
    starts = {
        "Does the passage answer the query?": "yes-no-relevance",
        "You are given a question and two answers": "entailment",
        "Answer the question briefly": "brief-answer",
        "Write the search query": "query",
    }
    for start, kind in starts.items():
        if head.startswith(start):
            return kind
    return "passage-rank" if "passages, each with an identifier" in head else None


def _point_name(content: str) -> tuple[str, ...]:
    start = content.find(": ", content.find("\n\n")) + 2
    return (content[start : content.find("\n", start)],)


def _pair_names(content: str) -> tuple[str, ...]:
    line = content.find("\n", content.find("\n\n") + 2) + 1
    mark = content.find(" A: ", line)
    first, end = mark + 4, content.find("\n", mark)
    second = content.find(f"\n{content[line:mark]} B: ", end)
    second = content.find(" B: ", second) + 4
    return content[first:end], content[second : content.find("\n", second)]


def _list_names(content: str) -> tuple[str, ...]:
    """Names of a list; in prompts on domains, and on anything with texts, the name ends at a colon."""
    start = content.find("\n\n") + 2
    ranked = content.rfind("\n\nRank the ")
    end = ranked if ranked > 0 else content.rfind("\n\nYour output MUST")
    texts = content.startswith("DOMAINS", start) or " and their web contents" in content[: start - 2]
    items = _items(content, start, end)
    return tuple(item.split(": ", 1)[0] for item in items) if texts else tuple(items)


def _urls(content: str, kind: str) -> tuple[str, ...]:
    header = "\n\nSOURCES:\n" if kind == "authority" else "\n\nDOCUMENTS:\n"
    end = content.rfind("\n\nStep 1: " if kind == "utility" else "\n\nYour output MUST")
    items = _items(content, content.find(header) + len(header) - 1, end)
    return tuple(item.removeprefix(": ").split(": ", 1)[0] for item in items)


def _items(content: str, start: int, end: int) -> list[str]:
    """What follows the identifiers [0], [1], ... at line starts between two offsets."""
    at = content.find("[0]", start - 1, end)
    items: list[str] = []
    while at >= 0:
        begin = at + len(str(len(items))) + 2
        at = content.find(f"\n[{len(items) + 1}]", begin, end)
        text = content[begin : at if at >= 0 else end]
        items.append(text.removeprefix(" "))
        at += at >= 0
    return items


def _sources(content: str) -> tuple[str, ...]:
    """URLs of the documents in the prompt of the final answer."""
    urls: list[str] = []
    at = content.find("\nReference Documents:")
    while True:
        mark = f"\nDocument [{len(urls)}]\nSource URL: "
        at = content.find(mark, at)
        if at < 0:
            return tuple(urls)
        at += len(mark)
        urls.append(content[at : content.find("\n", at)])


def _lcr(kind: str, content: str) -> Asked:
    if kind == "yes-no-relevance":
        query = content.rfind("\n\nQuery: ")
        document = _section(content[:query], "\nPassage: ", None)
        return Asked(kind, 9, (document,), _section(content[query:], "\nQuery: ", "\nYour answer:"))
    if kind == "entailment":
        second = content.rfind("\nAnswer 2: ")
        first = content.rfind("\nAnswer 1: ", 0, second)
        answers = (content[first + 11 : second], _section(content[second:], "\nAnswer 2: ", "\nYour answer:"))
        return Asked(kind, 9, answers, _section(content[:first], "\nQuestion: ", None))
    if kind == "brief-answer":
        mark = content.rfind("\n\nQuestion: ")
        shown = "\nDocument: " in content[:mark]
        question = _section(content[mark:], "\nQuestion: ", "\nAnswer:")
        return Asked(kind, 9, (_section(content[:mark], "\nDocument: ", None),) if shown else (), question)
    if kind == "query":
        return Asked(kind, 9, (_section(content, "\nPassage: ", None),))
    if kind == "passage-rank":
        query = content.rfind("\n\nQuery: ")
        items = _items(content, content.find("\nPassages:\n") + 10, query)
        return Asked(kind, 9, tuple(items), _section(content[query:], "\nQuery: ", "\n"))
    return Asked("free", 9, (), content)


def _section(content: str, mark: str, end: str | None) -> str:
    """What stands between a mark and the next `end`, or the end of the text."""
    start = content.find(mark)
    if start < 0:
        return ""
    start += len(mark)
    stop = content.find(end, start) if end is not None else -1
    return content[start : stop if stop >= 0 else len(content)].strip()
