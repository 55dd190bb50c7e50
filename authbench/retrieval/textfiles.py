"""Text files read line by line, plain or gzipped, with errors that name the file and the line."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from authbench.errors import DataError


def refuse(path: Path, line: int, what: str, way_out: str = "") -> NoReturn:
    """Raise a `DataError` that starts with `file:line`."""
    raise DataError(f"{path}:{line}: {what}" + (f"; {way_out}" if way_out else ""))


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield `(line number from 1, line without its end)` of a UTF-8 text file; `.gz` is unpacked.

    Empty lines are skipped. Raises `DataError` for a file that is missing, is not text, or is a gzip
    file that was cut.
    """
    number = 0
    try:
        with _unpacked(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                text = line.rstrip("\r\n")
                if text.strip():
                    yield number, text
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        refuse(path, number + 1, f"not UTF-8 text ({error.reason})")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        refuse(path, number + 1, f"the gzip file is damaged ({error})", "fetch it again")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


class Lines:
    """A text file as ir-measures' readers take it; `number` is that of the line given last."""

    read = None  # having it is what tells a reader that this is an open file, and no path

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in numbered_lines(self.path):
            self.number = number
            yield line


def _unpacked(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.GzipFile(path, "rb") if path.suffix == ".gz" else path.open("rb")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines as UTF-8, gzipped if the name ends in `.gz`; whole or not at all.

    The text goes to a temporary name beside the file and is renamed at the end. The gzip header holds no
    time, so the same lines give the same bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    packed.writelines(f"{line}\n".encode() for line in lines)
            else:
                raw.writelines(f"{line}\n".encode() for line in lines)
        part.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
