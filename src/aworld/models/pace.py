"""How many calls a worker makes at once: fewer after the server said "too many", then more again.

When one worker is told so, all workers of the run slow down: the driver passes it on.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aworld.core.context import TaskContext
from aworld.errors import ModelError

SLOWER = 0.7
LOOK_SECONDS = 0.02
FREE_AGAIN = 256  # a limit above this is none


class Pace:
    """For one endpoint in this process."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._in_flight = 0
        self._limit = math.inf
        self._slowed_at = 0.0
        self._paused_until = 0.0
        self._heard: dict[str, Any] | None = None

    @asynccontextmanager
    async def turn(self, task: TaskContext) -> AsyncIterator[None]:
        self._listen(task.line.announced)
        while self._in_flight >= self._limit or time.time() < self._paused_until:
            await asyncio.sleep(LOOK_SECONDS)
            self._listen(task.line.announced)
        self._in_flight += 1
        began = time.time()
        try:
            yield
            self._limit += 1 / self._limit  # one more for each round of calls
            if self._limit > FREE_AGAIN:
                self._limit = math.inf
        except ModelError as error:
            if error.status == 429:
                until = time.time() + (error.retry_after or 0.0)
                if self._slow_down(began, until):
                    task.line.tell({"slow": (self._endpoint, until)})
            raise
        finally:
            self._in_flight -= 1

    def _slow_down(self, began: float, until: float) -> bool:
        """Once for all calls that were under way together."""
        self._paused_until = max(self._paused_until, until)
        if began < self._slowed_at:
            return False
        self._slowed_at = time.time()
        self._limit = max(1.0, min(self._limit, self._in_flight) * SLOWER)
        return True

    def _listen(self, announced: dict[str, Any] | None) -> None:
        """Another worker may have been told to slow down."""
        if announced is None or announced is self._heard:
            return
        self._heard = announced
        notice = announced.get("slow", {}).get(self._endpoint)
        if notice is not None:
            said_at, until = notice
            if said_at > self._slowed_at:
                self._slow_down(said_at, until)


_paces: dict[str, Pace] = {}


def pace_of(endpoint: str) -> Pace:
    return _paces.setdefault(endpoint, Pace(endpoint))
