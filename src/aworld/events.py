"""What happens in one task, as it happens."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from aworld.config import RunConfig
from aworld.core.event import Event
from aworld.core.task import Task
from aworld.stream import TaskStream


class EventStream:
    """Iterates over the events of a task, with `for` or `async for`; the last is `finished`."""

    def __init__(self, task: Task, conf: RunConfig):
        self._put: Callable[[Event | BaseException | None], object]
        self._stream = TaskStream(task, conf, on_event=self._on_event)

    def _on_event(self, event: Event) -> None:
        self._put(event)

    def _start(self, put: Callable[[Any], object]) -> None:
        self._put = put
        threading.Thread(target=self._run, name="aworld-events", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._stream:
                for response in self._stream:
                    self._put(Event("finished", response=response))
            self._put(None)
        except BaseException as error:
            self._put(error)

    def __iter__(self) -> Iterator[Event]:
        arrived: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
        self._start(arrived.put)
        try:
            while (event := arrived.get()) is not None:
                yield _raised(event)
        finally:
            self._stream.cancel()

    async def __aiter__(self) -> AsyncIterator[Event]:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()

        def put(event: Event | BaseException | None) -> None:
            try:
                loop.call_soon_threadsafe(arrived.put_nowait, event)
            except RuntimeError:  # the reader's loop has closed: nobody waits any more
                pass

        self._start(put)
        try:
            while (event := await arrived.get()) is not None:
                yield _raised(event)
        finally:
            self._stream.cancel()


def _raised(event: Event | BaseException) -> Event:
    if isinstance(event, BaseException):
        raise event
    return event
