"""One download: to a temporary name, resumed where it stopped, checked, then renamed.

What lies under the temporary name after a cut connection is kept, and the next attempt asks only for the
rest. A file whose size or hash is not the expected one is kept too, as `NAME.rejected`, and never takes the
final name.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from authbench.data.digests import sha256_of
from authbench.errors import DataError
from authbench.paths import cache_dir

if TYPE_CHECKING:
    import httpx

#: Attempts at one file; each goes on where the last one stopped.
ATTEMPTS = 4

#: Seconds before the second attempt; doubled for each one after.
PAUSE = 0.5

Progress = Callable[[int, int | None], None]


class Unreachable(DataError):
    """There is no network, or the host does not answer."""


class NotThere(DataError):
    """The host answers that it has no such file."""


def download(
    url: str,
    target: Path,
    *,
    size: int | None = None,
    sha256: str | None = None,
    headers: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> str:
    """Fetch `url` into `target` and give its SHA-256.

    Args:
        size: expected bytes, or None for what the server says.
        sha256: expected digest, or None if it is not known.
        headers: sent to the host of `url`; an Authorization header is not passed on to other hosts.
        progress: called with bytes so far and bytes in all (None if unknown).

    Raises:
        Unreachable: no connection. NotThere: status 404.
        DataError: any other status, a connection that was cut once too often, a wrong size or hash.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target):
            if target.exists():  # another process was faster
                return sha256_of(target)
            part = target.with_name(f".{target.name}.{_short(url)}.part")
            expected = _fetch(url, part, headers or {}, size, progress)
            value = _checked(url, part, target, expected, sha256)
            part.replace(target)
            return value
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror or error})") from error


def _checked(url: str, part: Path, target: Path, size: int | None, sha256: str | None) -> str:
    found = part.stat().st_size
    if size is not None and found != size:
        rejected = _reject(part, target)
        raise DataError(f"{url}: {found} bytes came, {size} were expected; kept as {rejected}")
    value = sha256_of(part)
    if sha256 is not None and value != sha256:
        rejected = _reject(part, target)
        raise DataError(
            f"{url}: SHA-256 is {value}, expected {sha256}; kept as {rejected}\n"
            "The file has changed upstream or on the way: try again, or use a mirror (AUTHBENCH_MIRROR)"
        )
    return value


def _fetch(
    url: str, part: Path, headers: Mapping[str, str], size: int | None, progress: Progress | None
) -> int | None:
    """Bring `part` to its full length over as many attempts as it takes; the expected length."""
    import httpx

    failure: httpx.TransportError | None = None
    with httpx.Client(follow_redirects=True, timeout=httpx.Timeout(60, connect=15)) as client:
        for attempt in range(ATTEMPTS):
            if attempt:
                sleep(PAUSE * 2 ** (attempt - 1))
            try:
                return _attempt(client, url, part, headers, size, progress)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise Unreachable(f"{_host(url)} cannot be reached ({error})") from error
            except httpx.TransportError as error:
                failure = error
    done = part.stat().st_size if part.exists() else 0
    raise DataError(
        f"{url}: the connection was cut after {done} bytes, {ATTEMPTS} times ({failure}); "
        "run the same command again, it goes on from there"
    )


def _attempt(
    client: httpx.Client,
    url: str,
    part: Path,
    headers: Mapping[str, str],
    size: int | None,
    progress: Progress | None,
) -> int | None:
    done = part.stat().st_size if part.exists() else 0
    if size is not None and done == size:
        return size
    # Without identity, sizes and ranges would be of the compressed form.
    wanted = {"Accept-Encoding": "identity", **headers}
    if done:
        wanted["Range"] = f"bytes={done}-"
    with client.stream("GET", url, headers=wanted) as response:
        start, total = _position(response, done)
        if response.status_code == 416 and total == done:
            return size if size is not None else total
        if response.status_code == 416 or (response.status_code == 206 and start != done):
            part.unlink()  # our own leftover does not fit what the server has: begin again
            return _attempt(client, url, part, headers, size, progress)
        _check_status(response, url)
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            file.truncate()
            for chunk in response.iter_bytes():  # as it comes: a chunk size would lose the last part of a cut
                file.write(chunk)
                if progress:
                    progress(file.tell(), size if size is not None else total)
    return size if size is not None else total


def _position(response: httpx.Response, done: int) -> tuple[int, int | None]:
    """Where the body begins in the file, and the length of the whole file if the server says."""
    stated = re.match(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if response.status_code == 206 and stated and stated[1] and int(stated[1]) == done:
        return done, int(stated[2]) if stated[2] != "*" else None
    if response.status_code == 416:
        return 0, int(stated[2]) if stated and stated[2] != "*" else None
    length = response.headers.get("Content-Length")
    return 0, int(length) if length and length.isdigit() else None


def _check_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status in {200, 206}:
        return
    if status == 404:
        raise NotThere(f"{url}: the host has no such file (404)")
    if status in {401, 403}:
        raise DataError(f"{url}: access refused ({status}); if the set is gated, set HF_TOKEN to your token")
    raise DataError(f"{url}: the host answered {status}; try again later, or use a mirror (AUTHBENCH_MIRROR)")


def _reject(part: Path, target: Path) -> Path:
    """Move a wrong file out of the way, so that the next attempt starts afresh and nothing is lost."""
    return part.replace(target.with_name(f"{target.name}.rejected"))


def _host(url: str) -> str:
    return url.split("/")[2]


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Keep two processes from writing the same file; the second waits for the first."""
    try:
        import fcntl
    except ImportError:  # no such lock on Windows: two processes at once would be noticed by the hash
        yield
        return
    lock = cache_dir("locks", f"{_short(str(target.resolve()))}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("wb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
