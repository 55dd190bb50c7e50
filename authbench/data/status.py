"""Looking after data files: fetching whole sets, copying them into a folder, checking what is there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from authbench.data.catalog import Dataset, FileSpec
from authbench.data.download import Progress
from authbench.data.fetch import FileRecord, Places, check, expand, expected, fetch, local
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
    return tuple(_status(entry, spec, places) for spec in local_files(entry, places))


def local_files(entry: Dataset, places: Places) -> tuple[FileSpec, ...]:
    """The files of a set with patterns resolved on this machine; a pattern without a match stays as it is."""
    offline = replace(places, online=False)
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
    """Bring every file of a set to this machine, into the cache, and with `to` copy it into that folder.

    A file that a data folder, mirror or cache has is checked and used, not fetched again. A file that cannot
    be had does not stop the others.
    """
    records: list[FileRecord] = []
    failures: list[DataError] = []
    try:
        specs = [spec for pattern in entry.files for spec in expand(entry, pattern, places)]
    except DataError as error:
        return records, [error]
    for spec in specs:
        try:
            if to is not None and (to / spec.path).is_file():
                records.append(check(entry, expected(entry, spec, places), "data", to / spec.path))
                continue
            record = fetch(entry, spec, places, progress=watch(spec) if watch else None)
            records.append(record if to is None else _copied(record, to / spec.path))
        except DataError as error:
            failures.append(error)
    return records, failures


def _copied(record: FileRecord, target: Path) -> FileRecord:
    temporary = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(record.location, temporary)
        temporary.replace(target)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror or error})") from error
    return replace(record, location=target)


def _status(entry: Dataset, spec: FileSpec, places: Places) -> FileStatus:
    found = local(spec, places)
    if found is None:
        return FileStatus(entry.name, spec.path, "missing", size=spec.size)
    where, path = found
    wanted = expected(entry, spec, places)
    try:
        record = check(entry, wanted, where, path, fresh=True)
    except DataError as error:
        size = path.stat().st_size if path.is_file() else None
        return FileStatus(entry.name, spec.path, "wrong", where, size, str(error).split("\n")[0])
    if not (wanted.sha256 or wanted.etag):
        return FileStatus(entry.name, spec.path, "unverified", where, record.size, record.sha256)
    return FileStatus(entry.name, spec.path, "ok", where, record.size)
