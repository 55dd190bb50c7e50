"""Text files read line by line, plain or gzipped, with errors that name the file and the line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
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
