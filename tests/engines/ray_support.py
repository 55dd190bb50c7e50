"""A Ray cluster of several nodes on this machine, made with `ray start`, each of which can be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


class RayNodes:
    """The first node is the head. Each node's processes are a process group of their own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._start("--head", f"--port={self.port}", "--include-dashboard=false")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def add(self) -> int:
        """A further node; gives its place in `nodes`."""
        self._wait_for_head()
        self._start(f"--address={self.address}")
        return len(self.nodes) - 1

    def kill(self, index: int) -> None:
        os.killpg(self.nodes[index].pid, signal.SIGKILL)
        self.nodes[index].wait()

    def wait_for(self, count: int, seconds: float = 90) -> None:
        """Until so many nodes are alive; joins the cluster."""
        import ray

        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if not ray.is_initialized():
                    ray.init(address=self.address, logging_level="ERROR", log_to_driver=False)
                if sum(node["Alive"] for node in ray.nodes()) == count:
                    return
            except ConnectionError:
                pass
            time.sleep(0.5)
        raise TimeoutError(f"no cluster of {count} nodes within {seconds} seconds")

    def stop(self) -> None:
        for index, node in enumerate(self.nodes):
            if node.poll() is None:
                self.kill(index)

    def _wait_for_head(self, seconds: float = 90) -> None:
        """A node that is started before the head answers gives up at once."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            time.sleep(0.2)
        raise TimeoutError(f"the head did not answer within {seconds} seconds")

    def _start(self, *arguments: str) -> None:
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1"]
        command += ["--node-ip-address=127.0.0.1", "--disable-usage-stats", *arguments]
        self.nodes.append(
            subprocess.Popen(
                command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
