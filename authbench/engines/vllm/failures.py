"""What a failure of vLLM means for the one who runs it: the cause in a line, and what to lower."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from authbench.errors import EngineError

#: What a message says when memory was the cause.
_MEMORY = re.compile(
    r"out of memory|OutOfMemory|No available memory|KV cache|free memory|available memory|"
    r"desired GPU memory|not enough memory|can't allocate|cannot allocate|"
    r"larger than the maximum number of tokens|bad_alloc",
    re.IGNORECASE,
)

#: Lines of a log that name an error: `ValueError: ...`, `torch.OutOfMemoryError: ...`.
_ERROR_LINE = re.compile(r"\b([A-Za-z_.]*(?:Error|Exception|Killed)\b: .*)$", re.MULTILINE)

#: Messages that only say to look elsewhere.
_POINTER = re.compile("See root cause above|See stack trace|EngineCore encountered an issue")


def explain(error: BaseException, stage: str, gpu: bool, log: Path | None = None) -> EngineError:
    """An `EngineError` of two lines.

    Args:
        error: what vLLM raised.
        stage: what was being done, `load` or `run`.
        gpu: whether there is a GPU: memory is bounded by other settings without one.
        log: vLLM's log of this session, in which its other processes say what they died of.
    """
    cause = _cause(error, log)
    if stage == "load":
        text = f"vLLM cannot load the model: {cause}"
        tail = f"; the whole log: {log}" if log is not None and log.is_file() and log.stat().st_size else ""
        advice = f"check the model and the settings under engine{tail}"
    else:
        text = f"vLLM died; what had finished is kept: {cause}"
        advice = (
            "run the same command again to continue; if it dies again, lower engine.max_num_seqs, "
            "engine.max_model_len or engine.gpu_memory_utilization"
        )
    if _MEMORY.search(cause):
        settings = (
            "engine.gpu_memory_utilization, or spread the model with engine.tensor_parallel_size"
            if gpu
            else "engine.kv_cache_memory_bytes, the bytes of the KV cache"
        )
        advice = (
            f"lower engine.max_model_len, engine.max_num_seqs or {settings}, then run the same command again"
        )
    return EngineError(f"{text}\n{advice}")


def _cause(error: BaseException, log: Path | None) -> str:
    """The message that says most: one about memory, else the outermost, or the last error of the log."""
    said = [_one_line(link) for link in _chain(error)]
    found = [line for line in said if not _POINTER.search(line)]
    if len(found) < len(said):  # it says to look elsewhere
        found = _logged_errors(log) or found[::-1]
    unknown = "its process ended without a word, as if killed for its memory"
    return next((line for line in found if _MEMORY.search(line)), [*found, unknown][0])


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those that it came of."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _one_line(error: BaseException) -> str:
    """The first line of a message; of pydantic's, the setting's name and what is wrong with it."""
    from pydantic import ValidationError

    text = str(error).strip()
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        text = ".".join([*map(str, first["loc"])]) + ": " + first["msg"]
        text = text.removeprefix(": ").replace("Value error, ", "", 1)
    return text.splitlines()[0].strip()[:400] if text else type(error).__name__


def _logged_errors(log: Path | None) -> list[str]:
    """Errors that a log names, the last one first."""
    text = log.read_text(encoding="utf-8", errors="replace") if log is not None and log.is_file() else ""
    found = [match.group(1).strip()[:400] for match in _ERROR_LINE.finditer(text)]
    return [line for line in found[::-1] if not _POINTER.search(line)]
