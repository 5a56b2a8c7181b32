"""Responses on their way to the user, as they finish."""

from __future__ import annotations

import _thread
import asyncio
import sys
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from aworld.config import RunConfig
from aworld.core.event import Event
from aworld.core.task import Task, TaskResponse
from aworld.core.usage import Usage
from aworld.engines import open_engine
from aworld.engines.base import Outcome, RuntimeEngine
from aworld.engines.outcomes import OutcomeStream
from aworld.errors import AccessError
from aworld.intake import Intake
from aworld.ledger import Ledger
from aworld.rollout import Report, rollout

Batch = list[tuple[int, TaskResponse]]  # each with its position in the input


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
    ):
        self._engine: RuntimeEngine = open_engine(conf)
        self._intake = Intake(tasks, conf, wants_events=on_event is not None)
        self._ledger = Ledger(conf, on_event)
        self._outcomes: OutcomeStream | None = None
        self._opening = threading.Lock()
        self._unread: list[TaskResponse] = []  # the next one last
        self._done = 0
        self._failed = 0
        self._cancelled = False
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

    def take(self) -> Batch | None:
        """All responses that are there; waits for the first of them. None: there are no more."""
        outcomes = self._open()
        return None if outcomes is None else self._received(outcomes.take())

    async def take_async(self) -> Batch | None:
        opened = self._outcomes is not None or self._closed
        outcomes = self._open() if opened else await asyncio.to_thread(self._open)
        if outcomes is None:
            return None
        loop = asyncio.get_running_loop()
        news = asyncio.Event()

        def listener() -> None:
            try:
                loop.call_soon_threadsafe(news.set)
            except RuntimeError:  # the reader's loop has closed: nobody waits any more
                pass

        outcomes.listen(listener)
        try:
            while (batch := outcomes.take(wait=False)) == []:
                await news.wait()
                news.clear()
        finally:
            outcomes.listen(None)
        return self._received(batch)

    def cancel(self) -> None:
        """Stops what runs. The tasks that were taken up still come back, as `cancelled`."""
        self._cancelled = True
        if self._outcomes is not None:
            self._outcomes.cancel()
        self._intake.answered(None)

    def close(self) -> None:
        """Ends the workers. Harmless when they have ended already."""
        with self._opening:
            already, self._closed = self._closed, True
        if not already:
            self._intake.answered(None)
            self._engine.__exit__(None, None, None)

    def _open(self) -> OutcomeStream | None:
        with self._opening:
            if self._outcomes is None and not self._closed:
                self._engine.__enter__()
                items = self._intake.items()
                self._outcomes = self._engine.run(rollout, items, self._ledger.hear)
                self._ledger.open(self._outcomes)
                if self._cancelled:  # meanwhile
                    self._outcomes.cancel()
            return None if self._closed else self._outcomes

    def _received(self, outcomes: list[Outcome] | None) -> Batch | None:
        if outcomes is None:
            if self._ledger.refused is not None:
                raise AccessError(self._ledger.refused)
            return None
        batch: Batch = []
        for outcome in outcomes:
            response = _response(self._intake.ids.pop(outcome.index), outcome)
            spent = self._ledger.settle(outcome.index)
            if spent.model_calls and not response.usage:
                response.usage = spent._asdict()
            self._intake.answered(response)
            self._done += 1
            self._failed += not response.success
            batch.append((outcome.index, response))
        return batch

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
        if self._closed or self._outcomes is None or sys.is_finalizing():
            return  # the workers end with this process
        # In another thread: this one may be any, and must not wait, not even for a lock.
        _thread.start_new_thread(self._engine.__exit__, (None, None, None))


def _response(task_id: str, outcome: Outcome) -> TaskResponse:
    """The worker's own response, or one that says why there is none."""
    report = None if outcome.value is None else Report._make(outcome.value).response(task_id)
    if report is not None and outcome.status == "success":
        return report
    response = TaskResponse(
        id=task_id,
        status=outcome.status,
        error=outcome.error,
        time_cost=outcome.seconds,
        attempts=outcome.attempts,
    )
    if report is not None:  # stopped, but it could still say how far it came
        response.usage = report.usage
        response.trajectory = report.trajectory
        assert response.trajectory is not None
        response.trajectory.status = outcome.status
    return response
