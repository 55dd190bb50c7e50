"""Looking after data files: fetching whole sets, copying them into a folder, checking what is there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from authbench.data.catalog import Dataset, FileSpec
from authbench.data.digests import digest
from authbench.data.download import Progress
from authbench.data.fetch import FileRecord, Places, check, expand, fetch, fetch_into, local
from authbench.errors import DataError

#: Told which file is being fetched; gives the callback for its bytes.
Watch = Callable[[FileSpec], Progress | None]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Whether a file of a data set is on this machine and what it should be.

    Attributes:
        status: `ok` (size and SHA-256 as expected), `unverified` (there, but no hash is known to hold it
            against), `missing`, or `wrong`.
        where: which folder has it, or None.
        detail: what is wrong, in one line, or the SHA-256 of an unverified file.
    """

    dataset: str
    path: str
    status: Literal["ok", "unverified", "missing", "wrong"]
    where: str | None = None
    size: int | None = None
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def check_dataset(entry: Dataset, places: Places) -> tuple[FileStatus, ...]:
    """The status of each file, hashed now; the network is not used, and no status is an exception."""
    offline = Places(places.data, places.mirror, places.cache, online=False)
    return tuple(_status(entry, spec, offline) for spec in local_files(entry, offline))


def local_files(entry: Dataset, places: Places) -> tuple[FileSpec, ...]:
    """The files of a set with patterns resolved on this machine; a pattern without a match stays as it is."""
    offline = Places(places.data, places.mirror, places.cache, online=False)
    specs: list[FileSpec] = []
    for spec in entry.files:
        try:
            specs.extend(expand(entry, spec, offline))
        except DataError:
            specs.append(spec)
    return tuple(specs)


def pull(
    entry: Dataset, places: Places, *, to: Path | None = None, watch: Watch | None = None
) -> tuple[list[FileRecord], list[DataError]]:
    """Bring every file of a set to this machine: into the cache, or, with `to`, into a folder of its own.

    A file that a data folder, mirror or cache has is checked and used (copied, with `to`), not fetched again.
    A file that cannot be had does not stop the others.
    """
    records: list[FileRecord] = []
    failures: list[DataError] = []
    try:
        specs = [spec for pattern in entry.files for spec in expand(entry, pattern, places)]
    except DataError as error:
        return records, [error]
    for spec in specs:
        progress = watch(spec) if watch else None
        try:
            if to is None:
                records.append(fetch(entry, spec, places, progress=progress))
            else:
                records.append(_place(entry, spec, places, to, progress))
        except DataError as error:
            failures.append(error)
    return records, failures


def _place(entry: Dataset, spec: FileSpec, places: Places, to: Path, progress: Progress | None) -> FileRecord:
    target = to / spec.path
    if target.is_file():
        return check(entry, spec, "data", target)
    found = local(spec, places)
    if found is None:
        return fetch_into(entry, spec, to, places, progress=progress)
    where, path = found
    record = check(entry, spec, where, path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.part")
        shutil.copyfile(path, temporary)
        temporary.replace(target)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror or error})") from error
    return FileRecord(record.path, record.sha256, record.size, where, target)


def _status(entry: Dataset, spec: FileSpec, places: Places) -> FileStatus:
    found = local(spec, places)
    if found is None:
        return FileStatus(entry.name, spec.path, "missing", size=spec.size)
    where, path = found
    try:
        record = check(entry, spec, where, path, fresh=True)
    except DataError as error:
        size = digest(path)[1] if path.is_file() else None
        return FileStatus(entry.name, spec.path, "wrong", where, size, str(error).split("\n")[0])
    known = spec.sha256 or path.with_name(f"{path.name}.sha256.json").is_file()
    if not known:
        return FileStatus(entry.name, spec.path, "unverified", where, record.size, record.sha256)
    return FileStatus(entry.name, spec.path, "ok", where, record.size)
