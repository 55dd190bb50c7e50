"""Cleaning of an answer before it is parsed, and the status of one in which nothing was found.

Everything here is linear in the length of the text: a regular expression is either possessive or can
only fail at once.
"""

from __future__ import annotations

import re

from authbench.runtime.messages import Parsed

_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_FENCED = re.compile(r"\s*+```[A-Za-z0-9_-]*+[ \t]*+\n(.*)```\s*+", re.DOTALL)

# Full-width ASCII, and the punctuation that Chinese, Japanese and typographic quotes bring along.
_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    ord(char): plain
    for plain, chars in {
        " ": "\u3000\u00a0",
        '"': "“”„‟「」『』〝〞",
        "'": "‘’‚‛",
        ",": "、﹐",
        ".": "。",
        ":": "﹕∶",
        "[": "【〔〖",
        "]": "】〕〗",
        ">": "〉》≻→➔➜",
    }.items()
    for char in chars
}

# Looked for near the start only: a model that declines says so at once.
_REFUSAL = re.compile(
    r"\bi(?: a|')?m (?:sorry|unable|not able|not comfortable)\b"
    r"|\bi (?:cannot|can't|can not|won't|will not|must decline|do not feel comfortable)\b"
    r"|\bas an ai\b|\b(?:cannot|can't|not able to|unable to) (?:assist|help|comply|provide|fulfill|rate)\b"
    r"|抱歉|对不起|我无法|我不能"
)
_REFUSAL_REACH = 400


def strip_thinking(text: str) -> str:
    """The text without thinking blocks.

    A closing tag alone ends a block that the chat template had opened, so everything before it goes; a
    block that is never closed goes to the end of the text.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    end, depth = 0, 0
    for tag in _THINK_TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                kept.append(text[end : tag.start()])
            depth += 1
        elif depth <= 1:
            if depth == 0:
                kept.clear()
            depth, end = 0, tag.end()
        else:
            depth -= 1
    if depth == 0:
        kept.append(text[end:])
    return "".join(kept)


def strip_fence(text: str) -> str:
    """The inside of a code fence that is the whole text, else the text; white space at the ends goes."""
    if "```" in text:
        fenced = _FENCED.fullmatch(text)
        if fenced is not None and "```" not in fenced[1]:
            return fenced[1].strip()
    return text.strip()


def plain(text: str) -> str:
    """The text with full-width characters, Chinese punctuation and curly quotes in plain ASCII."""
    return text if text.isascii() else text.translate(_PLAIN)


def is_refusal(text: str) -> bool:
    """True if the text begins by declining to answer."""
    start = plain(text[:_REFUSAL_REACH]).lower()
    return _REFUSAL.search(start) is not None


def no_answer(answer: str, truncated: bool) -> Parsed:
    """The status of an answer (thinking stripped) in which nothing of the wanted form was found.

    A refusal is one even when it was cut. Else, an answer that ran into `max_tokens` is `truncated`:
    with more room it might have come to the point. An answer without any text is `empty`.
    """
    if is_refusal(answer):
        return Parsed("refused")
    if truncated:
        return Parsed("truncated")
    return Parsed("wrong_format" if answer.strip() else "empty")
