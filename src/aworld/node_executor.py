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

from aworld.calls import SHUT_DOWN, EngineLostError, Submission, cancel
from aworld.config import EngineName, RunConfig, checked_run_conf
from aworld.errors import ConfigError, EngineError
from aworld.executor import DistributedExecutor, as_result

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

        if run_conf is None:
            run_conf = RunConfig(engine_name=EngineName.RAY)
        conf = checked_run_conf(run_conf)
        if conf.engine_name != EngineName.RAY or conf.cls is not None or conf.in_local:
            raise ConfigError(
                "nodes are those of a Ray cluster: set engine_name=EngineName.RAY, not in_local"
            )
        conf = replace(conf, in_local=False)
        if nodes is not None and (isinstance(nodes, str) or not isinstance(nodes, Iterable)):
            raise ConfigError(f"nodes must be a list of names, got {nodes!r:.80}")
        if "scheduling_strategy" in conf.engine_options:
            raise ConfigError("each node's workers stay on it: leave out scheduling_strategy")
        ray_runtime.RayRuntime(conf)  # refuses what Ray does not have
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        self._unfinished: set[Future[Any]] = set()
        self._futures: dict[str, Future[Any]] = {}
        self._places: dict[str, _Place] = {}  # by the name that the user has for it
        ray_runtime.connect(conf, 1)
        self._is_connected = True
        try:
            for name, node in _chosen(nodes, ray_runtime.living_nodes()).items():
                self._places[name] = _Place(node, _executor_on(node, conf))
        except BaseException:
            self.shutdown()
            raise

    @property
    def nodes(self) -> list[str]:
        """Those that are in use: the dead are taken out."""
        with self._changed:
            return list(self._places)

    @property
    def node_load(self) -> dict[str, int]:
        """How many calls are in flight on each node."""
        with self._changed:
            return {name: place.load for name, place in self._places.items()}

    async def submit_to_least_loaded(
        self, task_fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> str:
        """Starts a call, and returns the id under which its result will be found."""
        task_id = uuid.uuid4().hex
        result: Future[Any] = Future()
        self._send(Submission(result, task_fn, args, kwargs))
        self._futures[task_id] = result
        return task_id

    async def result(self, task_id: str) -> Any:
        """Waits for what the call returned, or raises what it raised. Each is given once."""
        if task_id not in self._futures:
            raise ConfigError(f"no call {task_id!r} is under way, or its result was given already")
        future = self._futures[task_id]
        try:
            # who gives up waiting does not give up the call
            return await asyncio.shield(asyncio.wrap_future(future))
        finally:
            if future.done():
                self._futures.pop(task_id, None)

    def collect_results(self) -> dict[str, dict[str, Any]]:
        """What has finished, each once: {id: {"success": ..., "result" or "error": ...}}."""
        results = {}
        for task_id, future in list(self._futures.items()):
            if future.done() and self._futures.pop(task_id, None) is not None:
                results[task_id] = as_result(future)
        return results

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; the workers go when the last one has ended."""
        with self._changed:
            self._closed = True
            places = list(self._places.values())
        if cancel_futures:
            for place in places:
                place.executor.shutdown(wait=False, cancel_futures=True)
        if not wait:
            threading.Thread(target=self._finish, name="aworld-nodes", daemon=True).start()
        else:
            self._finish()

    def stop(self) -> None:
        """Cancels all that has not ended, even where it runs, and ends the workers."""
        with self._changed:
            self._closed = True
            places = list(self._places.values())
        for place in places:
            place.executor.stop()
        self._finish()

    def _finish(self) -> None:
        """Not before all calls have ended: those of a node that dies go to another one."""
        with self._changed:
            self._changed.wait_for(lambda: not self._unfinished)
            places = list(self._places.values())
            is_connected, self._is_connected = self._is_connected, False
        for place in places:
            place.executor.shutdown()
        if is_connected:
            from aworld.engines import ray_runtime

            ray_runtime.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self._leave(exc_type)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        await asyncio.to_thread(self._leave, exc_type)

    def _leave(self, exc_type: type[BaseException] | None) -> None:
        if exc_type in (KeyboardInterrupt, asyncio.CancelledError):
            self.stop()
        else:
            self.shutdown()

    # -- how a call finds its node ----------------------------------------------------------------

    def _send(self, call: Submission, reason: Exception | None = None) -> None:
        """`reason` is why it is sent again."""
        with self._changed:
            if self._closed and reason is None:
                raise RuntimeError(SHUT_DOWN)
            while self._places:
                name = min(self._places, key=lambda name: self._places[name].load)
                place = self._places[name]
                try:
                    future = place.executor.submit(call.function, *call.args, **call.kwargs)
                    break
                except EngineLostError as error:  # its node has died meanwhile
                    self._take_out(name, place, error)
                    reason = error
            else:
                raise EngineError(f"no node is left to run on; the last one: {reason}")
            place.load += 1
            self._unfinished.add(call.future)
        future.add_done_callback(partial(self._ended, name, place, call))

    def _ended(self, name: str, place: _Place, call: Submission, future: Future[Any]) -> None:
        with self._changed:
            place.load -= 1
        error = None if future.cancelled() else future.exception()
        if isinstance(error, EngineLostError):
            self._take_out(name, place, error)
            try:
                return self._send(call, error)
            except Exception as reason:
                error = reason
        with self._changed:
            self._unfinished.discard(call.future)
            self._changed.notify_all()
        if future.cancelled():
            cancel(call.future)
        elif error is not None:
            call.future.set_exception(error)
        else:
            call.future.set_result(future.result())

    def _take_out(self, name: str, place: _Place, error: Exception) -> None:
        with self._changed:
            if self._places.get(name) is place:
                del self._places[name]
                others = ", ".join(self._places) or "nobody"
                log.warning("node %s is lost (%s): its calls go to %s", name, error, others)


def _executor_on(node: Node, conf: RunConfig) -> DistributedExecutor:
    from aworld.engines import ray_runtime

    options = {k: v for k, v in conf.engine_options.items() if k in ray_runtime.PLACE_OPTIONS}
    if not node.cpus and "num_cpus" not in options:
        raise ConfigError(
            f"node {node.address} offers no CPU: leave it out, or set "
            "engine_options={'num_cpus': 0}"
        )
    workers = max(1, node.cpus) if conf.worker_num is None else conf.worker_num
    options = {**options, **ray_runtime.only_on(node)}
    return DistributedExecutor(run_conf=replace(conf, worker_num=workers, engine_options=options))


def _chosen(names: Iterable[str] | None, living: list[Node]) -> dict[str, Node]:
    if names is None:
        addresses = [node.address for node in living]
        return {
            node.address if addresses.count(node.address) == 1 else node.id: node for node in living
        }
    chosen: dict[str, Node] = {}
    for name in names:
        found = [node for node in living if node.is_called(name)]
        if len(found) != 1:
            known = ", ".join(sorted(f"{node.address} ({node.host})" for node in living))
            what = "no node is called" if not found else f"{len(found)} nodes are called"
            raise ConfigError(f"{what} {name!r}; known: {known}")
        if found[0] in chosen.values():
            raise ConfigError(f"node {name!r} is named twice: name each once")
        chosen[name] = found[0]
    if not chosen:
        raise ConfigError("nodes is empty: name at least one, or give None for all")
    return chosen
