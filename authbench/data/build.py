"""Writing a built data set to disk: the levelled corpus, its lists and pairs, and a manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from authbench import __version__
from authbench.data.authority import AuthorityData
from authbench.data.digests import sha256_of, write_atomically
from authbench.data.items import lists_of, pairs_of
from authbench.data.levels import FINE, Scale
from authbench.data.records import Source
from authbench.errors import ConfigError, DataError

MANIFEST = "manifest.json"


def build(data: AuthorityData, folder: Path, *, seed: int, lists: int, pairs: int) -> dict[str, Any]:
    """Write `corpus.jsonl`, `lists.jsonl` and `pairs.jsonl` into `folder`, and the manifest, which it gives.

    The same data, seed and numbers give the same bytes. The manifest names the data set, scale, seed, what
    was read and written with SHA-256, sources per level, and what was dropped.

    Args:
        lists: per domain, 0 for none. pairs: per domain and difficulty, 0 for none.

    Raises:
        ConfigError: the folder holds something else. DataError: it cannot be written, or too few sources.
    """
    made = {"corpus.jsonl": _jsonl(_corpus(data))}  # all of it before anything is written
    if lists:
        made["lists.jsonl"] = _jsonl(_lists(data, lists, seed))
    if pairs:
        made["pairs.jsonl"] = _jsonl(_pairs(data, pairs, seed))
    if folder.is_dir() and not (folder / MANIFEST).is_file() and any(folder.iterdir()):
        raise ConfigError(f"{folder}: holds something else; give an empty folder or a new one with -o")
    try:
        for name, text in made.items():
            write_atomically(folder / name, text)
        manifest = {
            "dataset": data.name,
            "scale": data.scale.name,
            "seed": seed,
            "lists": lists,
            "pairs": pairs,
            "authbench": __version__,
            "read": [record.to_dict() for record in data.files],
            "written": {name: sha256_of(folder / name) for name in made},
            "sources_per_level": {domain: list(data.counts(domain)) for domain in data.domains},
            "dropped": dict(data.dropped),
        }
        write_atomically(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return manifest


def _source_row(source: Source, scale: Scale) -> dict[str, Any]:
    """A source as it is written: name, level (or coarse_level), value, and text where it has one."""
    level = "level" if scale is FINE else "coarse_level"
    row: dict[str, Any] = {"name": source.name, level: source.level, "value": source.value}
    return row if source.text is None else {**row, "text": source.text}


def _corpus(data: AuthorityData) -> Iterable[dict[str, Any]]:
    for domain, sources in data.domains.items():
        for source in sources:
            yield {"domain": domain, **_source_row(source, data.scale)}


def _lists(data: AuthorityData, count: int, seed: int) -> Iterable[dict[str, Any]]:
    for domain in data.domains:
        for item in lists_of(data, domain, count, seed):
            rows = [_source_row(source, data.scale) for source in item.sources]
            yield {"id": item.id, "domain": domain, "items": rows}


def _pairs(data: AuthorityData, count: int, seed: int) -> Iterable[dict[str, Any]]:
    for domain in data.domains:
        for difficulty in ("easy", "hard"):
            for pair in pairs_of(data, domain, count, seed, difficulty):
                yield {
                    "id": pair.id,
                    "domain": domain,
                    "difficulty": difficulty,
                    "first": _source_row(pair.first, data.scale),
                    "second": _source_row(pair.second, data.scale),
                }


def _jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
