"""Where the files of a data set are found: data folder, mirror, cache, then the network.

Every file that is used is checked against the catalogue's size and SHA-256 and comes with a `FileRecord` for
the provenance of a run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

from authbench.data import hub
from authbench.data.catalog import Dataset, FileSpec
from authbench.data.digests import digest, write_atomically
from authbench.data.download import NotThere, Progress, Unreachable, download
from authbench.errors import DataError
from authbench.paths import cache_dir, share_dir

Where = Literal["data", "mirror", "cache", "shipped", "network", "own"]


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
    """The folders that are looked through, in this order, and whether the network may be used."""

    data: Path | None
    mirror: Path | None
    cache: Path
    online: bool = True

    @classmethod
    def from_environment(cls, data: Path | None = None) -> Places:
        """`data` or AUTHBENCH_DATA, AUTHBENCH_MIRROR, the user cache; HF_HUB_OFFLINE=1 bars the network."""
        given = data or _folder("AUTHBENCH_DATA")
        online = os.environ.get("HF_HUB_OFFLINE", "").strip().lower() not in {"1", "true", "yes", "on"}
        return cls(given, _folder("AUTHBENCH_MIRROR"), cache_dir("data"), online)

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
    dataset: Dataset,
    spec: FileSpec,
    places: Places | None = None,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> FileRecord:
    """The file, from the first place that has it, checked.

    Args:
        fresh: hash again even if the digest is remembered.
        progress: told bytes so far and in all while the file is downloaded.

    Raises:
        DataError: nowhere to be had (names the places looked at and the ways out), or size or hash are wrong
            (names the file, what was expected and what was found).
    """
    places = places or Places.from_environment()
    found = local(spec, places)
    if found:
        return check(dataset, spec, *found, fresh=fresh)
    return fetch_into(dataset, spec, places.cache, places, progress=progress)


def fetch_into(
    dataset: Dataset, spec: FileSpec, folder: Path, places: Places, *, progress: Progress | None = None
) -> FileRecord:
    """Download the file into `folder`, whatever other places have it; errors as `fetch`."""
    url = source_url(dataset, spec)
    if url is None:
        raise _missing(dataset, spec, places, "no address to fetch it from")
    if not places.online:
        raise _missing(dataset, spec, places, "off, HF_HUB_OFFLINE is set")
    target = folder / spec.path
    try:
        value = download(
            url,
            target,
            size=spec.size,
            sha256=spec.sha256,
            headers={} if spec.url else hub.authorization(),
            progress=progress,
        )
    except (Unreachable, NotThere) as error:
        if isinstance(error, NotThere) and dataset.hub:
            write_atomically(_absent(target), url)
        raise _missing(dataset, spec, places, str(error), type(error)) from error
    if dataset.hub:  # the catalogue has no hashes of hub files: what came now is what is expected from now on
        note = {"sha256": value, "size": target.stat().st_size, "url": url}
        write_atomically(_sidecar(target), json.dumps(note, indent=1))
    return FileRecord(spec.path, value, target.stat().st_size, "network", target)


def known_absent(dataset: Dataset, spec: FileSpec, places: Places) -> bool:
    """True if the hub answered before that it has no such file at this revision."""
    try:
        return _absent(places.cache / spec.path).read_text(encoding="utf-8") == source_url(dataset, spec)
    except OSError:
        return False


def check(dataset: Dataset, spec: FileSpec, where: Where, path: Path, *, fresh: bool = False) -> FileRecord:
    """A file's record, if its size and SHA-256 are the expected ones; else `DataError`.

    Where the catalogue has no hash, the one recorded beside the file at its download is expected.
    """
    expected_size, expected = spec.size, spec.sha256
    if expected is None:
        expected_size, expected = _recorded(dataset, spec, path)
    try:
        value, size = digest(path, fresh=fresh)
    except OSError as error:
        raise DataError(f"{dataset.name}: {path} cannot be read ({error.strerror or error})") from error
    way_out = "Replace it, or move it away and run: authbench data pull " + dataset.name
    if expected_size is not None and size != expected_size:
        kind = "truncated, " if size < expected_size else ""
        raise DataError(
            f"{dataset.name}: {path} is {kind}{size} bytes instead of {expected_size}; left as it is\n"
            + way_out
        )
    if expected is not None and value != expected:
        raise DataError(
            f"{dataset.name}: {path} has SHA-256 {value}, expected {expected}; left as it is\n{way_out}"
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
        names = [
            path.relative_to(folder).as_posix()
            for path in sorted((folder / (spec.hub or spec.path)).rglob("*"))
            if path.is_file() and not path.name.startswith(".") and not path.name.endswith(".sha256.json")
        ]
        matching = tuple(_concrete(spec, name, {}) for name in names if _matches(name, spec.pattern))
        if matching:
            return matching
    if not places.online or dataset.hub is None:
        raise _missing(dataset, spec, places, "off, HF_HUB_OFFLINE is set")
    try:
        entries = hub.listing(dataset.hub, spec.hub or spec.path)
    except (Unreachable, NotThere) as error:
        raise _missing(dataset, spec, places, str(error), type(error)) from error
    matching = tuple(
        _concrete(spec, entry["path"], entry)
        for entry in entries
        if entry.get("type") == "file" and _matches(entry["path"], spec.pattern)
    )
    if not matching:
        raise _missing(dataset, spec, places, f"{dataset.hub.id} lists no file like {spec.pattern}")
    return matching


def source_url(dataset: Dataset, spec: FileSpec) -> str | None:
    """The address of a file: its URL, or its place on the hub (HF_ENDPOINT, at the pinned revision)."""
    if spec.url:
        return spec.url
    if dataset.hub and spec.hub:
        return hub.file_url(dataset.hub, spec.hub)
    return None


def _concrete(spec: FileSpec, path: str, entry: Mapping[str, Any]) -> FileSpec:
    if path.startswith("/") or ".." in path.split("/"):
        raise DataError(f"the hub lists a file outside its repository: {path}")
    large = entry.get("lfs") or {}
    return FileSpec(
        path=path, role=spec.role, hub=path, size=entry.get("size"), sha256=large.get("oid"), text=spec.text
    )


def _matches(path: str, pattern: str) -> bool:
    return fnmatch(f"/{path.lower()}", pattern)


def _missing(
    dataset: Dataset, spec: FileSpec, places: Places, network: str, kind: type[DataError] = DataError
) -> DataError:
    looked = ", ".join(f"{where} {folder}" for where, folder in places.folders())
    first = f"{dataset.name}: {spec.path} not found (looked in {looked}; network: {network})"
    mirror = f"set AUTHBENCH_MIRROR to a folder that has {spec.path}"
    if source_url(dataset, spec) is None and spec.pattern is None:
        return kind(f"{first}\nTo have it, {mirror}: {dataset.by_hand or f'see {dataset.source}'}")
    instead = f", or use the stand-in {dataset.stand_in}" if dataset.stand_in else ""
    pull = f"Run `authbench data pull {dataset.name}` where there is a network"
    return kind(f"{first}\n{pull}, or {mirror}{instead}")


def _recorded(dataset: Dataset, spec: FileSpec, path: Path) -> tuple[int | None, str | None]:
    sidecar = _sidecar(path)
    try:
        note = json.loads(sidecar.read_text(encoding="utf-8"))
        size, value, url = int(note["size"]), str(note["sha256"]), str(note["url"])
    except FileNotFoundError:
        return spec.size, None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{dataset.name}: {sidecar} is damaged; move it and {path.name} away") from error
    wanted = f"/{dataset.hub.revision}/" if dataset.hub else ""
    if wanted not in url:
        raise DataError(
            f"{dataset.name}: {path} is of another revision ({url}), not of {wanted.strip('/')}\n"
            f"Move it away and run: authbench data pull {dataset.name}"
        )
    return size, value


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256.json")


def _absent(path: Path) -> Path:
    return path.with_name(f"{path.name}.absent")


def _folder(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None
