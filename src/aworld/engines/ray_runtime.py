"""The Ray engine: each worker stands in an actor."""

from __future__ import annotations

import logging
import socket
import warnings
from typing import Any, NamedTuple

from aworld.config import RunConfig
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

ACTOR_OPTIONS = {
    "accelerator_type",
    "label_selector",
    "memory",
    "num_cpus",
    "num_gpus",
    "resources",
    "runtime_env",
    "scheduling_strategy",
}
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

    def __init__(self, conf: RunConfig):
        super().__init__(conf)
        for key in conf.engine_options:
            if key not in ACTOR_OPTIONS | INIT_OPTIONS:
                known = ACTOR_OPTIONS | INIT_OPTIONS
                raise ConfigError(unknown_name("engine option of Ray", key, known))
        self._is_ours = False
        self._free: list[Any] = []  # actors whose worker has ended
        self._actors: list[Any] = []

    def open(self) -> None:
        self._is_ours = connect(self.conf, self.worker_num)
        self._is_outside = ray_client.is_connected()
        if not self._is_outside:
            here = ray.util.get_node_ip_address()
            if {node["NodeManagerAddress"] for node in ray.nodes()} != {here}:
                self.listen_host = here  # other machines must reach it
        options = {k: v for k, v in self.conf.engine_options.items() if k in ACTOR_OPTIONS}
        options = {"num_cpus": 1, "max_restarts": 0, **options}
        if self._is_outside:
            options["max_concurrency"] = 3  # it serves, and is pulled from and pushed to meanwhile
            warnings.filterwarnings("ignore", "More than 10MB of messages")  # it is meant so
        self._stand = ray.remote(OutsideStand if self._is_outside else Stand).options(**options)

    def start_worker(self, invitation: Invitation) -> Worker:
        if self._is_outside:
            return OutsideWorker(self._stand.remote(), invitation)
        if self._free:
            actor = self._free.pop()
        else:
            actor = self._stand.remote()
            self._actors.append(actor)
        return RayWorker(actor, invitation, self._free)

    def close(self) -> None:
        for actor in self._actors:
            ray.kill(actor)
        if self._is_ours:
            disconnect()


# -- the cluster ---------------------------------------------------------------------------------


def connect(conf: RunConfig, cpus: int) -> bool:
    """Connects to the cluster that is asked for; says whether it was this call that did it."""
    init = {k: v for k, v in conf.engine_options.items() if k in INIT_OPTIONS}
    if ray.is_initialized():
        if init:
            raise ConfigError(f"Ray is open already: too late for {', '.join(sorted(init))}")
        _check_address(conf.address)
        return False
    init.setdefault("logging_level", logging.WARNING)
    if conf.is_local:
        ray.init("local", num_cpus=cpus, **{"include_dashboard": False, **init})
        return True
    address = conf.address or "auto"
    try:
        ray.init(address, **init)
    except (ConnectionError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ConfigError(
            f"no Ray cluster at {address!r}: {lines[0]} (is the address right, and RAY_AUTH_MODE "
            "the same there and here?)"
        ) from error
    return True


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


def disconnect() -> None:
    ray.shutdown()


# -- inside the cluster's network ------------------------------------------------------------------


class Stand:
    """An actor: a place in the cluster where one worker at a time lives."""

    def serve(self, invitation: Invitation) -> str:
        return guard(invitation)


class RayWorker:
    """One call of an actor. It ends when the driver closes the connection to the worker."""

    def __init__(self, actor: Any, invitation: Invitation, free: list[Any]):
        self._actor = actor
        self._free = free
        self._end = actor.serve.remote(invitation)

    def wait(self) -> str:
        try:
            how: Any = ray.get(self._end)
        except ray.exceptions.RayError as error:
            return _loss_of(self._actor, error)
        self._free.append(self._actor)
        return how

    def kill(self) -> None:
        pass


def _loss_of(actor: Any, error: Exception) -> str:
    """Says why an actor is of no use any more, and gives up its place."""
    ray.kill(actor)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
    return f"was lost with its actor: {reason}"


# -- from outside, through ray:// ------------------------------------------------------------------


class OutsideStand:
    """An actor whose worker speaks to the driver through the actor's calls."""

    def __init__(self) -> None:
        self._entrance = Entrance()

    def serve(self, invitation: Invitation) -> str:
        return guard(self._entrance.lead(invitation))

    def call_entrance(self, method: str, *args: Any) -> Any:
        return getattr(self._entrance, method)(*args)


class OutsideWorker:
    """An actor for one worker: what is under way in its tunnel must not reach another one."""

    def __init__(self, actor: Any, invitation: Invitation):
        self._actor = actor
        self._end = actor.serve.remote(invitation)
        dig_tunnel(invitation, FarEntrance(actor))

    def wait(self) -> str:
        try:
            how: Any = ray.get(self._end)
        except Exception as error:  # the client has errors of its own
            return _loss_of(self._actor, error)
        ray.kill(self._actor)
        return how

    def kill(self) -> None:
        pass


class FarEntrance:
    """The entrance in an actor."""

    def __init__(self, actor: Any):
        self._actor = actor

    def open(self) -> None:
        ray.get(self._actor.call_entrance.remote("open"))

    def pull(self) -> bytes | None:
        return ray.get(self._actor.call_entrance.remote("pull"))

    def push(self, data: bytes) -> None:
        ray.get(self._actor.call_entrance.remote("push", data))
