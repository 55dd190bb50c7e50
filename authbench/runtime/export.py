"""Recorded answers as a file: what `store export` writes and the `replay` engine reads.

A JSON-lines file, gzipped if its name ends in `.gz`. The first line is the header with the models; then
one line a key. Prompts are not in it: a key is a hash, so that a recording can be shared without the data.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

from authbench.errors import DataError
from authbench.runtime.engine import ModelIdentity
from authbench.runtime.messages import Response, Sample
from authbench.runtime.store import ModelRecord, Store

_KIND = "authbench-answers"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Export:
    """Recorded answers: the models that gave them, and the answers by key (64 hexadecimal digits)."""

    models: tuple[ModelRecord, ...]
    answers: Mapping[str, Response]


def write_export(store: Store, path: Path, models: Sequence[int] | None = None) -> int:
    """Write the answers of these models (default: all); gives how many keys were written.

    Times are left out, and the gzip header carries no date: equal answers give equal files.
    """
    chosen = [(number, record) for number, record in store.models() if models is None or number in models]
    header = {
        "kind": _KIND,
        "version": _VERSION,
        "models": [{"identity": asdict(r.identity), "rendering": dict(r.rendering)} for _, r in chosen],
    }
    written = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file, _packer(file, path) as out:
        out.write(_line(header))
        for place, (number, _) in enumerate(chosen):
            for key, response in store.answers(model=number):
                out.write(_line(_as_json(key.hex(), place, response)))
                written += 1
    partial.replace(path)
    return written


def read_export(path: Path) -> Export:
    """Read recorded answers. Raises `DataError` naming the file and line of what is wrong."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except FileNotFoundError:
        raise DataError(
            f"no recorded answers at {path}; `authbench store export` makes such a file"
        ) from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    lines = text.splitlines()
    header = _parse(path, 1, lines[0] if lines else "")
    if header.get("kind") != _KIND or header.get("version") != _VERSION:
        raise DataError(
            f"{path} is no file of recorded answers (version {_VERSION}) of `authbench store export`"
        )
    try:
        models = tuple(
            ModelRecord(ModelIdentity(**model["identity"]), dict(model["rendering"]))
            for model in header["models"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}:1: not the header of recorded answers ({error})") from None
    answers = {}
    for number, line in enumerate(lines[1:], start=2):
        row = _parse(path, number, line)
        try:
            answers[row["key"]] = _response(row)
        except (KeyError, TypeError) as error:
            raise DataError(f"{path}:{number}: not a recorded answer ({error})") from None
    return Export(models, answers)


def _as_json(key: str, model: int, response: Response) -> dict[str, Any]:
    samples = []
    for sample in response.samples:
        row: dict[str, Any] = {"text": sample.text, "finish": sample.finish_reason}
        row["tokens"] = sample.output_tokens
        if sample.label_logprobs is not None:
            row["labels"] = list(sample.label_logprobs)
        if sample.target_logprob is not None:
            row["target"] = sample.target_logprob
        samples.append(row)
    return {"key": key, "model": model, "prompt_tokens": response.prompt_tokens, "samples": samples}


def _response(row: Mapping[str, Any]) -> Response:
    samples = tuple(
        Sample(
            s["text"],
            s["finish"],
            s["tokens"],
            tuple(s["labels"]) if "labels" in s else None,
            s.get("target"),
        )
        for s in row["samples"]
    )
    return Response(samples, row["prompt_tokens"])


def _parse(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise DataError(f"{path}:{number}: not a JSON object; the file is cut or was edited")
    return row


def _line(row: Mapping[str, Any]) -> bytes:
    return (json.dumps(row, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")


@contextmanager
def _packer(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Where the bytes of a file of this name go: through gzip, with neither name nor date, or as they are."""
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as packed:
        yield cast(IO[bytes], packed)
