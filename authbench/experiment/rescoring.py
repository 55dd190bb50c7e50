"""Measures a run again from the store alone: a better parser or measure needs no model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from authbench import RESULTS_FORMAT
from authbench.engines.replay import RecordedEngine
from authbench.errors import ConfigError, DataError
from authbench.experiment.facts import measured_facts
from authbench.experiment.folder import RunFolder
from authbench.experiment.jobs import STORE_FILE, Job
from authbench.experiment.loading import Experiment, said
from authbench.experiment.running import Prepared, judge
from authbench.runtime.engine import ModelConfig, ModelIdentity
from authbench.runtime.keys import rendering_digest
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import ModelRecord, Store
from authbench.tasks.fitting import Fitter
from authbench.tasks.registry import EXPERIMENT, AnyExperiment, make_task


def rescore(path: Path) -> RunFolder:
    """Write `items.jsonl` and `cells.json` of a run anew from its configuration and the store.

    Args:
        path: a run's folder, `results/<experiment>/<model>`.

    Raises:
        ConfigError: a run of another format.
        DataError: no run there, or answers that it needs are not in the store.
    """
    folder = RunFolder(path)
    facts = folder.read()
    if facts is None:
        raise DataError(f"{path} holds no run (no run.json); name a folder such as results/EXPERIMENT/MODEL")
    settings = stored_settings(folder, facts)
    store_path = path.parent.parent / STORE_FILE
    if not store_path.is_file():
        raise DataError(f"no store at {store_path}: the answers of this run are not on this machine")
    with Store(store_path, read_only=True) as store:
        number, engine = _recorded(store, facts, store_path)
        prepared = _prepare(facts, settings, engine, folder)
        judge([prepared], Scheduler(engine, store, number), facts.get("limit"))
    _refuse_gaps(prepared, facts, path)
    facts |= measured_facts(prepared.task, prepared.answers, facts.get("limit"), facts.get("fresh_since"))
    prepared.write_results(facts)
    return folder


def _recorded(store: Store, facts: Mapping[str, Any], path: Path) -> tuple[int, RecordedEngine]:
    """The model as it was asked: with the chat template of this run, where it was asked with several."""
    identity = ModelIdentity(**facts["identity"])
    same = [(number, record) for number, record in store.models() if record.identity == identity]
    if not same:
        raise DataError(
            f"{path} has no answers of {identity.model} ({identity.family}, {identity.precision})"
        )
    wanted = facts.get("rendering_hash")
    exact = [pair for pair in same if rendering_digest(pair[1].rendering) == wanted]
    number, record = (exact or same)[0]
    return number, RecordedEngine(ModelRecord(identity, record.rendering), {})


def stored_settings(folder: RunFolder, facts: Mapping[str, Any]) -> AnyExperiment:
    """The configuration of a run.

    Raises `ConfigError` for a run of another format, or a configuration that is not understood any more.
    """
    from pydantic import ValidationError

    if facts.get("format") != RESULTS_FORMAT:
        raise ConfigError(
            f"{folder.run} has format {facts.get('format')}, this authbench reads {RESULTS_FORMAT}\n"
            "use the version that wrote it, or run the experiment again"
        )
    try:
        return EXPERIMENT.validate_python(facts["config"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        raise ConfigError(f"{folder.run}: config.{place} is not understood: {said(first)}") from None


def _prepare(
    facts: Mapping[str, Any], settings: AnyExperiment, engine: RecordedEngine, folder: RunFolder
) -> Prepared:
    try:
        model = ModelConfig(**{k: v for k, v in facts["model"].items() if k != "precision"})
    except TypeError as error:
        raise ConfigError(f"{folder.run}: its model is not understood: {error}") from None
    experiment = Experiment(facts["experiment"], Path(facts["experiment"]), settings)
    job = Job(experiment, model, facts["engine"]["name"], facts["engine"].get("settings", {}))
    fitter = Fitter(engine, text_chars=settings.text_chars, recorded=facts.get("truncated", {}))
    task = make_task(settings, fitter)
    task.left_out.update(facts.get("left_out", {}))
    return Prepared(job, task, folder)


def _refuse_gaps(prepared: Prepared, facts: Mapping[str, Any], path: Path) -> None:
    """Items that failed in the run may be missing; nothing else may."""
    missing = len(prepared.answers.errors)
    allowed = facts.get("failed_items", 0)
    if missing > allowed:
        raise DataError(
            f"{path}: the store lacks answers for {missing - allowed} of {len(prepared.answers)} items; "
            "run the experiment again to ask for them"
        )
