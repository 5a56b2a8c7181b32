"""Where the engines run: this machine, a real Ray cluster of two nodes, a real Spark cluster."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil
from processes import end, kill_all, start, tree_of

HEAD, NODE = "127.0.0.12", "127.0.0.13"
NODE_SECONDS = 10.0  # until a node that was killed is started again
LISTEN_SECONDS = 60.0
EXECUTOR = "CoarseGrainedExecutorBackend"
SLOTS = 2  # of each node or executor; there are two


class Place:
    """This machine, as it is. `faults` are those that the place has beside workers and drivers."""

    address: str | None = None
    options: dict[str, str]

    def __init__(self, folder: Path, env: dict[str, str]):
        self.folder = folder
        self.env = env
        self.options = {}
        self.faults: dict[str, Callable[[random.Random], bool]] = {}

    def open(self) -> None: ...

    def look_after(self) -> None:
        """Called often: starts again what was killed a while ago."""

    def close(self) -> None: ...


class RayPlace(Place):
    def __init__(self, folder: Path, env: dict[str, str]):
        # a token of this cluster alone: Ray would look for the user's, or make one for good
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
        super().__init__(folder, {**env, **token, "RAY_USAGE_STATS_ENABLED": "0"})
        self._ray = str(Path(sys.executable).parent / "ray")
        self._temp = tempfile.mkdtemp(prefix="soak-")  # short: sockets in it have long names
        self._head: subprocess.Popen[bytes] | None = None
        self._node: subprocess.Popen[bytes] | None = None
        self._start_node_at = 0.0
        self.faults = {"node": self.kill_node}

    def open(self) -> None:
        port = free_port(HEAD)
        self.address = f"{HEAD}:{port}"
        head = ["--head", f"--port={port}", f"--node-ip-address={HEAD}"]
        head += [f"--ray-client-server-port={free_port(HEAD)}", "--include-dashboard=false"]
        self._head = self._start(*head, f"--temp-dir={self._temp}")
        wait_until_listening(HEAD, port)
        self._start_node()

    def _start_node(self) -> None:
        self._node = self._start(f"--address={self.address}", f"--node-ip-address={NODE}")

    def _start(self, *options: str) -> subprocess.Popen[bytes]:
        # any free ports: other clusters may be on this machine
        more = ("--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0")
        size = (f"--num-cpus={SLOTS}", "--object-store-memory=100000000")
        command = [self._ray, "start", "--block", *more, *size, *options]
        return start(command, self.folder / "ray.log", self.env)

    def kill_node(self, luck: random.Random) -> bool:
        """All of its processes at once, as when a machine loses its power."""
        tree = [] if self._node is None else tree_of(self._node)
        if not any(is_called(process, "raylet") for process in tree):
            return False  # it is not up yet
        end(self._node)
        self._node = None
        self._start_node_at = time.monotonic() + NODE_SECONDS
        return True

    def look_after(self) -> None:
        if self._node is not None and self._node.poll() is not None:  # it could not join
            self._node = None
            self._start_node_at = time.monotonic() + NODE_SECONDS
        if self._node is None and time.monotonic() >= self._start_node_at:
            self._start_node()

    def close(self) -> None:
        end(self._node)
        end(self._head)
        shutil.rmtree(self._temp, ignore_errors=True)


class SparkPlace(Place):
    def __init__(self, folder: Path, env: dict[str, str]):
        import pyspark

        home = Path(pyspark.__file__).parent
        more = {"SPARK_HOME": str(home), "SPARK_NO_DAEMONIZE": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
        super().__init__(folder, {**env, **more, "PYSPARK_PYTHON": sys.executable})
        self._class = str(home / "bin" / "spark-class")
        self._parts: list[subprocess.Popen[bytes]] = []
        self.options = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
        }
        self.faults = {"executor": self.kill_executor}

    def open(self) -> None:
        port = free_port("127.0.0.1")
        self.address = f"spark://127.0.0.1:{port}"
        self._start("master.Master", "--port", str(port))
        wait_until_listening("127.0.0.1", port)
        for number in range(2):
            size = ["--cores", str(SLOTS), "--memory", "1g"]
            work = ["--work-dir", str(self.folder / f"spark-{number}")]
            self._start("worker.Worker", *size, *work, self.address)

    def _start(self, name: str, *options: str) -> None:
        command = [self._class, f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *options]
        self._parts.append(start(command, self.folder / "spark.log", self.env))

    def kill_executor(self, luck: random.Random) -> bool:
        """The JVM alone: what it has started has to notice."""
        found = [one for part in self._parts for one in tree_of(part) if is_called(one, EXECUTOR)]
        if not found:
            return False
        kill_all([luck.choice(sorted(found, key=lambda process: process.pid))])
        return True

    def close(self) -> None:
        for part in reversed(self._parts):
            end(part)


PLACES: dict[str, type[Place]] = {"local": Place, "ray": RayPlace, "spark": SparkPlace}


def is_called(process: psutil.Process, name: str) -> bool:
    try:
        return any(part.endswith(name) for part in process.cmdline())
    except psutil.Error:  # it has just ended
        return False


def free_port(host: str) -> int:
    with socket.create_server((host, 0)) as listening:
        return listening.getsockname()[1]


def wait_until_listening(host: str, port: int) -> None:
    deadline = time.monotonic() + LISTEN_SECONDS
    while True:
        try:
            socket.create_connection((host, port), timeout=1.0).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody listens at {host}:{port}: see the logs") from None
            time.sleep(0.1)


def environment() -> dict[str, str]:
    """Without the address of another cluster, which Ray would prefer."""
    return {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
