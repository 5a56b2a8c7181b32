"""How many calls a worker makes at once: fewer after the server said "too many", then more again.

When one worker is told so, all workers of the run slow down: the driver passes it on.
"""

from __future__ import annotations

import asyncio
import math
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aworld.core.context import TaskContext
from aworld.errors import ModelError

SLOWER = 0.7
LOOK_SECONDS = 0.02
LONGEST_SLEEP = 1.0
FREE_AGAIN = 256  # a limit above this is none


class Pace:
    """For one endpoint in one event loop."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._in_flight = 0
        self._most_in_flight = 0  # since it last slowed down
        self._slowed_at = 0.0
        self._paused_until = 0.0
        self._heard: dict[str, Any] | None = None
        self.limit = math.inf

    @asynccontextmanager
    async def turn(self, task: TaskContext) -> AsyncIterator[None]:
        self._listen(task.line.announced)
        while (wait := self._wait()) > 0:
            await asyncio.sleep(wait)
            self._listen(task.line.announced)
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        began = time.time()
        try:
            yield
            self.limit += 1 / self.limit  # one more for each round of calls
            if self.limit > FREE_AGAIN:
                self.limit = math.inf
        except ModelError as error:
            if error.status == 429:
                until = time.time() + (error.retry_after or 0.0)
                if self._slow_down(began, until):
                    task.line.tell({"slow": (self._endpoint, began, until)})
            raise
        finally:
            self._in_flight -= 1

    def _wait(self) -> float:
        """How long until it is worth looking again."""
        pause = self._paused_until - time.time()
        if pause > 0:
            return min(pause, LONGEST_SLEEP)
        return LOOK_SECONDS if self._in_flight >= self.limit else 0.0

    def _slow_down(self, began: float, until: float) -> bool:
        """Once for all calls that were under way together, wherever they were made."""
        self._paused_until = max(self._paused_until, until)
        if began < self._slowed_at:
            return False
        self._slowed_at = time.time()
        self.limit = max(1.0, min(self.limit, self._most_in_flight) * SLOWER)
        self._most_in_flight = self._in_flight
        return True

    def _listen(self, announced: dict[str, Any] | None) -> None:
        """Another worker may have been told to slow down."""
        if announced is None or announced is self._heard:
            return
        self._heard = announced
        notice = announced.get("slow", {}).get(self._endpoint)
        if notice is not None:
            self._slow_down(*notice)


_paces: weakref.WeakKeyDictionary[Any, dict[str, Pace]] = weakref.WeakKeyDictionary()


def pace_of(endpoint: str) -> Pace:
    of_loop = _paces.setdefault(asyncio.get_running_loop(), {})
    return of_loop.setdefault(endpoint, Pace(endpoint))
