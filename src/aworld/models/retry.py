"""Tries again what may go better the next time, and only that."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aworld.errors import ModelError

FIRST_WAIT = 0.25
LONGEST_WAIT = 30.0

Reply = TypeVar("Reply")


async def with_retries(
    call: Callable[[], Awaitable[Reply]], *, most: int, connect_seconds: float
) -> tuple[Reply, int]:
    """The reply, and how many attempts it took.

    A server that cannot be reached at all is given up after `connect_seconds`.
    """
    last_reached = time.monotonic()
    attempt = 0
    while True:
        attempt += 1
        try:
            return await call(), attempt
        except ModelError as error:
            now = time.monotonic()
            if error.unreachable:
                if now - last_reached >= connect_seconds:
                    raise
            else:
                last_reached = now
            if not error.may_pass or attempt > most:
                raise
            wait = _wait(attempt, error.retry_after)
            if error.unreachable:
                wait = min(wait, max(0.0, last_reached + connect_seconds - now))
        await asyncio.sleep(wait)


def _wait(attempt: int, retry_after: float | None) -> float:
    """Grows from one attempt to the next, with a random part: not all come back at once."""
    backoff = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
    return max(retry_after or 0.0, backoff * (0.5 + random.random()))
