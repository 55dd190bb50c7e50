"""`authbench data`: the data sets, their files, what is in them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from authbench.cli.common import count_option
from authbench.errors import ConfigError, DataError

if TYPE_CHECKING:
    from authbench.data.authority import AuthorityData
    from authbench.data.catalog import Dataset, FileSpec
    from authbench.data.fetch import Places
    from authbench.data.status import Watch

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_data = click.option(
    "--data",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Look here first (else AUTHBENCH_DATA, AUTHBENCH_MIRROR, the cache, the network).",
)
_scale = click.option("--scale", default="fine", show_default=True, help="fine (0 to 9) or coarse (0 to 4).")
_seed = click.option("--seed", default=0, show_default=True, help="Seed of samples, lists and pairs.")
_path = click.option(
    "--path", "own", type=click.Path(path_type=Path), help="Read this file (CSV, TSV, JSON, JSONL) instead."
)
_columns = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=COLUMN",
    help="Which column plays which role, e.g. level=score.",
)


@click.group("data")
def command() -> None:
    """List, fetch, check, describe and build data sets.

    Example: authbench data stats sample-domains
    """


@command.command("list")
@_data
@_json
def list_(folder: Path | None, as_json: bool) -> None:
    """Show every data set and which of its files are on this machine.

    Example: authbench data list
    """
    from authbench.data.catalog import catalog

    places = _places(folder)
    rows = [_listed(entry, places) for entry in catalog().values()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    click.echo(f"{'name':<24} {'kind':<10} {'here':>5} {'size':>8}  licence")
    for row in rows:
        here = f"{row['here']}/{row['files']}"
        click.echo(
            f"{row['name']:<24} {row['kind']:<10} {here:>5} {_size(row['size']):>8}  {row['licence'][:28]}"
        )


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--to", type=click.Path(path_type=Path, file_okay=False), help="Make this folder a mirror of the sets."
)
@_data
@_json
def pull(names: Sequence[str], to: Path | None, folder: Path | None, as_json: bool) -> None:
    """Fetch the files of data sets, with resume and check.

    Files go to the cache, or with --to into a folder that AUTHBENCH_MIRROR can name on another machine.

    Example: authbench data pull entityauth --to mirror
    """
    from authbench.data.catalog import dataset
    from authbench.data.status import pull as pull_files

    entries = [dataset(name) for name in names]
    rows: list[dict[str, Any]] = []
    failures: list[DataError] = []
    for entry in entries:
        with _progress() as watch:
            records, failed = pull_files(entry, _places(folder), to=to, watch=watch)
        failures += failed
        for record in records:
            rows.append({"dataset": entry.name, **record.to_dict(), "location": str(record.location)})
            if not as_json:
                click.echo(f"{entry.name}: {record.location} ({_size(record.size)}, from {record.where})")
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    if failures:
        if len(failures) == 1:
            raise failures[0]
        raise DataError(f"{len(failures)} files could not be had, the first of them: {failures[0]}")


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@_data
@_json
def check(names: Sequence[str], folder: Path | None, as_json: bool) -> None:
    """Hash the files on this machine and hold them against the catalogue.

    Without names all sets are checked, and files that are missing are no failure.

    Example: authbench data check entityauth scifact
    """
    from authbench.data.catalog import catalog, dataset
    from authbench.data.status import check_dataset

    entries = [dataset(name) for name in names] or list(catalog().values())
    places = _places(folder)
    rows = [status for entry in entries for status in check_dataset(entry, places)]
    if as_json:
        click.echo(json.dumps([row.to_dict() for row in rows], indent=2))
    else:
        for row in rows:
            click.echo(f"{row.status:<10} {_size(row.size):>8}  {row.dataset}: {row.path}")
            if row.status == "wrong":
                click.echo(f"           {row.detail}")
    counts = Counter(row.status for row in rows)
    if not as_json:
        click.echo(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    failed = counts["wrong"] + (counts["missing"] if names else 0)
    if failed:
        raise DataError(f"{failed} of {len(rows)} files are wrong or missing; see `authbench data pull`")


@command.command()
@click.argument("name")
@_scale
@_seed
@_path
@_columns
@_data
@_json
def stats(
    name: str,
    scale: str,
    seed: int,
    own: Path | None,
    columns: Sequence[str],
    folder: Path | None,
    as_json: bool,
) -> None:
    """Show how levels, or a question set's answers, are distributed.

    Of levels, this is figure 3 of AuthorityBench.

    Example: authbench data stats entityauth --scale coarse
    """
    from authbench.data.catalog import catalog

    known = catalog().get(name)
    if known and known.kind == "questions":
        report = _question_stats(name, own, columns, folder)
    elif known and known.kind == "retrieval":
        raise ConfigError(f"'{name}' is a retrieval collection: it has no levels; see authbench data check")
    else:
        report = _level_stats(_load(name, scale, seed, own, columns, folder))
    if as_json:
        click.echo(json.dumps(report, indent=2))
    elif "levels" in report:
        _print_levels(report)
    else:
        for key, value in ((key, value) for key, value in report.items() if value):
            shown = ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else value
            click.echo(f"{key.replace('_', ' ')}: {shown}")


@command.command()
@click.argument("name")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="[default: NAME-SCALE]"
)
@count_option("--lists", 500, "Lists per domain, 0 for none.")
@count_option("--pairs", 0, "Pairs per domain and difficulty, 0 for none.")
@_scale
@_seed
@_path
@_columns
@_data
@_json
def build(
    name: str,
    output: Path | None,
    lists: int,
    pairs: int,
    scale: str,
    seed: int,
    own: Path | None,
    columns: Sequence[str],
    folder: Path | None,
    as_json: bool,
) -> None:
    """Write levels, lists and pairs as JSONL files.

    A manifest beside them has the seed and the hashes.

    Example: authbench data build entityauth --lists 500 -o built
    """
    from authbench.data.build import build as build_files

    target = output or Path(f"{name}-{scale}")
    loaded = _load(name, scale, seed, own, columns, folder)
    manifest = build_files(loaded, target, seed=seed, lists=lists, pairs=pairs)
    if as_json:
        click.echo(json.dumps(manifest, indent=2))
        return
    for file, sha256 in manifest["written"].items():
        click.echo(f"{target / file}  sha256 {sha256}")
    click.echo(f"{target / 'manifest.json'}: seed {seed}, {scale}, what was read and dropped")


def _load(
    name: str, scale: str, seed: int, own: Path | None, columns: Sequence[str], folder: Path | None
) -> AuthorityData:
    from authbench.data.authority import load_authority

    mapping = _mapping(columns)
    return load_authority(name, scale, seed=seed, columns=mapping, path=own, places=_places(folder))


def _places(folder: Path | None) -> Places:
    from authbench.data.fetch import Places

    return Places.from_environment(folder)


def _mapping(columns: Sequence[str]) -> dict[str, str]:
    mapping = {}
    for pair in columns:
        role, equals, column = pair.partition("=")
        if not (role and equals and column):
            raise ConfigError(f"--column {pair}: ROLE=COLUMN is needed, e.g. level=score")
        mapping[role] = column
    return mapping


def _listed(entry: Dataset, places: Places) -> dict[str, Any]:
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


def _level_stats(loaded: AuthorityData) -> dict[str, Any]:
    return {
        "dataset": loaded.name,
        "scale": loaded.scale.name,
        "levels": {domain: list(loaded.counts(domain)) for domain in loaded.domains},
        "official_lists": {domain: len(lists) for domain, lists in loaded.lists.items()},
        "official_pairs": {difficulty: len(pairs) for difficulty, pairs in loaded.pairs.items()},
        "dropped": dict(loaded.dropped),
        "files": [record.to_dict() for record in loaded.files],
    }


def _question_stats(
    name: str, own: Path | None, columns: Sequence[str], folder: Path | None
) -> dict[str, Any]:
    from authbench.data.questions import load_questions

    loaded = load_questions(name, path=own, columns=_mapping(columns), places=_places(folder))
    documents = [document for question in loaded.questions for document in question.documents]
    return {
        "dataset": name,
        "questions": len(loaded.questions),
        "answers": dict(Counter(question.answer for question in loaded.questions)),
        "documents": len(documents),
        "document_labels": dict(Counter(str(document.label) for document in documents).most_common(10)),
        "dropped": dict(loaded.dropped),
    }


def _print_levels(report: dict[str, Any]) -> None:
    width = 48
    for domain, counts in report["levels"].items():
        total = sum(counts)
        click.echo(f"{report['dataset']} / {domain}, {report['scale']}: {total} sources")
        for level, count in enumerate(counts):
            share = count / total if total else 0.0
            bar = "#" * max(round(width * count / max(counts)), count > 0) if total else ""
            click.echo(f"{level:>3} {count:>7} {share:>6.1%} {bar}")
    for what in ("official_lists", "official_pairs", "dropped"):
        if report[what]:
            click.echo(f"{what.replace('_', ' ')}: " + ", ".join(f"{v} {k}" for k, v in report[what].items()))


def _size(size: int | None) -> str:
    if size is None:
        return "?"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


@contextmanager
def _progress() -> Iterator[Watch | None]:
    """A progress bar a file on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    look = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*look, console=Console(stderr=True), transient=True) as bars:

        def watch(spec: FileSpec) -> Any:
            task = bars.add_task(spec.name, total=spec.size, visible=False)

            def progress(done: int, total: int | None) -> None:
                bars.update(task, completed=done, total=total, visible=True)

            return progress

        yield watch
