"""The data sets, their files, and what is in them: data list, pull, check, stats, build."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from authbench.cli.common import Json, print_json
from authbench.cli.datatext import level_stats, listed, print_levels, question_stats, size_text
from authbench.errors import ConfigError, DataError

if TYPE_CHECKING:
    from authbench.data.authority import AuthorityData
    from authbench.data.catalog import FileSpec
    from authbench.data.fetch import Places
    from authbench.data.status import Watch

app = typer.Typer(no_args_is_help=True)


def _complete_dataset(incomplete: str) -> list[str]:
    from authbench.data.catalog import catalog

    return list(catalog())


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", autocompletion=_complete_dataset, help="A data set (authbench data list)."
    ),
]
NAMES = typer.Argument(
    metavar="NAME", autocompletion=_complete_dataset, help="Data sets (authbench data list)."
)
Folder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        file_okay=False,
        help="Look here first (else AUTHBENCH_DATA, AUTHBENCH_MIRROR, the cache, the network).",
    ),
]
ScaleName = Annotated[str, typer.Option("--scale", metavar="NAME", help="fine (0 to 9) or coarse (0 to 4).")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of samples, lists and pairs.")]
Own = Annotated[
    Path | None,
    typer.Option("--path", metavar="FILE", help="Read this file (CSV, TSV, JSON, JSONL) instead."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="ROLE=COLUMN", help="Which column plays which role, e.g. level=score."),
]


@app.callback()
def data() -> None:
    """List, fetch, check, describe and build data sets."""


@app.command("list")
def list_(folder: Folder = None, as_json: Json = False) -> None:
    """Show every data set and which of its files are on this machine.

    Example: authbench data list
    """
    from authbench.data.catalog import catalog

    places = _places(folder)
    rows = [listed(entry, places) for entry in catalog().values()]
    if as_json:
        print_json(rows, indent=2)
        return
    typer.echo(f"{'name':<24} {'kind':<10} {'here':>5} {'size':>8}  licence")
    for row in rows:
        here, size = f"{row['here']}/{row['files']}", size_text(row["size"])
        typer.echo(f"{row['name']:<24} {row['kind']:<10} {here:>5} {size:>8}  {row['licence'][:28]}")


@app.command()
def pull(
    names: Annotated[list[str], NAMES],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", file_okay=False, help="Make this folder a mirror of the sets."),
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Fetch the files of data sets, with resume and check.

    Files go to the cache, or with --to into a folder that AUTHBENCH_MIRROR can
    name on another machine.

    Example:
      authbench data pull entityauth --to mirror
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
                typer.echo(f"{entry.name}: {record.location} ({size_text(record.size)}, from {record.where})")
    if as_json:
        print_json(rows, indent=2)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise DataError(f"{len(failures)} files could not be had, the first of them: {failures[0]}")


@app.command()
def check(
    names: Annotated[list[str] | None, NAMES] = None, folder: Folder = None, as_json: Json = False
) -> None:
    """Hash the files on this machine and hold them against the catalogue.

    Without names all sets are checked, and files that are missing are no
    failure.

    Example:
      authbench data check entityauth scifact
    """
    from authbench.data.catalog import catalog, dataset
    from authbench.data.status import check_dataset

    entries = [dataset(name) for name in names or catalog()]
    places = _places(folder)
    rows = [status for entry in entries for status in check_dataset(entry, places)]
    counts = Counter(row.status for row in rows)
    if as_json:
        print_json([row.to_dict() for row in rows], indent=2)
    else:
        for row in rows:
            typer.echo(f"{row.status:<10} {size_text(row.size):>8}  {row.dataset}: {row.path}")
            if row.status == "wrong":
                typer.echo(f"           {row.detail}")
        typer.echo(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    failed = counts["wrong"] + (counts["missing"] if names else 0)
    if failed:
        raise DataError(f"{failed} of {len(rows)} files are wrong or missing; see `authbench data pull`")


@app.command()
def stats(
    name: Name,
    scale: ScaleName = "fine",
    seed: Seed = 0,
    own: Own = None,
    columns: Columns = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Show how levels, or a question set's answers, are distributed.

    Of levels, this is figure 3 of AuthorityBench.

    Example:
      authbench data stats entityauth --scale coarse
    """
    from authbench.data.catalog import catalog

    known = catalog().get(name)
    if known and known.kind == "questions":
        from authbench.data.questions import load_questions

        mapping = _mapping(columns or ())
        report = question_stats(name, load_questions(name, path=own, columns=mapping, places=_places(folder)))
    elif known and known.kind == "retrieval":
        raise ConfigError(f"'{name}' is a retrieval collection: it has no levels; see authbench data check")
    else:
        report = level_stats(_load(name, scale, seed, own, columns, folder))
    if as_json:
        print_json(report, indent=2)
    elif "levels" in report:
        print_levels(report)
    else:
        for key, value in ((key, value) for key, value in report.items() if value):
            shown = ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else value
            typer.echo(f"{key.replace('_', ' ')}: {shown}")


@app.command()
def build(
    name: Name,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            file_okay=False,
            show_default="NAME-SCALE",
            help="Folder to write.",
        ),
    ] = None,
    lists: Annotated[
        int, typer.Option("--lists", min=0, metavar="N", help="Lists per domain, 0 for none.")
    ] = 500,
    pairs: Annotated[
        int, typer.Option("--pairs", min=0, metavar="N", help="Pairs per domain and difficulty, 0 for none.")
    ] = 0,
    scale: ScaleName = "fine",
    seed: Seed = 0,
    own: Own = None,
    columns: Columns = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Write levels, lists and pairs as JSONL files.

    A manifest beside them has the seed and the hashes.

    Example:
      authbench data build entityauth --lists 500 -o built
    """
    from authbench.data.build import build as build_files

    target = output or Path(f"{name}-{scale}")
    loaded = _load(name, scale, seed, own, columns, folder)
    manifest = build_files(loaded, target, seed=seed, lists=lists, pairs=pairs)
    if as_json:
        print_json(manifest, indent=2)
        return
    for file, sha256 in manifest["written"].items():
        typer.echo(f"{target / file}  sha256 {sha256}")
    typer.echo(f"{target / 'manifest.json'}: seed {seed}, {scale}, what was read and dropped")


def _load(
    name: str, scale: str, seed: int, own: Path | None, columns: Sequence[str] | None, folder: Path | None
) -> "AuthorityData":
    from authbench.data.authority import load_authority

    mapping = _mapping(columns or ())
    return load_authority(name, scale, seed=seed, columns=mapping, path=own, places=_places(folder))


def _places(folder: Path | None) -> "Places":
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


@contextmanager
def _progress() -> "Iterator[Watch | None]":
    """A progress bar a file on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    look = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*look, console=Console(stderr=True), transient=True) as bars:

        def watch(spec: "FileSpec") -> Any:
            task = bars.add_task(spec.name, total=spec.size, visible=False)

            def progress(done: int, total: int | None) -> None:
                bars.update(task, completed=done, total=total, visible=True)

            return progress

        yield watch
