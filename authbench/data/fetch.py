"""Where the files of a data set are found: data folder, mirror, cache, then the network.

Every file that is used is checked against the expected size and hash (the catalogue's, or those that the hub
lists) and comes with a `FileRecord` for the provenance of a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from authbench.data import hub
from authbench.data.catalog import Dataset, FileSpec, Hub
from authbench.data.digests import digest
from authbench.data.download import NotThere, Progress, Unreachable, download
from authbench.errors import DataError
from authbench.paths import cache_dir, share_dir

Where = Literal["data", "mirror", "cache", "shipped", "network", "own"]

_OFF = "off, HF_HUB_OFFLINE is set"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One data file as it was used.

    Attributes:
        path: its place in the catalogue, the same on every machine; of a user's own file, its name.
        sha256: hexadecimal digest.
        size: bytes.
        where: data folder, mirror, cache, shipped with authbench, fetched now, or a user's own.
        location: the file itself.
    """

    path: str
    sha256: str
    size: int
    where: Where
    location: Path

    def to_dict(self) -> dict[str, str | int]:
        """What a run records: path, sha256, size and where."""
        return {"path": self.path, "sha256": self.sha256, "size": self.size, "where": self.where}


@dataclass(frozen=True, slots=True)
class Places:
    """The folders that are looked through, in this order, and whether the network may be used.

    All are laid out alike. For a data set of the hub they are its repository, so that a snapshot of it is a
    data folder as it stands.
    """

    data: Path | None
    mirror: Path | None
    cache: Path
    online: bool = True

    @classmethod
    def from_environment(cls, data: Path | None = None) -> Places:
        """`data` or AUTHBENCH_DATA, AUTHBENCH_MIRROR, the user cache; HF_HUB_OFFLINE=1 bars the network."""
        online = os.environ.get("HF_HUB_OFFLINE", "").strip().lower() not in {"1", "true", "yes", "on"}
        return cls(data or _folder("AUTHBENCH_DATA"), _folder("AUTHBENCH_MIRROR"), cache_dir("data"), online)

    def folders(self) -> list[tuple[Where, Path]]:
        """The local folders with their names, in the order of the look-up."""
        named: list[tuple[Where, Path | None]] = [
            ("data", self.data),
            ("mirror", self.mirror),
            ("cache", self.cache),
        ]
        return [(where, folder) for where, folder in named if folder is not None]


def local(spec: FileSpec, places: Places) -> tuple[Where, Path] | None:
    """The first place on this machine that has the file, unchecked; None if there is none."""
    if spec.shipped:
        return "shipped", share_dir("data", spec.path)
    for where, folder in places.folders():
        if (folder / spec.path).is_file():
            return where, folder / spec.path
    return None


def fetch(
    dataset: Dataset, spec: FileSpec, places: Places | None = None, *, progress: Progress | None = None
) -> FileRecord:
    """The file, from the first place that has it, checked.

    Args:
        progress: told bytes so far and in all while the file is downloaded.

    Raises:
        NotThere: the hub has no such file.
        DataError: nowhere to be had (names the places looked at and the ways out), or size or hash are wrong
            (names the file, what was expected and what was found).
    """
    places = places or Places.from_environment()
    found = local(spec, places)
    if found:
        return check(dataset, expected(dataset, spec, places), *found)
    target = places.cache / spec.path
    try:
        if spec.url:
            _needs_network(places)
            download(spec.url, target, spec.sha256, progress=progress)
        elif dataset.hub:
            if spec.path not in _listing(dataset.hub, places):
                raise NotThere(f"{dataset.hub.id} has no such file")
            _needs_network(places)
            spec = expected(dataset, spec, places)
            url = hub.file_url(dataset.hub, spec.path)
            download(url, target, spec.sha256, headers=hub.headers(), progress=progress)
        else:
            raise Unreachable("no address to fetch it from")
    except (Unreachable, NotThere) as error:
        raise _missing(dataset, spec, places, str(error), type(error)) from error
    return replace(check(dataset, spec, "cache", target), where="network")


def expected(dataset: Dataset, spec: FileSpec, places: Places) -> FileSpec:
    """The spec with the size and hash that the hub lists, as far as this machine knows what it lists."""
    known = hub.known_listing(dataset.hub, places.cache) if dataset.hub and not spec.sha256 else None
    listed = (known or {}).get(spec.path)
    return replace(spec, size=listed.size, sha256=listed.sha256, etag=listed.etag) if listed else spec


def check(dataset: Dataset, spec: FileSpec, where: Where, path: Path, *, fresh: bool = False) -> FileRecord:
    """A file's record, if its size and hash are the expected ones, as far as they are known.

    Args:
        fresh: hash again even if the digest is remembered.

    Raises:
        DataError: it cannot be read, or it is not the expected file (it is left as it is).
    """
    try:
        value, size = digest(path, fresh=fresh)
    except OSError as error:
        raise DataError(f"{dataset.name}: {path} cannot be read ({error.strerror or error})") from error
    wrong = None
    if spec.size is not None and size != spec.size:
        kind = "truncated, " if size < spec.size else ""
        wrong = f"is {kind}{size} bytes instead of {spec.size}"
    elif spec.sha256 is not None and value != spec.sha256:
        wrong = f"has SHA-256 {value}, expected {spec.sha256}"
    elif spec.etag and spec.sha256 is None and hub.git_sha1(path) != spec.etag:
        wrong = f"is not the file that the hub lists (git's hash {spec.etag})"
    if wrong:
        raise DataError(
            f"{dataset.name}: {path} {wrong}; left as it is\n"
            f"Replace it, or move it away and run: authbench data pull {dataset.name}"
        )
    return FileRecord(spec.path, value, size, where, path)


def own_file(path: Path) -> FileRecord:
    """The record of a user's own file; `DataError` if it cannot be read."""
    try:
        value, size = digest(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}); see dataset.path") from error
    return FileRecord(path.name, value, size, "own", path)


def expand(dataset: Dataset, spec: FileSpec, places: Places | None = None) -> tuple[FileSpec, ...]:
    """The files behind a spec with a pattern: those on this machine, else those that the hub lists.

    A spec without a pattern is given back as it is.
    """
    if spec.pattern is None:
        return (spec,)
    places = places or Places.from_environment()
    for _, folder in places.folders():
        below = (folder / spec.path).parent.rglob("*")
        paths = (path.relative_to(folder).as_posix() for path in sorted(below) if path.is_file())
        if matching := _matching(spec, paths):
            return matching
    try:
        if dataset.hub is None:
            raise Unreachable("no address to fetch it from")
        matching = _matching(spec, _listing(dataset.hub, places))
    except (Unreachable, NotThere) as error:
        raise _missing(dataset, spec, places, str(error), type(error)) from error
    if not matching:
        raise _missing(dataset, spec, places, f"{dataset.hub.id} lists no file like {spec.pattern}")
    return matching


def _matching(spec: FileSpec, paths: Iterable[str]) -> tuple[FileSpec, ...]:
    return tuple(
        replace(spec, path=path, pattern=None)
        for path in paths
        if fnmatch(f"/{path.lower()}", spec.pattern or "") and not path.rpartition("/")[2].startswith(".")
    )


def _listing(repository: Hub, places: Places) -> hub.Listing:
    known = hub.known_listing(repository, places.cache)
    if known is None:
        _needs_network(places)
        known = hub.listing(repository, places.cache)
    return known


def _needs_network(places: Places) -> None:
    if not places.online:
        raise Unreachable(_OFF)


def _missing(
    dataset: Dataset, spec: FileSpec, places: Places, network: str, kind: type[DataError] = DataError
) -> DataError:
    looked = ", ".join(f"{where} {folder}" for where, folder in places.folders())
    first = f"{dataset.name}: {spec.path} not found (looked in {looked}; network: {network})"
    mirror = f"set AUTHBENCH_MIRROR to a folder that has {spec.path}"
    if not (spec.url or dataset.hub):
        return kind(f"{first}\nTo have it, {mirror}: {dataset.by_hand or f'see {dataset.source}'}")
    instead = f", or use the stand-in {dataset.stand_in}" if dataset.stand_in else ""
    pull = f"Run `authbench data pull {dataset.name}` where there is a network"
    return kind(f"{first}\n{pull}, or {mirror}{instead}")


def _folder(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None
