"""What a run would ask, without asking it: calls, unique calls, tokens, overflows. Loads no weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from authbench.engines.registry import make_engine
from authbench.errors import ConfigError, UnavailableError
from authbench.experiment.jobs import STORE_FILE, Job, plan_jobs
from authbench.experiment.loading import Experiment
from authbench.runtime.engine import Engine, RenderedPrompt
from authbench.runtime.keys import KeyMaker
from authbench.runtime.store import Store
from authbench.tasks.base import Group, Task, first_round, take
from authbench.tasks.fitting import Fitter
from authbench.tasks.registry import make_task

#: Characters of English text per token, for estimates where there is no tokenizer.
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Tokens:
    """Prompt lengths of a group's unique requests. `exact` is False for estimates from characters."""

    median: int
    p95: int
    most: int
    exact: bool


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What one group would ask in its first round.

    Attributes:
        items: units of the group.
        calls: requests before merging; later rounds (of RAG, LCR) are not in it.
        unique_calls: different requests among them.
        new_calls: of these, not asked by an earlier group of the plan and not in the store.
        overflows: items with a prompt that does not fit the model's context; the run's policy decides.
        example: a rendered prompt.
        without: why the plan was made without the engine or the model's files, which are not here: its token
            counts are estimates, and neither the store nor the model's context was looked at; else None.
        lacking: what a run of this group would need and this machine lacks; None where nothing is known.
    """

    experiment: str
    model: str
    group: str
    items: int
    calls: int
    unique_calls: int
    new_calls: int
    tokens: Tokens
    overflows: int
    example: str
    without: str | None = None
    lacking: str | None = None


def plan(experiments: Sequence[Experiment], results: Path, limit: int | None = None) -> list[GroupPlan]:
    """Plan every group of every experiment with every model.

    Requests are counted over all experiments together: what two of them ask alike is new only once.
    """
    jobs = plan_jobs(experiments)
    seen: set[bytes] = set()
    store_path = results / STORE_FILE
    with Store(store_path, read_only=True) if store_path.is_file() else nullcontext() as store:
        return [row for job in jobs for row in _plan_job(job, seen, store, limit)]


def _plan_job(job: Job, seen: set[bytes], store: Store | None, limit: int | None) -> list[GroupPlan]:
    engine, without = _engine_or_none(job)
    if without is not None:
        store = None  # it may hold made-up answers to the same prompts
    with closing(engine):
        fitter = Fitter(engine, "note", job.experiment.settings.text_chars)
        task = make_task(job.experiment.settings, fitter)
        rows = [_plan_group(job, task, group, engine, seen, store, limit) for group in task.groups()]
    return [replace(row, without=without) for row in rows]


def _engine_or_none(job: Job) -> tuple[Engine, str | None]:
    """The job's engine; where it or its model's files cannot be had here, one without a model, and why."""
    try:
        engine = make_engine(job.engine, job.model, job.engine_settings)
        _ = engine.identity, engine.rendering  # which need the files
    except UnavailableError as error:
        return make_engine("fake", job.model, {}), str(error).splitlines()[0]
    return engine, None


def _plan_group(
    job: Job,
    task: Task,
    group: Group,
    engine: Engine,
    seen: set[bytes],
    store: Store | None,
    limit: int | None,
) -> GroupPlan:
    make_key = KeyMaker(engine.identity)
    task.fitter.met.clear()
    items = calls = 0
    prompts: dict[bytes, RenderedPrompt] = {}
    for unit in take(task.units(group), limit):
        items += 1
        for request in first_round(unit.start()):
            calls += 1
            prompt = engine.render(request)
            prompts.setdefault(make_key(request, prompt), prompt)
    fresh = [key for key in prompts if key not in seen]
    seen.update(fresh)
    known = store.get(fresh) if store is not None else {}
    example = next(iter(prompts.values())).text if prompts else ""
    return GroupPlan(
        experiment=job.experiment.name,
        model=job.model.name,
        group=group.id,
        items=items,
        calls=calls,
        unique_calls=len(prompts),
        new_calls=len(fresh) - len(known),
        tokens=_tokens(engine, list(prompts.values())),
        overflows=len(task.fitter.met),
        example=example,
        lacking=task.lacking(group, limit),
    )


def _tokens(engine: Engine, prompts: Sequence[RenderedPrompt]) -> Tokens:
    if not prompts:
        return Tokens(0, 0, 0, True)
    counts = engine.count_tokens(prompts)
    exact = counts is not None
    if counts is None:
        counts = [-(-len(prompt.text) // CHARS_PER_TOKEN) for prompt in prompts]
    counts = sorted(counts)
    return Tokens(
        counts[len(counts) // 2], counts[min(len(counts) - 1, len(counts) * 95 // 100)], counts[-1], exact
    )


def rendered_prompts(
    experiments: Sequence[Experiment], *, item: int = 0, group: str | None = None, everything: bool = False
) -> list[dict[str, str]]:
    """First-round prompts of one item, as the first model of each experiment sees them.

    Args:
        item: number of the item within its group.
        group: only groups whose name contains this.
        everything: every request of the round instead of the first.

    Raises:
        ConfigError: no such item or group.
    """
    rows = []
    for job in plan_jobs([_first_model(experiment) for experiment in experiments]):
        with closing(make_engine(job.engine, job.model, job.engine_settings)) as engine:
            fitter = Fitter(engine, "note", job.experiment.settings.text_chars)
            task = make_task(job.experiment.settings, fitter)
            for candidate in task.groups():
                if group is not None and group not in candidate.id:
                    continue
                unit = next((unit for unit in task.units(candidate) if unit.number == item), None)
                if unit is None:
                    continue
                requests = first_round(unit.start())
                rows += [
                    {
                        "experiment": job.experiment.name,
                        "model": job.model.name,
                        "group": candidate.id,
                        "item": unit.item,
                        "prompt": engine.render(request).text,
                    }
                    for request in (requests if everything else requests[:1])
                ]
    if not rows:
        raise ConfigError(
            f"no item {item}{f' in a group named like {group!r}' if group else ''}: "
            "`authbench run --dry-run` shows the groups and how many items each has, counted from 0 here"
        )
    return rows


def _first_model(experiment: Experiment) -> Experiment:
    settings = experiment.settings.model_copy(update={"models": experiment.settings.models[:1]})
    return replace(experiment, settings=settings)
