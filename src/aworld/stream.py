"""Responses on their way to the user, as they finish."""

from __future__ import annotations

import _thread
import asyncio
import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Self

from aworld.config import RunConfig
from aworld.core.event import Event
from aworld.core.task import Task, TaskResponse
from aworld.core.usage import Usage
from aworld.draining import DRAINING, Announcer, rollout_unless_draining
from aworld.engines import open_engine
from aworld.engines.base import RuntimeEngine
from aworld.engines.outcomes import OutcomeStream
from aworld.intake import Intake
from aworld.ledger import Ledger
from aworld.reception import Batch, Reception

if TYPE_CHECKING:
    from aworld.recorder import Recorder
    from aworld.recording import Recording
    from aworld.steering import Steering


class Counts(NamedTuple):
    """How a run stands."""

    done: int
    running: int
    failed: int  # of those that are done


class TaskStream:
    """Iterates over responses, with `for` or `async for`, in the order in which they finish.

    The workers start with the first look at it and are gone when it is exhausted or closed; use it
    in a `with` (or `async with`) statement when you may leave it early. It has one reader.
    """

    _closed = True  # until it is made

    def __init__(
        self,
        tasks: Task | Iterable[Task],
        conf: RunConfig,
        *,
        on_event: Callable[[Event], None] | None = None,
        record_in: Callable[[RunConfig, Intake], Recorder] | None = None,
    ):
        self._engine: RuntimeEngine = open_engine(conf)
        self._intake = Intake(tasks, conf, wants_events=on_event is not None)
        self._ledger = Ledger(conf, on_event)
        self._outcomes: OutcomeStream | None = None
        self._announcer: Announcer | None = None
        self._source: Reception | Recording | None = None
        self._steering: Steering | None = None
        self._recorder = None if record_in is None else record_in(conf, self._intake)
        self._opening = threading.Lock()
        self._unread: list[TaskResponse] = []  # the next one last
        self._done = 0
        self._failed = 0
        self._cancelled = False
        self._draining = False
        self._closed = False

    @property
    def counts(self) -> Counts:
        """How many tasks are done, running and (of the done ones) not successful."""
        running = 0 if self._outcomes is None else self._outcomes.running
        return Counts(self._done, running, self._failed)

    @property
    def usage(self) -> Usage:
        """What all model calls of the run have cost until now."""
        return self._ledger.usage

    @property
    def total(self) -> int | None:
        """How many tasks there are, where that is known beforehand."""
        return self._intake.total

    def open(self) -> None:
        """Starts the engine, without waiting for a response. The first look at it does so, too."""
        self._open()

    def take(self) -> Batch | None:
        """All responses that are there; waits for the first of them. None: there are no more."""
        source = self._open()
        return None if source is None else self._counted(source.take())

    async def take_async(self) -> Batch | None:
        opened = self._source is not None or self._closed
        source = self._open() if opened else await asyncio.to_thread(self._open)
        if source is None:
            return None
        loop = asyncio.get_running_loop()
        news = asyncio.Event()

        def listener() -> None:
            try:
                loop.call_soon_threadsafe(news.set)
            except RuntimeError:  # the reader's loop has closed: nobody waits any more
                pass

        source.listen(listener)
        try:
            while (batch := source.take(wait=False)) == []:
                await news.wait()
                news.clear()
        finally:
            source.listen(None)
        return self._counted(batch)

    def drain(self) -> None:
        """Begins nothing more. What runs goes on to its end; the rest comes back as `cancelled`."""
        self._draining = True
        self._intake.drain()
        if self._steering is not None:
            self._steering.go_on()
        if self._announcer is not None:
            self._announcer.announce(DRAINING)
        self._end_if_drained()

    def cancel(self) -> None:
        """Stops what runs. The tasks that were taken up still come back, as `cancelled`."""
        self._cancelled = True
        if self._outcomes is not None:
            self._outcomes.cancel()
        self._intake.over()

    def close(self) -> None:
        """Ends the workers. Harmless when they have ended already."""
        with self._opening:
            already, self._closed = self._closed, True
        if not already:
            self._intake.over()
            _end(self._engine, self._source, self._recorder, self._steering)

    def _open(self) -> Reception | Recording | None:
        with self._opening:
            if self._source is None and not self._closed:
                self._engine.__enter__()
                items = self._intake.items()
                self._outcomes = self._engine.run(rollout_unless_draining, items, self._ledger.hear)
                self._announcer = Announcer(self._outcomes)
                self._ledger.open(self._announcer)
                self._source = Reception(self._outcomes, self._intake, self._ledger)
                if self._recorder is not None:
                    from aworld.recording import Recording
                    from aworld.steering import Steering

                    stop, recorder = self._outcomes.cancel, self._recorder
                    self._source = Recording(self._source, recorder, on_failure=stop)
                    self._steering = Steering(
                        recorder.folder, self._outcomes, self._intake.tickets, recorder.retried
                    )
                if self._draining:  # meanwhile
                    self._announcer.announce(DRAINING)
                if self._cancelled:
                    self._outcomes.cancel()
            return None if self._closed else self._source

    def _counted(self, batch: Batch | None) -> Batch | None:
        if batch is not None:
            self._done += len(batch)
            self._failed += sum(not response.success for _, response in batch)
            self._end_if_drained()
        return batch

    def _end_if_drained(self) -> None:
        """Does not wait for the next task of an iterable, which may take its time."""
        is_over = self._draining and self.total is None and not self._intake.tickets
        if is_over and self._outcomes is not None:
            self._outcomes.cancel()

    # -- for ... in stream ----------------------------------------------------------------------

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TaskResponse:
        while not self._unread:
            try:
                batch = self.take()
            except BaseException:
                self.close()
                raise
            if batch is None:
                self.close()
                raise StopIteration
            self._unread = [response for _, response in reversed(batch)]
        return self._unread.pop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- async for ... in stream ----------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TaskResponse:
        while not self._unread:
            try:
                batch = await self.take_async()
            except asyncio.CancelledError:  # only the wait was given up, perhaps: not the run
                raise
            except BaseException:
                await asyncio.to_thread(self.close)
                raise
            if batch is None:
                await asyncio.to_thread(self.close)
                raise StopAsyncIteration
            self._unread = [response for _, response in reversed(batch)]
        return self._unread.pop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await asyncio.to_thread(self.close)

    def __del__(self) -> None:
        if self._closed or sys.is_finalizing():
            return  # the workers end with this process
        if self._outcomes is None and self._recorder is None:
            return
        # In another thread: this one may be any, and must not wait, not even for a lock.
        left = (self._engine, self._source, self._recorder, self._steering)
        _thread.start_new_thread(_end, left)


def _end(
    engine: RuntimeEngine,
    source: Reception | Recording | None,
    recorder: Recorder | None,
    steering: Steering | None,
) -> None:
    """The workers first: what they have finished by then is still recorded."""
    if steering is not None:
        steering.close()
    try:
        engine.__exit__(None, None, None)
    finally:
        if recorder is not None:
            if source is not None:
                source.close()
            recorder.close()
