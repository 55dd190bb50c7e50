"""Downloads through pooch, which checks the hash and gives the file its name; what was cut off is resumed.

pooch begins an interrupted download again, so the part of a file that came is kept here, beside the target,
and the next attempt (or the next command) asks only for the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from time import sleep
from urllib.parse import urlsplit

from authbench.errors import DataError
from authbench.paths import cache_dir

#: Attempts at one file; each goes on where the last one stopped.
ATTEMPTS = 4

#: Seconds before the second attempt; doubled for each one after.
PAUSE = 0.5

_CHUNK = 1 << 16
_TIMEOUT = (15, 60)  # seconds to connect, and to wait for the next bytes

#: Told bytes so far and bytes in all (None if unknown).
Progress = Callable[[int, int | None], None]


class Unreachable(DataError):
    """There is no network, or the host does not answer."""


class NotThere(DataError):
    """The host answers that it has no such file."""


def download(
    url: str,
    target: Path,
    sha256: str | None,
    *,
    headers: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> None:
    """Fetch `url` into `target`. Of several processes that ask at once, one fetches and the others wait.

    Args:
        sha256: expected digest (hexadecimal), or None where it is not known.
        headers: sent to the host of `url`; an Authorization header is not passed on to other hosts.

    Raises:
        Unreachable: no connection. NotThere: status 404.
        DataError: any other status, a connection that was cut once too often, a wrong hash (the file that
            came is removed), a folder that cannot be written.
    """
    import pooch
    from filelock import FileLock

    pooch.get_logger().setLevel("WARNING")
    name = hashlib.sha256(f"{url} {target.resolve()}".encode()).hexdigest()[:16]
    lock = cache_dir("locks", f"{name}.lock")
    fetcher = _Resuming(target.with_name(f".{target.name}.{name}.part"), dict(headers or {}), progress)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock):
            pooch.retrieve(url, sha256, fname=target.name, path=target.parent, downloader=fetcher)
    except ValueError as error:
        found = str(error).rpartition("but got ")[2].partition(". ")[0]
        raise DataError(
            f"{url}: SHA-256 is {found}, expected {sha256}; not kept\n"
            "The file has changed upstream or on the way: try again, or use a mirror (AUTHBENCH_MIRROR)"
        ) from error
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror or error})") from error


class _Resuming:
    """A downloader for pooch: `part` grows over as many attempts as it takes, then becomes pooch's file."""

    def __init__(self, part: Path, headers: dict[str, str], progress: Progress | None) -> None:
        self.part = part
        # Without identity, sizes and ranges would be of the compressed form.
        self.headers = {"Accept-Encoding": "identity", **headers}
        self.progress = progress

    def __call__(self, url: str, output_file: str, _pooch: object) -> None:
        from requests.exceptions import ChunkedEncodingError, ConnectionError, Timeout

        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._attempt(url)
                break
            except (ChunkedEncodingError, ConnectionError, Timeout) as error:
                if attempt == ATTEMPTS:
                    raise DataError(
                        f"{url}: the connection was cut after {self._done()} bytes, {ATTEMPTS} times "
                        f"({error}); run the same command again, it goes on from there"
                    ) from error
                sleep(PAUSE * 2 ** (attempt - 1))
        self.part.replace(output_file)

    def _done(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _attempt(self, url: str) -> None:
        import requests

        done = self._done()
        headers = {**self.headers, "Range": f"bytes={done}-"} if done else self.headers
        try:
            response = requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT)
        except (requests.ConnectionError, requests.Timeout) as error:
            cause = str(getattr(error.args[0], "reason", error)).rpartition(": ")[2]  # of a longer story
            raise Unreachable(f"{urlsplit(url).netloc} cannot be reached ({cause})") from error
        with response:
            if response.status_code == 416:  # what is here is all there is, or not of this file: begin again
                self.part.unlink()
                self._attempt(url)
                return
            if response.status_code not in {200, 206}:
                raise refusal(response.status_code, url)
            done = done if response.status_code == 206 else 0
            length = response.headers.get("Content-Length", "")
            total = done + int(length) if length.isdigit() else None
            with self.part.open("ab" if done else "wb") as file:
                for chunk in response.iter_content(_CHUNK):
                    file.write(chunk)
                    if self.progress:
                        self.progress(file.tell(), total)


def refusal(status: int, url: str) -> DataError:
    """The error for an answer that is not what was asked for."""
    if status == 404:
        return NotThere(f"{url}: the host has no such file (404)")
    if status in {401, 403}:
        return DataError(f"{url}: access refused ({status}); if the set is gated, set HF_TOKEN to your token")
    return DataError(
        f"{url}: the host answered {status}; try again later, or use a mirror (AUTHBENCH_MIRROR)"
    )
