"""The Ray engine: each worker stands in an actor."""

from __future__ import annotations

import logging
from typing import Any

from aworld.config import RunConfig
from aworld.engines.base import Invitation, RuntimeEngine, Worker
from aworld.engines.warden import guard
from aworld.errors import ConfigError, unknown_name

try:
    import ray
    import ray.exceptions
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


class Stand:
    """An actor: a place in the cluster where one worker at a time lives."""

    def serve(self, invitation: Invitation) -> str:
        return guard(invitation)


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
        if conf.address is not None and conf.address.startswith("ray://"):
            raise ConfigError(
                "workers cannot reach a driver behind ray://: run it on a machine of the cluster, "
                "with address='auto' or 'host:port'"
            )
        self._is_ours = False
        self._free: list[Any] = []  # actors whose worker has ended
        self._actors: list[Any] = []

    def open(self) -> None:
        init = {k: v for k, v in self.conf.engine_options.items() if k in INIT_OPTIONS}
        if ray.is_initialized():
            if init:
                raise ConfigError(f"Ray is open already: too late for {', '.join(sorted(init))}")
        elif self.conf.is_local:
            self._is_ours = True
            defaults = {"include_dashboard": False, "logging_level": logging.WARNING}
            ray.init("local", num_cpus=self.worker_num, **{**defaults, **init})
        else:
            self._is_ours = True
            ray.init(self.conf.address or "auto", **{"logging_level": logging.WARNING, **init})
        here = ray.util.get_node_ip_address()
        if {node["NodeManagerAddress"] for node in ray.nodes()} != {here}:
            self.listen_host = here  # other machines must reach it
        options = {k: v for k, v in self.conf.engine_options.items() if k in ACTOR_OPTIONS}
        self._stand = ray.remote(Stand).options(**{"num_cpus": 1, "max_restarts": 0, **options})

    def start_worker(self, invitation: Invitation) -> Worker:
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
            ray.shutdown()


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
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return f"was lost with its actor: {lines[0]}"
        self._free.append(self._actor)
        return how

    def kill(self) -> None:
        pass
