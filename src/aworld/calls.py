"""Function calls on an engine: one long run, fed by what is submitted, that settles futures."""

from __future__ import annotations

import atexit
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, NamedTuple

from aworld.agents.calling import call_function
from aworld.config import RunConfig
from aworld.core.failure import ErrorInfo, describe_error
from aworld.engines import open_engine, pickling
from aworld.engines.base import Call, Item, Outcome, Shared
from aworld.engines.outcomes import OutcomeStream
from aworld.errors import ConfigError, EngineError, TaskError

SHUT_DOWN = "the executor was shut down: it takes no more calls"

log = logging.getLogger("aworld")


class EngineLostError(EngineError):
    """The engine broke off: another one could still run the call."""


class Submission(NamedTuple):
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


class CallRun:
    """Starts with the first call; its thread settles the futures, and ends the engine at last."""

    def __init__(self, conf: RunConfig, most_waiting: int):
        self._engine = open_engine(conf)
        self._timeout = conf.timeout
        self._most_waiting = most_waiting
        self._waiting: deque[Submission] = deque()
        self._running: dict[int, Future[Any]] = {}
        self._changed = threading.Condition()
        self._outcomes: OutcomeStream | None = None
        self._reader: threading.Thread | None = None
        self._closed = False
        self._error: BaseException | None = None

    def add(self, submission: Submission, *, wait_for_room: bool) -> Future[Any]:
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

    def stop(self) -> None:
        """What has not ended is cancelled, even where it runs."""
        self.close(cancel_waiting=True)
        if self._outcomes is not None:
            self._outcomes.cancel()

    def join(self) -> None:
        if self._reader is not None and threading.current_thread() is not self._reader:
            self._reader.join()

    def _close(self, *, with_waiting: bool) -> list[Future[Any]]:
        """Gives back what will not be started."""
        with self._changed:
            self._closed = True
            given_back = [submission.future for submission in self._waiting if with_waiting]
            if with_waiting:
                self._waiting.clear()
            self._changed.notify_all()
            return given_back

    def _refuse_when_over(self) -> None:
        if self._error is not None:
            raise self._loss()
        if self._closed:
            raise RuntimeError(SHUT_DOWN)

    def _loss(self) -> EngineLostError:
        return EngineLostError(str(self._error) or repr(self._error))

    def _start(self) -> None:
        self._engine.__enter__()
        self._outcomes = outcomes = self._engine.run(run_call, self._items())
        self._reader = threading.Thread(
            target=self._read, args=(outcomes,), name="aworld-executor", daemon=True
        )
        self._reader.start()
        atexit.register(self._finish_at_exit)  # after the cluster's own: it must go first

    def _finish_at_exit(self) -> None:
        if getattr(sys, "last_type", None) is KeyboardInterrupt:
            self.stop()
        self.close()
        self.join()

    def _items(self) -> Iterator[Item]:
        """Read by the engine, a little ahead of need."""
        index = 0
        while (submission := self._take(index)) is not None:
            index += 1
            yield submission.item(self._timeout)

    def _take(self, index: int) -> Submission | None:
        """The next one, from waiting to running in one go: a run that ends finds it somewhere."""
        with self._changed:
            while True:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return None
                submission = self._waiting.popleft()
                self._changed.notify_all()
                if submission.future.set_running_or_notify_cancel():
                    self._running[index] = submission.future
                    return submission

    def _read(self, outcomes: OutcomeStream) -> None:
        try:
            for outcome in outcomes:
                settle(self._running.pop(outcome.index), outcome)
        except BaseException as error:
            self._error = error
        try:
            self._settle_the_rest()
        finally:
            self._engine.__exit__(None, None, None)
            atexit.unregister(self._finish_at_exit)

    def _settle_the_rest(self) -> None:
        unstarted = self._close(with_waiting=True)
        for future in [*self._running.values(), *unstarted]:
            if future.running() or future.set_running_or_notify_cancel():
                lost = CancelledError() if self._error is None else self._loss()
                future.set_exception(lost)


def cancel(future: Future[Any]) -> None:
    if future.cancel():
        future.set_running_or_notify_cancel()  # tells those who wait for it


# -- in the worker -------------------------------------------------------------------------------


async def run_call(value: tuple[tuple[Any, ...], dict[str, Any]], call: Call) -> tuple[Any, ...]:
    """(True, result), or (False, the exception pickled if it can be, what is known of it)."""
    args, kwargs = value
    try:
        return True, await call_function(partial(call.fresh(), *args, **kwargs))
    except Exception as error:
        return False, _portable(error), describe_error(error)


run_call.result_parts = ("success", "result")  # type: ignore[attr-defined]


def _portable(error: Exception) -> bytes | None:
    try:
        blob = pickling.dumps(error)
        return blob if type(pickling.loads(blob)) is type(error) else None
    except Exception:  # an exception with arguments of its own, most likely
        return None


# -- back in the driver --------------------------------------------------------------------------


def settle(future: Future[Any], outcome: Outcome) -> None:
    """Whatever this call's exception or callbacks do, the other calls go on."""
    try:
        _settle(future, outcome)
    except BaseException as error:
        if not future.done():
            future.set_exception(TaskError(describe_error(error)))
        else:
            log.exception("a callback of a future raised")


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
    if outcome.error.kind == EngineError.__name__:  # the run broke off: it is not the call's fault
        return EngineLostError(outcome.error.message)
    return TaskError(outcome.error, outcome.status)
