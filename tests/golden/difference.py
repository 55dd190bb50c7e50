"""Two recordings held against each other, as unified diffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff

#: Lines shown of each file, and characters of each line.
_LINES, _WIDTH = 60, 240


def differences(wanted: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """One text for each file that differs, is gone or is new."""
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            yield f"{name}: no longer made\n"
        elif name not in wanted:
            yield f"{name}: new, not recorded\n"
        elif wanted[name] != found[name]:
            yield _difference(name, wanted[name], found[name])


def _difference(name: str, wanted: str, found: str) -> str:
    lines = list(
        unified_diff(
            wanted.splitlines(), found.splitlines(), f"recorded/{name}", f"now/{name}", "", "", 2, ""
        )
    )
    shown = [line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ..." for line in lines[:_LINES]]
    if len(lines) > _LINES:
        shown.append(f"... and {len(lines) - _LINES:,} more lines")
    return "\n".join(shown) + "\n"
