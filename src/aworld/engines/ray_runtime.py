"""The Ray engine: each worker is guarded by a task of Ray's, or by an actor from outside."""

from __future__ import annotations

import logging
import socket
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from aworld.config import RunConfig
from aworld.core.failure import first_line
from aworld.engines.base import Invitation, RuntimeEngine, Worker
from aworld.engines.tunnel import Entrance, dig_tunnel
from aworld.engines.warden import guard
from aworld.errors import ConfigError, unknown_name

try:
    import ray
    import ray.exceptions
    from ray.util.client import ray as ray_client
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ModuleNotFoundError:
    raise ConfigError("the 'ray' engine needs: pip install 'aworld[ray]'") from None

PLACE_OPTIONS = {
    "accelerator_type",
    "label_selector",
    "memory",
    "num_cpus",
    "num_gpus",
    "resources",
    "runtime_env",
    "scheduling_strategy",
}
KNOCK_SECONDS = 10.0
MOST_JOINS = 3
INIT_OPTIONS = {
    "dashboard_host",
    "dashboard_port",
    "include_dashboard",
    "log_to_driver",
    "logging_level",
    "namespace",
    "object_store_memory",
}


class RayRuntime(RuntimeEngine):
    """Runs tasks on a Ray cluster: an embedded one, or that of the environment or at `address`.

    A cluster that is connected already is used, and left open.
    """

    start_seconds = 600.0  # a cluster may have to grow first
    closing_ends_worker = True

    def __init__(self, conf: RunConfig):
        super().__init__(conf)
        for key in conf.engine_options:
            if key not in PLACE_OPTIONS | INIT_OPTIONS:
                known = PLACE_OPTIONS | INIT_OPTIONS
                raise ConfigError(unknown_name("engine option of Ray", key, known))
        self._is_connected = False

    def open(self) -> None:
        connect(self.conf, self.worker_num)
        self._is_connected = True
        self._is_outside = ray_client.is_connected()
        if not self._is_outside and not opened_cluster.is_embedded:
            self.listen_host = ray.util.get_node_ip_address()  # other machines must reach it
        # in a cluster of our own, runs beside this one must find room
        options: dict[str, Any] = {"num_cpus": 0 if opened_cluster.is_embedded else 1}
        options |= {k: v for k, v in self.conf.engine_options.items() if k in PLACE_OPTIONS}
        try:
            if self._is_outside:
                warnings.filterwarnings("ignore", "More than 10MB of messages")  # it is meant so
                self._stand = ray.remote(OutsideStand).options(max_concurrency=4, **options)
            else:
                self._guard = ray.remote(guard).options(max_retries=0, **options)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"engine_options: {first_line(error)}") from None

    def start_worker(self, invitation: Invitation) -> Worker:
        if self._is_outside:
            return OutsideWorker(self._stand.remote(), invitation)
        return RayWorker(self._guard.remote(invitation))

    def close(self) -> None:
        if self._is_connected:
            disconnect()


class RayWorker:
    """A task of Ray's that guards the worker: it ends when the connection to it is closed.

    A task, not an actor: Ray runs it in a process that is there already.
    """

    def __init__(self, end: Any):
        self._end = end

    def wait(self) -> str:
        return _how_it_ended(self._end)

    def kill(self) -> None:
        if ray.is_initialized():  # else Ray would connect anew, to whatever it finds
            ray.cancel(self._end, force=True)


def _how_it_ended(call: Any) -> str:
    try:
        return ray.get(call)
    except Exception as error:  # the client of ray:// has errors of its own
        cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
        return f"was lost in its cluster: {first_line(cause)}"


# -- from outside, through ray:// ----------------------------------------------------------------


class OutsideStand(Entrance):
    """An actor whose worker speaks to the driver through the actor's calls."""

    def serve(self, invitation: Invitation) -> str:
        return guard(self.lead(invitation))


class OutsideWorker:
    """An actor for one worker: what is under way in its tunnel must not reach another one."""

    def __init__(self, actor: Any, invitation: Invitation):
        self._actor = actor
        self._end = actor.serve.remote(invitation)
        dig_tunnel(invitation, ActorEntrance(actor))

    def wait(self) -> str:
        how = _how_it_ended(self._end)
        self.kill()
        return how

    def kill(self) -> None:
        if ray.is_initialized():
            ray.kill(self._actor)


class ActorEntrance:
    """The entrance in an actor."""

    def __init__(self, actor: Any):
        self._actor = actor

    def open(self) -> None:
        ray.get(self._actor.open.remote())

    def pull(self) -> bytes | None:
        return ray.get(self._actor.pull.remote())

    def push(self, data: bytes) -> None:
        ray.get(self._actor.push.remote(data))

    def hang_up(self) -> None:
        self._actor.hang_up.remote()


# -- the cluster ---------------------------------------------------------------------------------


class OpenedCluster:
    """This process has one connection to Ray. If we made it, its last user closes it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.is_ours = False
        self.is_embedded = False
        self.over = threading.Event()


opened_cluster = OpenedCluster()


def connect(conf: RunConfig, cpus: int) -> None:
    """Connects to the cluster that is asked for, or uses the one that is connected."""
    init = {k: v for k, v in conf.engine_options.items() if k in INIT_OPTIONS}
    with opened_cluster.lock:
        if not ray.is_initialized():
            opened_cluster.over = threading.Event()
            _in_lasting_thread(lambda: _init(conf, cpus, init))
            opened_cluster.users = 0
            opened_cluster.is_ours = True
            opened_cluster.is_embedded = conf.is_local
        elif init:
            raise ConfigError(f"Ray is open already: too late for {', '.join(sorted(init))}")
        else:
            _check_address(conf.address)
        opened_cluster.users += 1


def disconnect() -> None:
    with opened_cluster.lock:
        opened_cluster.users -= 1
        if opened_cluster.users <= 0 and opened_cluster.is_ours:
            opened_cluster.is_ours = opened_cluster.is_embedded = False
            ray.shutdown()
            opened_cluster.over.set()


def _in_lasting_thread(start: Callable[[], None]) -> None:
    """The processes of an embedded Ray end with the thread that started them."""
    if threading.current_thread() is threading.main_thread():
        return start()
    started: Future[None] = Future()

    def keep() -> None:
        try:
            started.set_result(start())
        except BaseException as error:
            started.set_exception(error)
        else:
            opened_cluster.over.wait()

    threading.Thread(target=keep, name="aworld-ray", daemon=True).start()
    started.result()


def _init(conf: RunConfig, cpus: int, init: dict[str, Any]) -> None:
    init.setdefault("logging_level", logging.WARNING)
    try:
        if conf.is_local:
            ray.init("local", num_cpus=cpus, **{"include_dashboard": False, **init})
        else:
            _join(conf.address or "auto", init)
    except (ConnectionError, TimeoutError, ValueError) as error:
        raise ConfigError(
            f"no Ray cluster at {conf.address or 'auto'!r}: {first_line(error)} (is the address "
            "right, and RAY_AUTH_MODE the same there and here?)"
        ) from error
    except TypeError as error:
        raise ConfigError(f"engine_options: {first_line(error)}") from None


def _join(address: str, init: dict[str, Any]) -> None:
    _knock(address)
    for attempt in range(1, MOST_JOINS + 1):
        try:
            ray.init(address, **init)
            return
        except ConnectionAbortedError:  # a busy cluster may be too slow to start our end there
            if attempt == MOST_JOINS:
                raise


def _knock(address: str) -> None:
    """Ray itself takes minutes to notice that nobody is there."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


def _check_address(address: str | None) -> None:
    """Ray would silently go on with the cluster that it has."""
    if address is None or address == "auto":
        return
    if ray_client.is_connected():
        client: Any = ray_client.get_context().client_worker
        connected = f"ray://{client._conn_str}"
    else:
        connected = ray.get_runtime_context().gcs_address
    if _resolved(address) != _resolved(connected):
        raise ConfigError(
            f"Ray is connected to {connected} already, not to {address}: leave out the address, or "
            "call ray.shutdown() first"
        )


def _resolved(address: str) -> tuple[str, str, str]:
    way, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    try:
        return way, socket.gethostbyname(host), port
    except OSError:
        return way, host, port


class Node(NamedTuple):
    """A machine of the cluster, or what stands for one."""

    id: str
    address: str
    host: str
    cpus: int

    def is_called(self, name: str) -> bool:
        return name in (self.id, self.address, self.host)


def living_nodes() -> list[Node]:
    return [
        Node(
            node["NodeID"],
            node["NodeManagerAddress"],
            node["NodeManagerHostname"],
            int(node["Resources"].get("CPU", 0)),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def only_on(node: Node) -> dict[str, Any]:
    """The engine options that keep workers on one node."""
    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, soft=False)}
