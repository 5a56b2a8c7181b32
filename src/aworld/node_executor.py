"""Calls for the nodes of a Ray cluster, each to the one that has the least to do."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from aworld.config import EngineName, RunConfig
from aworld.errors import ConfigError, EngineError
from aworld.executor import DistributedExecutor, as_result, cancel

if TYPE_CHECKING:
    from aworld.engines.ray_runtime import Node

log = logging.getLogger("aworld")


@dataclass(eq=False, slots=True)
class _Place:
    """A node in use."""

    node: Node
    executor: DistributedExecutor
    load: int = 0  # calls in flight


class RemoteNodeExecutor:
    """Runs each call on the node with the least in flight.

    `nodes` are named by address, host name or Ray's node id; None means all that are alive. It uses
    the Ray that is connected, or connects to the cluster of the environment or at the address of
    `run_conf`. On each node `worker_num` workers run, or one for each of its CPUs. A node that dies
    is taken out, and its calls go to the others: they may be run a second time.
    """

    def __init__(self, nodes: Iterable[str] | None = None, run_conf: RunConfig | None = None):
        from aworld.engines import ray_runtime

        conf = run_conf or RunConfig(engine_name=EngineName.RAY, in_local=False)
        if conf.engine_name != EngineName.RAY or conf.cls is not None:
            raise ConfigError("nodes are those of a Ray cluster: set engine_name=EngineName.RAY")
        if isinstance(nodes, str):
            raise ConfigError(f"nodes must be a list of names, got the str {nodes!r}")
        self._lock = threading.RLock()
        self._futures: dict[str, Future[Any]] = {}
        self._places: dict[str, _Place] = {}  # by the name that the user has for it
        self._is_ours = ray_runtime.connect(conf, 1)
        try:
            for name, node in _chosen(nodes, ray_runtime.living_nodes()).items():
                self._places[name] = _Place(node, _executor_on(node, conf))
        except BaseException:
            self.shutdown()
            raise

    @property
    def nodes(self) -> list[str]:
        """Those that are in use: the dead are taken out."""
        with self._lock:
            return list(self._places)

    @property
    def node_load(self) -> dict[str, int]:
        """How many calls are in flight on each node."""
        with self._lock:
            return {name: place.load for name, place in self._places.items()}

    async def submit_to_least_loaded(
        self, task_fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> str:
        """Starts a call, and returns the id under which its result will be found."""
        task_id = uuid.uuid4().hex
        result: Future[Any] = Future()
        self._send(partial(task_fn, *args, **kwargs), result)
        self._futures[task_id] = result
        return task_id

    async def result(self, task_id: str) -> Any:
        """Waits for what the call returned, or raises what it raised. Each is given once."""
        if task_id not in self._futures:
            raise ConfigError(f"no call {task_id!r} is under way, or its result was given already")
        future = self._futures[task_id]
        try:
            return await asyncio.wrap_future(future)
        finally:
            if future.done():
                self._futures.pop(task_id, None)

    def collect_results(self) -> dict[str, dict[str, Any]]:
        """What has finished, each once: {id: {"success": ..., "result" or "error": ...}}."""
        done = [task_id for task_id, future in list(self._futures.items()) if future.done()]
        return {task_id: as_result(self._futures.pop(task_id)) for task_id in done}

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; the workers go when the last one has ended."""
        with self._lock:
            places = list(self._places.values())
        for place in places:
            place.executor.shutdown(wait=False, cancel_futures=cancel_futures)
        if not wait and places:
            return
        for place in places:
            place.executor.shutdown()
        if self._is_ours:
            from aworld.engines import ray_runtime

            self._is_ours = False
            ray_runtime.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await asyncio.to_thread(self.shutdown)

    # -- how a call finds its node ----------------------------------------------------------------

    def _send(self, function: Callable[[], Any], result: Future[Any]) -> None:
        with self._lock:
            if not self._places:
                raise EngineError("no node is left to run on")
            name = min(self._places, key=lambda name: self._places[name].load)
            place = self._places[name]
            place.load += 1
            try:
                future = place.executor.submit(function)
            except EngineError:  # its node has died meanwhile
                place.load -= 1
                self._take_out(name, place)
                return self._send(function, result)
            except BaseException:
                place.load -= 1
                raise
        future.add_done_callback(partial(self._ended, name, place, function, result))

    def _ended(
        self,
        name: str,
        place: _Place,
        function: Callable[[], Any],
        result: Future[Any],
        future: Future[Any],
    ) -> None:
        with self._lock:
            place.load -= 1
        error = None if future.cancelled() else future.exception()
        if future.cancelled():
            cancel(result)
        elif error is None:
            result.set_result(future.result())
        elif not isinstance(error, EngineError):
            result.set_exception(error)
        else:
            self._take_out(name, place)
            try:
                self._send(function, result)
            except BaseException as reason:
                result.set_exception(reason)

    def _take_out(self, name: str, place: _Place) -> None:
        with self._lock:
            if self._places.get(name) is place:
                del self._places[name]
                others = ", ".join(self._places) or "nobody"
                log.warning("node %s is lost: its calls go to %s", name, others)


def _executor_on(node: Node, conf: RunConfig) -> DistributedExecutor:
    from aworld.engines import ray_runtime

    options = {k: v for k, v in conf.engine_options.items() if k in ray_runtime.ACTOR_OPTIONS}
    if not node.cpus and "num_cpus" not in options:
        raise ConfigError(
            f"node {node.address} offers no CPU: leave it out, or set "
            "engine_options={'num_cpus': 0}"
        )
    workers = max(1, node.cpus) if conf.worker_num is None else conf.worker_num
    options = {**options, **ray_runtime.only_on(node)}
    return DistributedExecutor(
        workers, run_conf=replace(conf, worker_num=workers, engine_options=options)
    )


def _chosen(names: Iterable[str] | None, living: list[Node]) -> dict[str, Node]:
    if names is None:
        return {node.address: node for node in living}
    chosen: dict[str, Node] = {}
    for name in names:
        found = [node for node in living if node.is_called(name)]
        if len(found) != 1:
            known = ", ".join(sorted(f"{node.address} ({node.host})" for node in living))
            what = "no node is called" if not found else f"{len(found)} nodes are called"
            raise ConfigError(f"{what} {name!r}; known: {known}")
        if found[0] in chosen.values():
            raise ConfigError(f"node {name!r} is named twice")
        chosen[name] = found[0]
    if not chosen:
        raise ConfigError("nodes is empty: name at least one, or give None for all")
    return chosen
