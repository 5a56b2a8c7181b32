"""Functions instead of tasks: an executor of futures that runs on any engine."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from aworld.agents.calling import call_function
from aworld.config import RunConfig, check_count
from aworld.core.failure import ErrorInfo, describe_error
from aworld.engines import open_engine, pickling
from aworld.engines.base import Call, Item, Outcome, Shared
from aworld.engines.outcomes import OutcomeStream
from aworld.errors import ConfigError, EngineError, TaskError


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
        conf = _with_workers(num_workers, run_conf)
        self._calls = calls = _Calls(conf, max_queue_size)
        self._by_id = _ResultsById()
        # An executor that is forgotten ends when its last call has, as those of Python do.
        weakref.finalize(self, calls.close).atexit = False
        atexit.register(calls.finish_at_exit)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._calls.add(_Submission(Future(), fn, args, kwargs), wait_for_room=False)

    def submit_task(
        self, task_id: Hashable, task_fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Hashable:
        """Submits a call under a name; waits while the queue is full."""
        future: Future[Any] = Future()
        self._by_id.expect(task_id, future)
        try:
            self._calls.add(_Submission(future, task_fn, args, kwargs), wait_for_room=True)
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

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> bool:
        if exc_type is not None and issubclass(exc_type, KeyboardInterrupt):
            self._calls.stop()
        self.shutdown(wait=True)
        return False


def _with_workers(num_workers: int | None, conf: RunConfig | None) -> RunConfig:
    if conf is not None and not isinstance(conf, RunConfig):
        raise ConfigError(f"run_conf must be a RunConfig, got {conf!r:.80}")
    conf = conf or RunConfig()
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


class _Submission(NamedTuple):
    """A call that somebody waits for."""

    future: Future[Any]
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def item(self, timeout: float | None) -> Item:
        try:
            shared = Shared.of(self.function, "function")
        except pickling.UnpicklableError as error:
            return Item(None, verdict=("failed", error.as_data("its ")))
        value = (self.args, self.kwargs)
        return Item(value, timeout=timeout, shared=shared, parts=("args", "kwargs"))


class _Calls:
    """One long run of an engine, fed by what is submitted."""

    def __init__(self, conf: RunConfig, most_waiting: int):
        self._engine = open_engine(conf)
        self._timeout = conf.timeout
        self._most_waiting = most_waiting
        self._waiting: deque[_Submission] = deque()
        self._running: dict[int, Future[Any]] = {}
        self._changed = threading.Condition()
        self._outcomes: OutcomeStream | None = None
        self._reader: threading.Thread | None = None
        self._closed = False
        self._error: BaseException | None = None

    def add(self, submission: _Submission, *, wait_for_room: bool) -> Future[Any]:
        if not callable(submission.function):
            raise ConfigError(f"only a function can be submitted, got {submission.function!r:.80}")
        with self._changed:
            self._refuse_when_over()
            if self._reader is None:
                self._start()
            if threading.current_thread() is self._reader:
                wait_for_room = False  # a callback: nothing would ever make room
            while wait_for_room and len(self._waiting) >= self._most_waiting:
                self._changed.wait()
                self._refuse_when_over()
            self._waiting.append(submission)
            self._changed.notify_all()
        return submission.future

    def close(self, *, cancel_waiting: bool = False) -> None:
        """No more is taken; what was, is run."""
        for future in self._close(with_waiting=cancel_waiting):
            cancel(future)
        if self._reader is None:
            atexit.unregister(self.finish_at_exit)

    def _close(self, *, with_waiting: bool) -> list[Future[Any]]:
        """Gives back what will not be started."""
        with self._changed:
            self._closed = True
            given_back = [submission.future for submission in self._waiting if with_waiting]
            if with_waiting:
                self._waiting.clear()
            self._changed.notify_all()
            return given_back

    def stop(self) -> None:
        """What has not ended is cancelled, even where it runs."""
        self.close(cancel_waiting=True)
        if self._outcomes is not None:
            self._outcomes.cancel()

    def join(self) -> None:
        if self._reader is not None and threading.current_thread() is not self._reader:
            self._reader.join()

    def finish_at_exit(self) -> None:
        if getattr(sys, "last_type", None) is KeyboardInterrupt:
            self.stop()
        self.close()
        self.join()

    def _refuse_when_over(self) -> None:
        if self._error is not None:
            raise self._error
        if self._closed:
            raise RuntimeError("the executor was shut down: it takes no more calls")

    def _start(self) -> None:
        self._engine.__enter__()
        self._outcomes = outcomes = self._engine.run(_run_call, self._items())
        self._reader = threading.Thread(
            target=self._read, args=(outcomes,), name="aworld-executor", daemon=True
        )
        self._reader.start()

    def _items(self) -> Iterator[Item]:
        """Read by the engine, a little ahead of need."""
        index = 0
        while (submission := self._next()) is not None:
            if submission.future.set_running_or_notify_cancel():
                self._running[index] = submission.future
                index += 1
                yield submission.item(self._timeout)

    def _next(self) -> _Submission | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            self._changed.notify_all()
            return self._waiting.popleft() if self._waiting else None

    def _read(self, outcomes: OutcomeStream) -> None:
        try:
            for outcome in outcomes:
                _settle(self._running.pop(outcome.index), outcome)
        except BaseException as error:
            self._error = error
        finally:
            unstarted = self._close(with_waiting=True)
            for future in [*self._running.values(), *unstarted]:
                if future.running() or future.set_running_or_notify_cancel():
                    future.set_exception(self._error or CancelledError())
            self._engine.__exit__(None, None, None)
            atexit.unregister(self.finish_at_exit)


def cancel(future: Future[Any]) -> None:
    if future.cancel():
        future.set_running_or_notify_cancel()  # tells those who wait for it


# -- in the worker -------------------------------------------------------------------------------


async def _run_call(value: tuple[tuple[Any, ...], dict[str, Any]], call: Call) -> tuple[Any, ...]:
    """(True, result), or (False, the exception pickled if it can be, what is known of it)."""
    args, kwargs = value
    try:
        return True, await call_function(partial(call.fresh(), *args, **kwargs))
    except Exception as error:
        return False, _portable(error), describe_error(error)


_run_call.result_parts = ("success", "result")  # type: ignore[attr-defined]


def _portable(error: Exception) -> bytes | None:
    try:
        blob = pickling.dumps(error)
        return blob if type(pickling.loads(blob)) is type(error) else None
    except Exception:  # an exception with arguments of its own, most likely
        return None


# -- in the driver -------------------------------------------------------------------------------


def _settle(future: Future[Any], outcome: Outcome) -> None:
    if outcome.status == "success" and outcome.value[0]:
        future.set_result(outcome.value[1])
    elif outcome.status == "success":
        future.set_exception(_raised(*outcome.value[1:]))
    else:
        future.set_exception(_stopped(outcome))


def _raised(blob: bytes | None, info: ErrorInfo) -> BaseException:
    error: BaseException
    try:
        error = TaskError(info) if blob is None else pickling.loads(blob)
    except Exception:  # its class is not to be had here
        error = TaskError(info)
    error.add_note(f"in the worker:\n{info.traceback}")
    return error


def _stopped(outcome: Outcome) -> BaseException:
    assert outcome.error is not None
    if outcome.status == "timeout":
        return TimeoutError(outcome.error.message)
    if outcome.status == "cancelled":
        return CancelledError()
    if outcome.error.kind == EngineError.__name__:
        return EngineError(outcome.error.message)
    return TaskError(outcome.error, outcome.status)


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
    """A future that is done, as data."""
    try:
        return {"success": True, "result": future.result()}
    except TaskError as error:
        return {"success": False, "error": str(error)}
    except BaseException as error:
        return {"success": False, "error": f"{type(error).__name__}: {error}"}
