"""The template files: read once, bound to a scale and a noun, turned into C-speed format strings.

A file is a YAML head (`origin`, and for prompts with a list of things `item`), a line `---`, and the
text. `{{name}}` is a slot. Slots that are the same for all prompts of a set (`{{high}}`, `{{noun}}`) are
filled when the set is made; the others become `%(name)s`, so that filling in data is one `%` operation
that never looks at the data: braces and percent signs in a web page are harmless.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent / "templates"
_SLOT = re.compile(r"\{\{([A-Za-z_]+)\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    """One template file.

    Attributes:
        name: path below the templates folder without its ending: `domain/point.without`.
        origin: where the words come from, and what was changed.
        text: the prompt with its slots.
        item: how one member of a list is shown; None for prompts without a list.
    """

    name: str
    origin: str
    text: str
    item: str | None = None


@lru_cache(maxsize=1)
def templates() -> dict[str, Template]:
    """All templates by name. Raises `ValueError` for a file that is not one: a fault of the package."""
    import yaml

    found: dict[str, Template] = {}
    for path in sorted(_FOLDER.rglob("*.txt")):
        name = path.relative_to(_FOLDER).with_suffix("").as_posix()
        head, mark, text = path.read_text(encoding="utf-8").partition("\n---\n")
        facts = yaml.safe_load(head)
        if not mark or not isinstance(facts, dict) or not {"origin"} <= set(facts) <= {"origin", "item"}:
            raise ValueError(f"template {name}: no head with 'origin' (and 'item') before a line '---'")
        found[name] = Template(name, facts["origin"], text.removesuffix("\n"), facts.get("item"))
    return found


@lru_cache(maxsize=1)
def prompt_set_hash() -> str:
    """SHA-256 (hex) over the names and contents of all template files, line ends as `\\n`."""
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.rglob("*.txt"), key=lambda p: p.relative_to(_FOLDER).as_posix()):
        content = path.read_text(encoding="utf-8").encode()
        digest.update(f"{path.relative_to(_FOLDER).as_posix()}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def bind(text: str, values: Mapping[str, str]) -> str:
    """Fill the slots named in `values`; the other slots become `%(name)s`.

    The values are not searched for slots. The result is for the `%` operator with a mapping.
    """

    def fill(slot: re.Match[str]) -> str:
        value = values.get(slot[1])
        return f"%({slot[1]})s" if value is None else value.replace("%", "%%")

    pieces: list[str] = []
    end = 0
    for slot in _SLOT.finditer(text):
        pieces += [text[end : slot.start()].replace("%", "%%"), fill(slot)]
        end = slot.end()
    return "".join([*pieces, text[end:].replace("%", "%%")])


def plural(noun: str) -> str:
    """The regular English plural: `entities`, `movies`, `matches`."""
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(?:s|x|z|ch|sh)$", noun) else "s")


def noun_slots(noun: str) -> dict[str, str]:
    """The slots that a noun fills: `noun`, `nouns`, `Noun`, `NOUN`, `NOUNS`."""
    many = plural(noun)
    return {
        "noun": noun,
        "nouns": many,
        "Noun": noun[:1].upper() + noun[1:],
        "NOUN": noun.upper(),
        "NOUNS": many.upper(),
    }
