"""Ray's side of the ray engine: actors on nodes, the calls they have open, and what became of them.

A call to a node that is gone can stay open for ever, so nothing is waited for without a time-out, and the
cluster is asked which nodes are alive.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from authbench.engines.ray_actor import Work, Worker, environment_to_pass
from authbench.engines.ray_options import RayOptions
from authbench.errors import EngineError
from authbench.runtime.engine import Job, ModelConfig

#: Seconds of one wait for calls.
_WAIT = 0.5
#: Seconds between two looks at the nodes.
_LOOK = 1.0
#: Seconds that a result which Ray calls ready may take to arrive.
_FETCH = 30.0
#: Seconds that a cluster's address may take to take a connection.
_REACH = 5.0
#: Calls that an actor has open: one at work, one behind it, so that it never waits for this process.
_OPEN_CALLS = 2


@dataclass(eq=False)
class Slot:
    """An actor's place.

    Attributes:
        actor: Ray's handle.
        loading: the open call that loads the model, None once it has.
        node: the node it is on, once it has loaded.
        calls: open calls, oldest first.
        jobs: what it has, by number.
        cancelled: numbers that it is to be told of with the next call.
        restarts: how often it was replaced.
        finished: jobs that it has finished, for the record.
        gone: it was lost, and its jobs have to be taken back.
        dead: it will not be replaced any more.
    """

    actor: Any
    loading: Any
    node: str = ""
    calls: list[Any] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    cancelled: list[int] = field(default_factory=list)
    restarts: int = 0
    finished: int = 0
    gone: bool = False
    dead: bool = False

    @property
    def ready(self) -> bool:
        """True if it can be given jobs."""
        return self.loading is None and not self.gone and not self.dead


class Cluster:
    """Actors of one run."""

    def __init__(
        self,
        options: RayOptions,
        model: ModelConfig,
        settings: Mapping[str, Any],
        longest: int | None = None,
    ) -> None:
        self._longest = longest
        self._options = options
        self._model = model
        self._settings = dict(settings)
        self._ours = False
        self._looked = 0.0
        self._error = ""
        self._resources: dict[str, Any] = {}
        self.slots: list[Slot] = []

    # Starting.

    def start(self) -> None:
        """Join or start a cluster, place the actors and wait for the first to have loaded its model."""
        self._connect()
        import ray

        total = ray.cluster_resources()
        nodes = [node for node in ray.nodes() if node["Alive"]]
        gpus = self._options.gpus_per_actor(self._settings, total.get("GPU", 0.0))
        count = self._options.actor_count(gpus, total.get("GPU", 0.0), len(nodes))
        self._check_room(total, gpus)
        self._resources = {"num_cpus": self._options.num_cpus, "num_gpus": gpus}
        self.slots = [self._place() for _ in range(count)]
        deadline = time.monotonic() + self._options.start_timeout
        while not any(slot.ready for slot in self.slots):
            for _ in self.wait():
                pass
            self.lost()
            self.check()
            if time.monotonic() > deadline:
                raise EngineError(
                    f"no actor was ready within {self._options.start_timeout:.0f} seconds; the cluster has "
                    f"{_room(total)}, each actor takes {self._options.num_cpus:g} CPUs and {gpus:g} GPUs\n"
                    "lower engine.num_cpus or engine.num_gpus, or raise engine.start_timeout"
                )

    def _connect(self) -> None:
        try:
            import ray
        except ImportError as error:
            raise EngineError("Ray is not installed: pip install 'authbench[ray]'") from error
        if ray.is_initialized():
            return
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        arguments: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if self._options.address is None:
            # Without an address Ray would look for a cluster, and wait minutes for one that is gone.
            arguments |= {"address": "local", "include_dashboard": False}
        else:
            arguments["address"] = self._options.address
            _check_reachable(self._options.address)
        try:
            ray.init(**arguments)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
            what = self._options.address or "on this machine"
            line = " ".join(str(error).split())[:200]
            raise EngineError(_out_of_reach(what, line)) from error
        self._ours = True

    def _check_room(self, total: Mapping[str, float], gpus: float) -> None:
        for name, wanted, setting in (
            ("GPU", gpus, "num_gpus"),
            ("CPU", self._options.num_cpus, "num_cpus"),
        ):
            if wanted > total.get(name, 0.0):
                raise EngineError(
                    f"an actor takes {wanted:g} {name}s and the cluster has {_room(total)}\n"
                    f"lower engine.{setting}, or add nodes"
                )

    def _place(self) -> Slot:
        """A new actor, wherever Ray finds room; it loads its model as soon as it is there."""
        import ray

        actor_class: Any = ray.remote(Worker)
        actor = actor_class.options(**self._resources, max_restarts=0, scheduling_strategy="SPREAD").remote(
            self._options.inner, self._model, self._settings, environment_to_pass(), self._longest
        )
        return Slot(actor, actor.load.remote())

    # Work.

    def call(self, slot: Slot, jobs: list[Job]) -> int:
        """Give an actor jobs, or let it go on with what it has; the number of calls made (0 or 1)."""
        slot.jobs.update((job.number, job) for job in jobs)
        if not jobs and (not slot.jobs or len(slot.calls) >= _OPEN_CALLS):
            return 0
        slot.calls.append(slot.actor.work.remote(jobs, slot.cancelled))
        slot.cancelled = []
        return 1

    def wait(self) -> Iterator[tuple[Slot, Work]]:
        """Wait a moment for calls; the results of those that ended well. Lost actors are marked."""
        import ray

        owners = {ref: slot for slot in self.slots if not slot.gone for ref in _open(slot)}
        if not owners:
            time.sleep(_WAIT)
            return
        ready, _ = ray.wait(list(owners), num_returns=1, timeout=_WAIT, fetch_local=False)
        if ready:  # whatever else is there by now
            ready, _ = ray.wait(list(owners), num_returns=len(owners), timeout=0, fetch_local=False)
        for ref in ready:
            slot = owners[ref]
            if slot.gone:
                continue
            result = self._fetch(ref)
            if result is None:
                slot.gone = True
            elif ref is slot.loading:
                self._loaded(slot, result)
            else:
                slot.calls.remove(ref)
                slot.finished += len(result.completions)
                yield slot, result

    def _fetch(self, ref: Any) -> Any:
        """A result, or None if its actor was lost."""
        import ray
        from ray.exceptions import GetTimeoutError, RayError, RayTaskError

        try:
            return ray.get(ref, timeout=_FETCH)
        except RayTaskError as error:  # a mistake in the actor's own code: not to be hidden
            raise EngineError(f"an actor failed: {' '.join(str(error.cause).split())[:300]}") from error
        except (GetTimeoutError, RayError) as error:
            self._error = " ".join(str(error).split())[:200]
            return None

    def _loaded(self, slot: Slot, facts: Mapping[str, Any]) -> None:
        slot.loading, slot.node = None, str(facts["node"])
        if facts["error"]:
            self.give_up(slot, str(facts["error"]))

    def give_up(self, slot: Slot, error: str) -> None:
        """An actor whose engine said that it is dead: another would fail in the same way there."""
        self._error = error
        slot.gone = slot.dead = True

    def lost(self) -> list[Slot]:
        """Slots whose actor was lost since the last time, each with a new actor or dead for good.

        Their `jobs` are the caller's to take back.
        """
        self._look_at_nodes()
        lost = [slot for slot in self.slots if slot.gone]
        for slot in lost:
            slot.gone = False
            slot.calls, slot.cancelled = [], []
            self._kill(slot)
            if slot.dead or slot.restarts >= self._options.restarts:
                slot.dead, slot.loading = True, None
                continue
            new = self._place()
            slot.actor, slot.loading, slot.node = new.actor, new.loading, ""
            slot.restarts += 1
        return lost

    def _look_at_nodes(self) -> None:
        """Mark actors on nodes that the cluster knows to be gone: their calls may never end."""
        import ray

        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        for slot in self.slots:
            if slot.node and slot.node not in alive and not slot.dead:
                slot.gone = True

    def check(self) -> None:
        """Raise `EngineError` if no actor is left."""
        if all(slot.dead for slot in self.slots):
            raise EngineError(self._error or "every actor was lost; run the same command again")

    def _kill(self, slot: Slot) -> None:
        import ray
        from ray.exceptions import RayError

        with contextlib.suppress(RayError, ValueError, RuntimeError):
            ray.kill(slot.actor)

    # The end.

    def info(self) -> dict[str, Any]:
        """Ray's version, nodes and actors, with the facts of each actor's engine."""
        import ray

        refs = [slot.actor.info.remote() if slot.ready else None for slot in self.slots]
        open_refs = [ref for ref in refs if ref is not None]
        ready = set(ray.wait(open_refs, num_returns=len(open_refs), timeout=10)[0]) if open_refs else set()
        actors = []
        for slot, ref in zip(self.slots, refs, strict=True):
            facts = self._fetch(ref) if ref in ready else None
            actors.append(
                {"node": slot.node[:12], "jobs": slot.finished, "restarts": slot.restarts, "engine": facts}
            )
        nodes = len([node for node in ray.nodes() if node["Alive"]])
        return {"ray": ray.__version__, "nodes": nodes, "actors": actors, **self._resources}

    def close(self) -> None:
        """End the actors, and what was started for this run."""
        try:
            import ray
        except ImportError:
            return
        if not ray.is_initialized():
            return
        ends = [slot.actor.close.remote() for slot in self.slots if slot.ready]
        if ends:
            ray.wait(ends, num_returns=len(ends), timeout=20)
        for slot in self.slots:
            self._kill(slot)
        self.slots = []
        if self._ours:
            ray.shutdown()
            self._ours = False


def _check_reachable(address: str) -> None:
    """Try the address, since Ray itself waits minutes for one that does not answer."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or _current_cluster()
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # a form that Ray may know
    try:
        socket.create_connection((host, int(port)), timeout=_REACH).close()
    except OSError as error:
        raise EngineError(_out_of_reach(address, error.strerror or str(error))) from error


def _current_cluster() -> str:
    """Address of the cluster that `ray start` has last made known on this machine; empty if none."""
    path = Path(os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "ray_current_cluster")
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _out_of_reach(address: str, why: str) -> str:
    return (
        f"no Ray cluster can be had at {address}: {why}\n"
        "start one with 'ray start --head' and join it with engine.address=HOST:6379, "
        "or leave engine.address out"
    )


def _open(slot: Slot) -> list[Any]:
    return [slot.loading, *slot.calls] if slot.loading is not None else slot.calls


def _room(total: Mapping[str, float]) -> str:
    return f"{total.get('CPU', 0.0):g} CPUs and {total.get('GPU', 0.0):g} GPUs"
