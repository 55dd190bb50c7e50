"""`authbench rag filter`: a filter over a user's own documents, with the scheduler and the store of a run."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from authbench.engines.registry import default_engine, make_engine
from authbench.errors import ConfigError, DataError
from authbench.experiment.jobs import STORE_FILE
from authbench.experiment.models import load_model
from authbench.experiment.running import Observer, Silent
from authbench.prompts.render import rag_prompts
from authbench.rag.filters import ASKED, Filter
from authbench.rag.selection import Cut
from authbench.runtime.engine import Engine
from authbench.runtime.scheduler import Finished, Scheduler
from authbench.runtime.store import Store
from authbench.tasks.fitting import Fitter
from authbench.tasks.rag.userfile import Line, LineFilter, filtered_row, line_status, read_lines


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """How a file is filtered.

    Attributes:
        chosen: the filter; made of parts that a model is asked for.
        cut: how many documents are kept, or from which score on.
        minimum: fewest documents that a threshold keeps.
        model: as `authbench run --models` takes it.
        engine: None for the one that fits this machine.
        settings: the engine's own.
        constrain: as in an experiment.
        overflow: `truncate` cuts documents that do not fit the model, `error` refuses the line.
        text_chars: most characters shown of each document.
        results: where the store lies.
        fresh: ask again what the store knows.
    """

    chosen: Filter
    cut: Cut
    model: str
    minimum: int = 0
    engine: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    constrain: str = "none"
    overflow: Literal["error", "truncate"] = "truncate"
    text_chars: int | None = None
    results: Path = Path("results")
    fresh: bool = False


@dataclass(slots=True)
class FilterSummary:
    """What came of a file: lines and documents, and what did not go smoothly.

    Attributes:
        statuses: lines by the status of the filter's answers (the worst of a line), `failed` among them.
        ties: lines where only the order of the documents decided at the cut.
        truncated: lines whose documents were cut to fit the model.
        asked: requests that the model answered; the others were known.
    """

    model: str
    engine: str
    lines: int = 0
    documents: int = 0
    kept: int = 0
    ties: int = 0
    truncated: int = 0
    asked: int = 0
    statuses: Counter[str] = field(default_factory=Counter)


def filter_file(
    source: Path, target: Path | None, options: FilterOptions, observer: Observer | None = None
) -> FilterSummary:
    """Filter every line of a file and write them in the same order.

    The whole file is checked before a model is loaded. Answers go to the store of `options.results`, so that
    a run that was stopped goes on where it was; the output appears when it is complete.

    Args:
        source: JSONL, see `authbench.tasks.rag.userfile.read_lines`.
        target: where the lines go; None for stdout.

    Raises:
        ConfigError, DataError: before anything is asked.
        EngineError: an engine that cannot start or dies; what was answered is kept.
    """
    observer = observer or Silent()
    if not options.chosen.parts or set(options.chosen.parts) - set(ASKED):
        raise ConfigError(f"--filter {options.chosen.name}: it must be made of {', '.join(ASKED)}")
    if target is not None and target.exists() and target.samefile(source):
        raise ConfigError(f"{target} is the input; write to another file")
    total = sum(1 for _ in _lines(source, options))
    model = load_model(options.model)
    name = options.engine or default_engine()
    engine = make_engine(name, model, {**model.engine.get(name, {}), **options.settings})
    summary = FilterSummary(model.name, name)
    try:
        with Store(options.results / STORE_FILE) as store:
            if store.repaired:
                observer.note(store.repaired)
            number = store.register(engine.identity, engine.rendering)
            since = time.time() if options.fresh else None
            scheduler = Scheduler(engine, store, number, since=since)
            observer.begin(model.name, total, scheduler.progress)
            try:
                _write(target, _filtered(source, options, engine, scheduler, summary))
            finally:
                observer.end()
            summary.asked = scheduler.progress.answered
    finally:
        engine.close()
    return summary


def _lines(source: Path, options: FilterOptions) -> Iterator[Line]:
    return read_lines(source, need_question=set(options.chosen.parts) != {"authority"})


def _filtered(
    source: Path, options: FilterOptions, engine: Engine, scheduler: Scheduler, summary: FilterSummary
) -> Iterator[str]:
    """The output's lines, in the order of the input's."""
    fitter = Fitter(engine, options.overflow, options.text_chars)
    prompts = rag_prompts(constrain=options.constrain)
    judge = LineFilter(options.chosen, options.cut, options.minimum, prompts, fitter)
    waiting: dict[int, str] = {}
    following = 0
    for finished in scheduler.run(_lines(source, options), judge.start):
        row = _row(finished, judge, summary)
        waiting[finished.unit.number] = json.dumps(row, ensure_ascii=False) + "\n"
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _row(finished: Finished[Line], judge: LineFilter, summary: FilterSummary) -> dict[str, Any]:
    """A line of the output, counted in `summary`."""
    line, outcome = finished.unit, finished.outcome
    values = {} if outcome is None else outcome.values
    status = line_status(outcome)
    summary.lines += 1
    summary.documents += len(line.question.documents)
    summary.kept += len(values.get("kept") or ())
    summary.ties += bool(values.get("tie"))
    summary.truncated += line.question.id in judge.fitter.truncated
    summary.statuses[status] += 1
    facts = {
        "cut": judge.cut.name,
        "model": summary.model,
        "engine": summary.engine,
        "status": status,
        "error": finished.error,
        "text_chars": judge.text_chars(line),
    }
    return filtered_row(line, judge.chosen, values, facts)


def _write(target: Path | None, lines: Iterator[str]) -> None:
    if target is None:
        sys.stdout.writelines(lines)
        return
    partial = target.with_name(target.name + ".partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8", errors="replace", newline="\n") as out:
            out.writelines(lines)
        partial.replace(target)
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror}; the answers are kept") from None
    finally:
        partial.unlink(missing_ok=True)
