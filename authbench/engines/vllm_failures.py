"""What a failure of vLLM means for the one who runs it: the cause in a line, and what to lower."""

from __future__ import annotations

import re
from pathlib import Path

from authbench.errors import EngineError

#: What a message says when memory was the cause.
_MEMORY = re.compile(
    r"out of memory|OutOfMemory|No available memory|KV cache|free memory|desired GPU memory|"
    r"not enough memory|can't allocate|cannot allocate|larger than the maximum number of tokens|bad_alloc",
    re.IGNORECASE,
)

#: Lines of a log that name an error: `ValueError: ...`, `torch.OutOfMemoryError: ...`.
_ERROR_LINE = re.compile(r"\b([A-Za-z_.]*(?:Error|Exception|Killed)\b: .*)$")

#: Messages that only say to look elsewhere.
_POINTERS = ("See root cause above", "See stack trace", "EngineCore encountered an issue")


def explain(error: BaseException, stage: str, gpu: bool, log: Path | None = None) -> EngineError:
    """An `EngineError` of two lines.

    Args:
        error: what vLLM raised.
        stage: what was being done (`load`, or `the run`).
        gpu: whether there is a GPU: memory is bounded by other settings without one.
        log: vLLM's log of this session, in which its other processes say what they died of.
    """
    cause = _cause(error, log)
    where = "cannot load the model" if stage == "load" else "died; what had finished is kept"
    text = f"vLLM {where}: {cause}"
    if _MEMORY.search(cause):
        settings = (
            "engine.max_model_len, engine.max_num_seqs or engine.gpu_memory_utilization, "
            "or spread the model with engine.tensor_parallel_size"
            if gpu
            else "engine.max_model_len or engine.max_num_seqs, or set engine.kv_cache_gib "
            "(VLLM_CPU_KVCACHE_SPACE) to what the machine has"
        )
        return EngineError(f"{text}\nlower {settings}, then run the same command again")
    if stage != "load":
        return EngineError(
            f"{text}\nrun the same command again to continue; if it dies again, lower engine.max_num_seqs, "
            "engine.max_model_len or engine.gpu_memory_utilization"
        )
    tail = f"; the whole log: {log}" if log is not None and log.is_file() and log.stat().st_size else ""
    return EngineError(f"{text}\ncheck the model and the settings under engine{tail}")


def _cause(error: BaseException, log: Path | None) -> str:
    """The message that says most: the innermost cause, or the last error that the log names."""
    messages = []
    seen: BaseException | None = error
    while seen is not None:
        messages.append(_first_line(seen))
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    own = [m for m in messages if m and not any(pointer in m for pointer in _POINTERS)]
    if own and not any(any(pointer in m for pointer in _POINTERS) for m in messages):
        memory = [m for m in own if _MEMORY.search(m)]
        return (memory or own)[0]
    logged = _logged_errors(log)
    memory = [m for m in logged if _MEMORY.search(m)]
    return (memory or logged or own or ["its process ended without a word, as if killed for its memory"])[-1]


def _first_line(error: BaseException) -> str:
    """The message in one line, without what pydantic adds; the setting it names stays."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if "validation error" in lines[0] and len(lines) > 1:
        said = lines[1] if "[type=" in lines[1] else ": ".join(lines[1:3])
        text = said.split(" [type=")[0].replace("Value error, ", "", 1)
    else:
        text = lines[0]
    return text[:400]


def _logged_errors(log: Path | None) -> list[str]:
    if log is None or not log.is_file():
        return []
    found = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _ERROR_LINE.search(line)
        if match and not any(pointer in line for pointer in _POINTERS):
            found.append(match.group(1).strip()[:400])
    return found
