"""What vLLM takes from environment variables: set before it is imported, unless the user has set it."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging.config
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from authbench.engines.vllm_options import VllmOptions
from authbench.paths import cache_dir


def gpu_present() -> bool:
    """Whether vLLM would run on an accelerator: the installed torch is asked."""
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # read when torch is imported
    import torch

    return bool(torch.cuda.is_available() or (hasattr(torch, "xpu") and torch.xpu.is_available()))


def own_process(options: VllmOptions, gpu: bool) -> bool:
    """Whether the model runs in a process of its own.

    Without a GPU the cores that a second process takes are the model's own, so it stays in this one. Copies
    of a model need processes anyway.
    """
    if options.data_parallel_size > 1:
        return True
    return gpu if options.process == "auto" else options.process == "own"


def prepare_environment(options: VllmOptions, gpu: bool) -> Path | None:
    """Set what vLLM reads at import; gives the file that its log goes to, or None if the user chose."""
    environment = os.environ
    environment.setdefault("VLLM_NO_USAGE_STATS", "1")
    if options.process != "auto" or options.data_parallel_size > 1:
        environment["VLLM_ENABLE_V1_MULTIPROCESSING"] = "1" if own_process(options, gpu) else "0"
    else:
        environment.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "1" if gpu else "0")
    if options.batch_invariant:
        environment["VLLM_BATCH_INVARIANT"] = "1"
    if not gpu:
        # vLLM 0.32's CPU build cannot read back what it compiled ahead of time, and compiles anew at every
        # start; torch's own cache is read, which takes half as long.
        environment.setdefault("VLLM_USE_AOT_COMPILE", "0")
    if not gpu and "kv_cache_memory_bytes" not in options.engine_args:
        environment.setdefault("VLLM_CPU_KVCACHE_SPACE", str(options.kv_cache_gib))
    return _prepare_log()


def _prepare_log() -> Path | None:
    """Send vLLM's log to a file: standard output is for results, and the log is long."""
    ours = os.environ.get("AUTHBENCH_VLLM_LOG")
    if ours:  # an earlier engine of this process, or of the one that started it
        return Path(ours)
    if {"VLLM_LOGGING_LEVEL", "VLLM_LOGGING_CONFIG_PATH", "VLLM_CONFIGURE_LOGGING"} & os.environ.keys():
        return None
    folder = cache_dir("logs")
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"vllm-{os.getpid()}.log"
    handler = {"class": "logging.FileHandler", "filename": str(log), "delay": True, "formatter": "plain"}
    settings = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
        "handlers": {"file": handler},
        "loggers": {"vllm": {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }
    log.with_suffix(".json").write_text(json.dumps(settings), encoding="utf-8")
    # Its other processes read the file; this one is set up at once, for what it says while it is imported.
    os.environ["VLLM_LOGGING_CONFIG_PATH"] = str(log.with_suffix(".json"))
    os.environ["AUTHBENCH_VLLM_LOG"] = str(log)
    logging.config.dictConfig(settings)
    _quieten(log)
    return log


def _quieten(log: Path) -> None:
    """Keep the terminal free of what torch and vLLM say around their logs; the log goes at a clean end."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")
    atexit.register(log.with_suffix(".json").unlink, missing_ok=True)


@contextlib.contextmanager
def output_to_log(log: Path | None) -> Iterator[None]:
    """Let what vLLM and its other processes print go to its log while they are started.

    Processes started in the meantime keep it for good; this one's own output goes where it went before.
    """
    if log is None:
        yield
        return
    saved = {number: os.dup(number) for number in (1, 2)}
    streams = sys.stdout, sys.stderr
    for stream in streams:
        stream.flush()
    sys.stdout, sys.stderr = (os.fdopen(os.dup(saved[number]), "w", buffering=1) for number in (1, 2))
    ours = sys.stdout, sys.stderr
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        for number in saved:
            os.dup2(file, number)
        yield
    finally:
        for number, copy in saved.items():
            os.dup2(copy, number)
            os.close(copy)
        os.close(file)
        sys.stdout, sys.stderr = streams
        for stream in ours:
            stream.close()


def discard_log(log: Path | None) -> None:
    """Empty the log of a session that ended well, if it was this process that began it."""
    if log is not None and log.stem == f"vllm-{os.getpid()}":
        with contextlib.suppress(OSError):
            log.unlink(missing_ok=True)
