"""Recorded answers as a file: what `store export` writes and the `replay` engine reads.

A JSON-lines file, gzipped if its name ends in `.gz`. The first line is the header with the models; then
one line a key. Prompts are not in it: a key is a hash, so that a recording can be shared without the data.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
    lines = [_line(header)]
    for place, (number, _) in enumerate(chosen):
        for key, response in store.answers(model=number):
            lines.append(_line(_as_json(key.hex(), place, response)))
    text = "".join(lines).encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(gzip.compress(text, 9, mtime=0) if path.suffix == ".gz" else text)
    partial.replace(path)
    return len(lines) - 1


def read_export(path: Path) -> Export:
    """Read recorded answers. Raises `DataError` naming the file and line of what is wrong."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except FileNotFoundError:
        raise DataError(
            f"no recorded answers at {path}; `authbench store export` makes such a file"
        ) from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    lines = text.splitlines()
    header = _parse(path, 1, lines[0] if lines else "")
    if header.get("kind") != _KIND or header.get("version") != _VERSION:
        raise DataError(
            f"{path} is no file of recorded answers (version {_VERSION}) of `authbench store export`"
        )
    models = tuple(
        ModelRecord(ModelIdentity(**model["identity"]), model["rendering"]) for model in header["models"]
    )
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


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=True) + "\n"
