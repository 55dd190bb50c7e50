"""What is taken out of recorded text because it differs from machine to machine: versions, paths, times."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import authbench

_REPOSITORY = Path(authbench.__file__).resolve().parent.parent
#: Keys of JSON whose values are facts about the machine, the moment or the version of the code.
_KEYS = frozenset(
    {
        "authbench", "versions", "git", "machine", "started", "ended", "seconds",
        "seconds_by_group", "fresh_since", "bytes", "commit", "dirty", "run_id", "eval_id",
    }
)  # fmt: skip
#: Larger numbers are seconds since 1970.
_YEAR_2020 = 1_577_836_800
_PATTERNS = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?(\+\d\d:\d\d| UTC|Z)?"), "<when>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d-]+"), "<when>"),
    (re.compile(r"[\d,.]+ tok/s"), "<rate> tok/s"),
    (re.compile(r"(?<=items, )[\d,.]+ MB$", re.MULTILINE), "<size> MB"),
    (re.compile(r"^[\d,.]+ MB$", re.MULTILINE), "<size> MB"),
    (re.compile(r"(?<=, )(\d+h)?(\d+m)?\d+[sm](?=\n|$| left)"), "<time>"),
    (re.compile(r"(?<=seconds: )[\d.e-]+"), "<seconds>"),
    (re.compile(r"^((?:- )?)(versions|commit|machine)(\n| \| |: ).+$", re.MULTILINE), r"\1\2\3<\2>"),
)


def text(said: str, folder: Path) -> str:
    """A text with paths, times, rates, sizes and commits replaced by their names."""
    for path, name in ((folder, "<work>"), (folder.resolve(), "<work>"), (_REPOSITORY, "<repository>")):
        said = said.replace(str(path), name)
    said = said.replace(f"authbench {authbench.__version__}", "authbench <version>")
    for pattern, name in _PATTERNS:
        said = pattern.sub(name, said)
    return said


def document(said: str, folder: Path) -> str:
    """As `text`; JSON that holds facts about the machine is written anew without them."""
    if said.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(said)
        except ValueError:
            return text(said, folder)
        plain = _without(value)
        if plain != value:
            said = json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    return text(said, folder)


def _without(value: Any) -> Any:
    if isinstance(value, float) and value > _YEAR_2020:
        return "<when>"
    if isinstance(value, dict):
        return {
            key: f"<{key}>" if key in _KEYS and old is not None else _without(old)
            for key, old in value.items()
        }
    return [_without(one) for one in value] if isinstance(value, list) else value
