"""Every answer ever given, in one SQLite file: what makes a killed run continue and a re-run free.

Three tables: `models` (who answered, and how prompts are rendered for it), `prompts` (one row a key, the
prompt compressed) and `samples` (one row an answer). The file is in WAL mode and commits at least once a
second, so that a killed process loses at most that.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from authbench.errors import DataError
from authbench.runtime.engine import ModelIdentity
from authbench.runtime.keys import rendering_digest
from authbench.runtime.messages import Response, Sample
from authbench.runtime.storefile import Guard, open_to_read, open_to_write

#: Seconds between two commits.
COMMIT_INTERVAL = 1.0
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model that has answers: its identity, and what is needed to render its prompts again."""

    identity: ModelIdentity
    rendering: Mapping[str, Any]


class Store:
    """The answers of one results folder. Use as a context manager; one instance per process.

    Raises `DataError` where the file is locked by another process, cannot be written, or the disk is full.

    Args:
        path: the file.
        read_only: look only: the file must be there, and a damaged one is refused instead of mended.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        #: What had to be mended when the file was opened; None nearly always.
        self.repaired: str | None = None
        self._samples: list[tuple[Any, ...]] = []
        self._prompts: list[tuple[Any, ...]] = []
        self._pending: dict[bytes, list[tuple[Any, ...]]] = {}
        self._pending_tokens: dict[bytes, int] = {}
        self._replaced: list[tuple[bytes]] = []
        self._failed = False
        self._committed = time.monotonic()
        if read_only:
            self._db = open_to_read(path)
        else:
            self._db, self.repaired = open_to_write(path)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is pending and close the file."""
        try:
            self.flush()
        finally:
            self._db.close()

    # -- models ---------------------------------------------------------------------------------------

    def register(self, identity: ModelIdentity, rendering: Mapping[str, Any]) -> int:
        """The number of a model in this store, made if there is none.

        Models differ by identity and by how their prompts are rendered: with thinking on or off, say.
        """
        digest = rendering_digest(rendering)
        for number, record in self.models():
            if record.identity == identity and rendering_digest(record.rendering) == digest:
                return number
        facts = _json({**asdict(identity), "rendering": digest})
        with self._guard():
            self._db.execute(
                "INSERT OR IGNORE INTO models (identity, rendering) VALUES (?, ?)",
                (facts, _json(dict(rendering))),
            )
            self._db.commit()
            row = self._db.execute("SELECT id FROM models WHERE identity = ?", (facts,)).fetchone()
        return int(row[0])

    def models(self) -> list[tuple[int, ModelRecord]]:
        """Every model with its number."""
        with self._guard():
            rows = self._db.execute("SELECT id, identity, rendering FROM models ORDER BY id").fetchall()
        return [
            (number, ModelRecord(_identity(identity), json.loads(rendering)))
            for number, identity, rendering in rows
        ]

    # -- answers --------------------------------------------------------------------------------------

    def get(self, keys: Sequence[bytes], since: float | None = None) -> dict[bytes, Response]:
        """What is known of each key: a response with every sample kept, in the order they were kept.

        Args:
            since: Unix time; only answers that are not older.
        """
        found: dict[bytes, list[tuple[Any, ...]]] = {}
        tokens: dict[bytes, int] = {}
        wanted = []
        for key in keys:
            if key in self._pending:
                found[key] = self._pending[key]
                tokens[key] = self._pending_tokens[key]
            else:
                wanted.append(key)
        with self._guard():
            for chunk in _chunks(wanted):
                marks = ",".join("?" * len(chunk))
                for row in self._db.execute(
                    f"SELECT {_SAMPLE}, p.prompt_tokens FROM samples s JOIN prompts p USING (key) "
                    f"WHERE s.key IN ({marks}) AND created >= ? ORDER BY s.key, sample",
                    (*chunk, since or 0.0),
                ):
                    key = row[0]
                    if key in found:
                        found[key].append(row)
                    else:
                        found[key] = [row]
                        tokens[key] = row[10]
        return {key: _response(rows, tokens[key]) for key, rows in found.items()}

    def put(
        self,
        key: bytes,
        model: int,
        prompt: str,
        response: Response,
        first: int = 0,
        *,
        replaces: bool = False,
    ) -> None:
        """Keep an answer, committed within a second.

        Args:
            first: number of its first sample.
            replaces: every sample kept of this key before is dropped in the same moment.
        """
        now = time.time()
        share = response.seconds / max(1, len(response.samples))
        rows = [
            (
                key,
                number,
                _storable(sample.text),
                sample.finish_reason,
                sample.output_tokens,
                None if sample.label_logprobs is None else json.dumps(sample.label_logprobs),
                sample.target_logprob,
                response.cached_tokens,
                share,
                now,
            )
            for number, sample in enumerate(response.samples, first)
        ]
        if replaces:
            self._replaced.append((key,))
        self._prompts.append((key, model, _packed(prompt), response.prompt_tokens))
        self._samples += rows
        if first == 0:
            self._pending[key] = rows
            self._pending_tokens[key] = response.prompt_tokens
        else:
            self.flush()
        if time.monotonic() - self._committed >= COMMIT_INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Commit what is pending; after it has failed once, nothing more is written."""
        if self._samples and not self._failed:
            # In order of their keys, a batch touches each page of the tables once.
            self._prompts.sort(key=itemgetter(0))
            self._samples.sort(key=itemgetter(0, 1))
            try:
                self._write()
            except DataError:
                self._failed = True
                raise
            self._samples.clear()
            self._prompts.clear()
            self._replaced.clear()
            self._pending.clear()
            self._pending_tokens.clear()
        self._committed = time.monotonic()

    def _write(self) -> None:
        with self._guard():
            self._db.executemany("DELETE FROM samples WHERE key = ?", self._replaced)
            self._db.executemany("INSERT OR REPLACE INTO prompts VALUES (?, ?, ?, ?)", self._prompts)
            self._db.executemany(
                "INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._samples
            )
            self._db.commit()

    def prompts(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """The rendered prompts of these keys."""
        self.flush()
        found = {}
        with self._guard():
            for chunk in _chunks(keys):
                marks = ",".join("?" * len(chunk))
                rows = self._db.execute(f"SELECT key, prompt FROM prompts WHERE key IN ({marks})", chunk)
                for key, prompt in rows:
                    found[key] = _unpacked(prompt)
        return found

    # -- housekeeping ---------------------------------------------------------------------------------

    def stats(self) -> list[dict[str, Any]]:
        """Per model: prompts, samples, tokens in and out, and the time of the first and last answer."""
        self.flush()
        with self._guard():
            rows = self._db.execute(
                "SELECT m.id, m.identity, COUNT(DISTINCT p.key), COUNT(s.key), "
                "COALESCE(SUM(s.output_tokens), 0), MIN(s.created), MAX(s.created) FROM models m "
                "LEFT JOIN prompts p ON p.model = m.id LEFT JOIN samples s ON s.key = p.key "
                "GROUP BY m.id ORDER BY m.id"
            ).fetchall()
        names = ("id", "identity", "prompts", "samples", "output_tokens", "first", "last")
        return [dict(zip(names, (r[0], asdict(_identity(r[1])), *r[2:]), strict=True)) for r in rows]

    def prune(self, *, model: str | None = None, before: float | None = None) -> int:
        """Delete the answers of a model (by its id) and/or older than a Unix time; gives how many."""
        self.flush()
        clauses, values = [], []
        if model is not None:
            clauses.append("key IN (SELECT p.key FROM prompts p JOIN models m ON m.id = p.model "
                           "WHERE json_extract(m.identity, '$.model') = ?)")  # fmt: skip
            values.append(model)
        if before is not None:
            clauses.append("created < ?")
            values.append(before)  # type: ignore[arg-type]
        if not clauses:
            raise DataError("nothing to prune: name a model or an age")
        with self._guard():
            count = self._db.execute("DELETE FROM samples WHERE " + " AND ".join(clauses), values).rowcount
            self._db.execute("DELETE FROM prompts WHERE key NOT IN (SELECT key FROM samples)")
            self._db.execute("DELETE FROM models WHERE id NOT IN (SELECT model FROM prompts)")
            self._db.commit()
            self._db.execute("VACUUM")
        return int(count)

    def answers(self, *, model: int) -> Iterator[tuple[bytes, Response]]:
        """Every answer of a model by ascending key: what an export is made of."""
        self.flush()
        with self._guard():
            keys = [row[0] for row in self._db.execute(
                "SELECT key FROM prompts WHERE model = ? ORDER BY key", (model,))]  # fmt: skip
        for chunk in _chunks(keys):
            found = self.get(chunk)
            yield from ((key, found[key]) for key in chunk if key in found)

    def _guard(self) -> Guard:
        return Guard(self.path)


def _identity(text: str) -> ModelIdentity:
    facts = json.loads(text)
    return ModelIdentity(*(facts[name] for name in ("model", "revision", "precision", "family")))


#: The columns of a row that `_response` takes, in the order in which `put` keeps them.
_SAMPLE = (
    "s.key, sample, text, finish, output_tokens, label_logprobs, target_logprob, cached_tokens, "
    "seconds, created"
)


def _response(rows: Sequence[tuple[Any, ...]], prompt_tokens: int) -> Response:
    """Rows of the table `samples` as a response."""
    samples = [
        Sample(text, finish, output_tokens, None if labels is None else tuple(json.loads(labels)), target)
        for _, _, text, finish, output_tokens, labels, target, *_ in rows
    ]
    return Response(tuple(samples), prompt_tokens, rows[0][7], sum([row[8] for row in rows]))


def _packed(prompt: str) -> bytes:
    """Raw deflate with a small window: five times as fast to set up as the default, which is what counts."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -13, 4)
    return packer.compress(prompt.encode("utf-8", "surrogatepass")) + packer.flush()


def _unpacked(prompt: bytes) -> str:
    return zlib.decompress(prompt, -15).decode("utf-8", "surrogatepass")


def _storable(text: str) -> str:
    """Lone surrogates, which a tokenizer can produce, are no UTF-8: they are replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _chunks(keys: Sequence[bytes]) -> Iterable[Sequence[bytes]]:
    return (keys[i : i + _CHUNK] for i in range(0, len(keys), _CHUNK))
