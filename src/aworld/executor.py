"""Functions instead of tasks: an executor of futures that runs on any engine."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from typing import Any

from aworld.calls import CallRun, Submission
from aworld.config import RunConfig, check_count, checked_run_conf
from aworld.core.failure import describe_error
from aworld.errors import ConfigError, TaskError


class DistributedExecutor(Executor):
    """Runs functions, sync or async, in the workers of an engine.

    It is an executor like those of `concurrent.futures`, whose `submit` and `map` never wait. And
    it takes tasks by id: `submit_task` waits while `max_queue_size` calls are waiting to be
    started, `collect_results` gives what has finished. The workers start with the first call. Each
    keeps `tasks_per_worker` calls in flight: sync functions run in threads there.
    """

    def __init__(
        self,
        num_workers: int | None = None,
        max_queue_size: int = 1000,
        run_conf: RunConfig | None = None,
    ):
        check_count("max_queue_size", max_queue_size, least=1)
        self._calls = CallRun(_with_workers(num_workers, run_conf), max_queue_size)
        self._by_id = _ResultsById()
        # One that is forgotten ends when its last call has, as the executors of Python do.
        weakref.finalize(self, self._calls.close).atexit = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._calls.add(Submission(Future(), fn, args, kwargs), wait_for_room=False)

    def submit_task(
        self, task_id: Hashable, task_fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Hashable:
        """Submits a call under a name; waits while the queue is full."""
        future: Future[Any] = Future()
        self._by_id.expect(task_id, future)
        try:
            self._calls.add(Submission(future, task_fn, args, kwargs), wait_for_room=True)
        except BaseException:
            self._by_id.forget(task_id)
            raise
        return task_id

    def collect_results(self, timeout: float | None = None) -> dict[Hashable, dict[str, Any]]:
        """What has finished since the last look: {id: {"success": ..., "result" or "error": ...}}.

        With a timeout it waits up to so many seconds for the first result, if any is to come.
        """
        return self._by_id.collect(timeout)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; the workers go when the last one has ended."""
        self._calls.close(cancel_waiting=cancel_futures)
        if wait:
            self._calls.join()

    def stop(self) -> None:
        """Cancels all that has not ended, even where it runs, and ends the workers."""
        self._calls.stop()
        self._calls.join()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> bool:
        if exc_type is not None and issubclass(exc_type, KeyboardInterrupt):
            self.stop()
        self.shutdown(wait=True)
        return False


def _with_workers(num_workers: int | None, conf: RunConfig | None) -> RunConfig:
    conf = checked_run_conf(conf)
    if conf.sequence_dependent:
        raise ConfigError("an executor's calls are independent: leave out sequence_dependent")
    if num_workers is None:
        return conf
    if conf.worker_num not in (None, num_workers):
        raise ConfigError(
            f"num_workers={num_workers} and run_conf.worker_num={conf.worker_num} contradict each "
            "other: give one of them"
        )
    check_count("num_workers", num_workers, least=0)
    return replace(conf, worker_num=num_workers)


class _ResultsById:
    """What became of the calls that have a name."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._expected: set[Hashable] = set()
        self._finished: dict[Hashable, dict[str, Any]] = {}

    def expect(self, task_id: Hashable, future: Future[Any]) -> None:
        with self._changed:
            if task_id in self._expected or task_id in self._finished:
                raise ConfigError(f"task {task_id!r} is under way already: give each its own id")
            self._expected.add(task_id)
        future.add_done_callback(partial(self._finish, task_id))

    def forget(self, task_id: Hashable) -> None:
        with self._changed:
            self._expected.discard(task_id)

    def _finish(self, task_id: Hashable, future: Future[Any]) -> None:
        result = as_result(future)
        with self._changed:
            self._expected.discard(task_id)
            self._finished[task_id] = result
            self._changed.notify_all()

    def collect(self, timeout: float | None) -> dict[Hashable, dict[str, Any]]:
        with self._changed:
            if timeout is not None:
                self._changed.wait_for(lambda: self._finished or not self._expected, timeout)
            finished, self._finished = self._finished, {}
            return finished


def as_result(future: Future[Any]) -> dict[str, Any]:
    """A future that is done, as data. Never raises, however broken the exception is."""
    try:
        return {"success": True, "result": future.result()}
    except TaskError as error:
        return {"success": False, "error": str(error)}
    except BaseException as error:
        message = describe_error(error).message
        return {"success": False, "error": f"{type(error).__name__}: {message}".removesuffix(": ")}
