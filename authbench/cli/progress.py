"""What a person sees while a run goes on: a live line in a terminal, else a plain line every ten seconds."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from contextlib import suppress

from authbench.cli.common import say
from authbench.runtime.scheduler import Progress

#: Seconds between two plain lines, and between two redraws of the live one.
PLAIN_INTERVAL = 10.0
LIVE_INTERVAL = 0.25


class Reporter:
    """Watches the scheduler's counters from a thread of its own, so that the engine never waits for it."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._last = ""

    def note(self, text: str) -> None:
        """Print a note on stderr."""
        say(f"note: {text}", quiet=self._quiet)

    def begin(self, model: str, total: int, progress: Progress) -> None:
        """Start to show a model's progress."""
        if self._quiet:
            return
        self._stop.clear()
        self._last = ""
        self._thread = threading.Thread(target=self._watch, args=(model, total, progress), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Show the last state and stop."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _watch(self, model: str, total: int, progress: Progress) -> None:
        started = time.monotonic()
        interval = LIVE_INTERVAL if self._live else PLAIN_INTERVAL
        while not self._stop.wait(interval):
            self._show(status_line(model, total, progress, time.monotonic() - started), last=False)
        self._show(status_line(model, total, progress, time.monotonic() - started), last=True)

    def _show(self, line: str, *, last: bool) -> None:
        if not self._live:
            say(line)
            return
        shown = line[: max(1, shutil.get_terminal_size().columns - 1)]  # a line that wraps cannot be redrawn
        padding = " " * max(0, len(self._last) - len(shown))
        self._last = shown
        with suppress(OSError, ValueError):
            sys.stderr.write(f"\r{shown}{padding}" + ("\n" if last else ""))
            sys.stderr.flush()


def status_line(model: str, total: int, progress: Progress, seconds: float) -> str:
    """One line, below 80 columns for usual numbers: done, calls, store, invalid share, speed, time left."""
    done = progress.procedures
    share = 100 * done // total if total else 100
    parts = [f"{model} {done:,}/{total:,} ({share}%)", f"{progress.calls:,} calls"]
    if progress.submitted:
        parts.append(f"{progress.answered:,}/{progress.submitted:,} answered")
    if progress.from_store:
        parts.append(f"{progress.from_store:,} stored")
    if progress.answers:
        parts.append(f"{100 * progress.invalid / progress.answers:.0f}% invalid")
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    tokens = progress.prompt_tokens + progress.output_tokens
    if tokens and seconds > 0:
        parts.append(f"{tokens / seconds:,.0f} tok/s")
    if 0 < done < total:
        parts.append(f"{_clock(seconds / done * (total - done))} left")
    else:
        parts.append(_clock(seconds))
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
