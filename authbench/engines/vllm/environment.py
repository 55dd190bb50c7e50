"""What vLLM takes from environment variables, and the file that its log goes to."""

from __future__ import annotations

import contextlib
import json
import logging.config
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from authbench.engines.vllm.settings import Settings
from authbench.paths import cache_dir

#: Variables by which a user chooses where vLLM's log goes.
_LOG_VARIABLES = ("VLLM_LOGGING_LEVEL", "VLLM_LOGGING_CONFIG_PATH", "VLLM_CONFIGURE_LOGGING")


def gpu_present() -> bool:
    """Whether vLLM would run on an accelerator: the installed torch is asked."""
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # read when torch is imported
    import torch

    return bool(torch.cuda.is_available() or (hasattr(torch, "xpu") and torch.xpu.is_available()))


def prepare_environment(settings: Settings, gpu: bool) -> None:
    """Set what vLLM reads when it is imported; what the user has set stays, but for `engine.process`."""
    environment = os.environ
    environment.setdefault("VLLM_NO_USAGE_STATS", "1")
    # Without a GPU the cores that a second process takes are the model's own, so it stays in this one.
    environment.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "1" if gpu else "0")
    if settings.process == "own" or settings.copies > 1:
        environment["VLLM_ENABLE_V1_MULTIPROCESSING"] = "1"
    elif settings.process == "inner":
        environment["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    if settings.batch_invariant:
        environment["VLLM_BATCH_INVARIANT"] = "1"
    if not gpu:
        # vLLM 0.32's CPU build cannot read back what it compiled ahead of time, and compiles anew at every
        # start; torch's own cache is read, which takes half as long.
        environment.setdefault("VLLM_USE_AOT_COMPILE", "0")


def log_file() -> Path | None:
    """The file for the log of this process, or None where the user has chosen another place."""
    if any(name in os.environ for name in _LOG_VARIABLES):
        return None
    folder = cache_dir("logs")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"vllm-{os.getpid()}.log"


@contextlib.contextmanager
def output_to_log(log: Path | None) -> Iterator[None]:
    """Start vLLM with its log in a file: standard output is for results, and the log is long.

    Processes that it starts in the meantime write there for good, and so does its logger in this one. What
    this program prints itself goes where it went before.
    """
    if log is None:
        yield
        return
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")
    config, settings = log.with_suffix(".json"), _logging_config(log)
    config.write_text(json.dumps(settings), encoding="utf-8")
    logging.config.dictConfig(settings)  # for what is said while vLLM is imported
    os.environ["VLLM_LOGGING_CONFIG_PATH"] = str(config)
    kept = sys.stdout, sys.stderr
    for stream in kept:
        stream.flush()
    copies = [os.fdopen(os.dup(number), "w", buffering=1) for number in (1, 2)]
    sys.stdout, sys.stderr = copies
    try:
        with log.open("a") as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
        yield
    finally:
        sys.stdout, sys.stderr = kept
        for number, copy in zip((1, 2), copies, strict=True):
            copy.flush()
            os.dup2(copy.fileno(), number)
            copy.close()
        del os.environ["VLLM_LOGGING_CONFIG_PATH"]
        config.unlink()


def _logging_config(log: Path) -> dict[str, Any]:
    """What vLLM gives to `logging.config.dictConfig`, in each of its processes."""
    # Watched: it opens the file again if that was removed after the clean end of an earlier engine.
    handler = {"class": "logging.handlers.WatchedFileHandler", "filename": str(log), "formatter": "plain"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
        "handlers": {"file": handler | {"delay": True}},
        "loggers": {"vllm": {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }
