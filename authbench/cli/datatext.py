"""What `authbench data` prints: rows of the list, distributions, sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from authbench.data.authority import AuthorityData
    from authbench.data.catalog import Dataset
    from authbench.data.fetch import Places
    from authbench.data.questions import QuestionData


def listed(entry: Dataset, places: Places) -> dict[str, Any]:
    """A data set's row of `data list`: what it is, and how many of its files are on this machine."""
    from authbench.data.fetch import local
    from authbench.data.status import local_files

    specs = local_files(entry, places)
    sizes = [spec.size for spec in specs]
    return {
        "name": entry.name,
        "title": entry.title,
        "kind": entry.kind,
        "files": len(specs),
        "here": sum(local(spec, places) is not None for spec in specs),
        "size": None if None in sizes else sum(size for size in sizes if size),
        "has_text": entry.has_text,
        "licence": entry.licence,
        "source": entry.source,
        "citation": entry.citation,
        "note": entry.note,
    }


def level_stats(loaded: AuthorityData) -> dict[str, Any]:
    """How many sources each level has, by domain, and what was read and dropped."""
    return {
        "dataset": loaded.name,
        "scale": loaded.scale.name,
        "levels": {domain: list(loaded.counts(domain)) for domain in loaded.domains},
        "official_lists": {domain: len(lists) for domain, lists in loaded.lists.items()},
        "official_pairs": {difficulty: len(pairs) for difficulty, pairs in loaded.pairs.items()},
        "dropped": dict(loaded.dropped),
        "files": [record.to_dict() for record in loaded.files],
    }


def question_stats(name: str, loaded: QuestionData) -> dict[str, Any]:
    """How the answers of a question set and the labels of its documents are distributed."""
    documents = [document for question in loaded.questions for document in question.documents]
    return {
        "dataset": name,
        "questions": len(loaded.questions),
        "answers": dict(Counter(question.answer for question in loaded.questions)),
        "documents": len(documents),
        "document_labels": dict(Counter(str(document.label) for document in documents).most_common(10)),
        "dropped": dict(loaded.dropped),
    }


def print_levels(report: Mapping[str, Any]) -> None:
    """Print what `level_stats` gives, a bar a level."""
    width = 48
    for domain, counts in report["levels"].items():
        total = sum(counts)
        typer.echo(f"{report['dataset']} / {domain}, {report['scale']}: {total} sources")
        for level, count in enumerate(counts):
            share = count / total if total else 0.0
            bar = "#" * max(round(width * count / max(counts)), count > 0) if total else ""
            typer.echo(f"{level:>3} {count:>7} {share:>6.1%} {bar}")
    for what in ("official_lists", "official_pairs", "dropped"):
        if report[what]:
            typer.echo(f"{what.replace('_', ' ')}: " + ", ".join(f"{v} {k}" for k, v in report[what].items()))


def size_text(size: int | None) -> str:
    """Bytes for a person, such as `1.2 MB`."""
    if size is None:
        return "?"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
