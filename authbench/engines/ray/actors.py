"""Ray's side: joining a cluster, the actors in it, the calls they have open, and what became of them."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from authbench.engines.ray.settings import Settings
from authbench.engines.ray.worker import Worker, environment_to_pass
from authbench.errors import EngineError
from authbench.runtime.engine import Completion, Job, ModelConfig

#: Seconds of one wait for calls.
_WAIT = 0.5
#: Seconds that a result which Ray calls ready may take to arrive, and an address to take a connection.
_FETCH, _REACH = 30.0, 5.0
#: Calls that an actor has open: one at work, one behind it, so that it never waits for this process.
_OPEN_CALLS = 2


def connect(address: str | None) -> bool:
    """Join the cluster at an address, or start one on this machine; False if this process was in one already.

    Raises:
        EngineError: Ray is not installed, or there is no cluster at the address.
    """
    try:
        import ray
    except ImportError as error:
        raise EngineError("Ray is not installed: pip install 'authbench[ray]'") from error
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Without an address Ray would look for a cluster, and wait minutes for one that is gone.
    where = {"address": address} if address else {"address": "local", "include_dashboard": False}
    known = _known_cluster() if address == "auto" else address or ""
    host, _, port = known.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdigit():  # Ray itself waits minutes for one that does not answer
            socket.create_connection((host, int(port)), timeout=_REACH).close()
        ray.init(**where, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
        raise EngineError(
            f"no Ray cluster can be had at {known or 'this machine'}: {_line(error)}\n"
            "start one with 'ray start --head' and join it with engine.address=HOST:6379, "
            "or leave engine.address out"
        ) from error
    return True


def _known_cluster() -> str:
    """What Ray takes `auto` for: the cluster last started on this machine; empty if there is none."""
    path = Path(os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "ray_current_cluster")
    return os.environ.get("RAY_ADDRESS") or (path.read_text(encoding="utf-8") if path.is_file() else "")


@dataclass(eq=False, slots=True)
class Actor:
    """An actor, over all its restarts; it begins to load its model at once.

    Attributes:
        handle: Ray's.
        loading: the open call that loads the model, None once it has.
        node: the node that it was on when it last loaded its model.
        calls: open calls, oldest first.
        jobs: what it has, by number.
        finished: how many jobs it has finished.
        losses: how often it was lost.
        error: what it was last lost with.
        dead: it will not be restarted any more.
    """

    handle: Any
    loading: Any = None
    node: str = ""
    calls: list[Any] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    finished: int = 0
    losses: int = 0
    error: str = ""
    dead: bool = False

    def __post_init__(self) -> None:
        self._load()

    @property
    def ready(self) -> bool:
        """True if it can be given jobs."""
        return self.loading is None and not self.dead

    @property
    def open_calls(self) -> list[Any]:
        """All calls that something may come of."""
        return self.calls if self.ready else [] if self.dead else [self.loading]

    def _load(self) -> None:
        """Let it load its model, however often Ray has to restart it until it has."""
        self.calls = []
        self.loading = self.handle.load.options(max_task_retries=-1).remote()

    def call(self, jobs: list[Job]) -> bool:
        """Give it jobs, or let it go on with what it has; whether a call was made."""
        self.jobs.update((job.number, job) for job in jobs)
        if not jobs and (not self.jobs or len(self.calls) >= _OPEN_CALLS):
            return False
        self.calls.append(self.handle.work.remote(jobs))
        return True

    def finish(self, ref: Any) -> tuple[list[Completion], bool]:
        """Take note of a call that has ended: what it gave, and whether the actor was lost with its jobs."""
        result = self._fetch(ref)
        if result is None and self.loading is None:
            self.losses += 1
            self._load()
            return [], True
        if result is None:  # Ray has restarted it as often as it may
            self.dead = True
            return [], False
        given, error = result
        if self.loading is not None:
            self.loading, self.node, given = None, given, []
        else:
            self.calls.remove(ref)
            self.finished += len(given)
        if error is not None:  # its engine is dead, and would die in the same way again
            self.error, self.dead = error, True
            self.kill()
        return given, error is not None

    def _fetch(self, ref: Any) -> Any:
        """A result, or None if the actor was lost."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            return ray.get(ref, timeout=_FETCH)
        except RayTaskError as error:  # a mistake in the actor's own code: not to be hidden
            raise EngineError(f"an actor failed: {_line(error.cause)}") from error
        except RayError as error:
            self.error = _line(error)
            return None

    def facts(self) -> dict[str, Any]:
        """For the record; `engine` is None if it does not answer."""
        told = self._fetch(self.handle.info.remote()) if self.ready else None
        return {"node": self.node[:12], "jobs": self.finished, "restarts": self.losses, "engine": told}

    def kill(self) -> None:
        """End it for good."""
        import ray

        ray.kill(self.handle)


def place(
    settings: Settings, model: ModelConfig, inner: Mapping[str, Any], longest: int | None
) -> list[Actor]:
    """Actors in the cluster that this process is in, wherever Ray finds room.

    Args:
        settings: of the engine.
        model: for the inner engines.
        inner: their settings.
        longest: tokens of the plan's longest request, where the inner engine makes use of it.

    Raises:
        EngineError: the cluster has no room for one.
    """
    import ray

    total = ray.cluster_resources()
    gpus = settings.gpus_per_actor(inner, total.get("GPU", 0.0))
    for name, wanted in (("GPU", gpus), ("CPU", settings.num_cpus)):
        if wanted > total.get(name, 0.0):
            raise EngineError(
                f"an actor takes {wanted:g} {name}s and the cluster has {total.get(name, 0.0):g}\n"
                f"lower engine.num_{name.lower()}s, or add nodes"
            )
    remote: Any = ray.remote(Worker).options(
        num_cpus=settings.num_cpus,
        num_gpus=gpus,
        max_restarts=settings.restarts,
        scheduling_strategy="SPREAD",
    )
    arguments = (settings.inner, model, inner, environment_to_pass(), longest)
    count = settings.actor_count(gpus, total.get("GPU", 0.0), living_nodes())
    return [Actor(remote.remote(*arguments)) for _ in range(count)]


def wait(actors: Sequence[Actor]) -> Iterator[tuple[Actor, list[Completion], bool]]:
    """Wait a moment for calls: of each that ended, what it gave and whether the actor was lost with its jobs.

    Raises:
        EngineError: no actor is left.
    """
    import ray

    owners = {ref: actor for actor in actors for ref in actor.open_calls}
    ready, _ = ray.wait(list(owners), num_returns=1, timeout=_WAIT, fetch_local=False)
    if ready:  # whatever else is there by now
        ready, _ = ray.wait(list(owners), num_returns=len(owners), timeout=0, fetch_local=False)
    for ref in ready:
        if ref in owners[ref].open_calls:  # else the actor was lost with a call before this one
            yield owners[ref], *owners[ref].finish(ref)
    if all(actor.dead for actor in actors):
        errors = [actor.error for actor in actors if actor.error]
        raise EngineError(errors[-1] if errors else "every actor was lost; run the same command again")


def living_nodes() -> int:
    """How many nodes the cluster has."""
    import ray

    return sum(node["Alive"] for node in ray.nodes())


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
