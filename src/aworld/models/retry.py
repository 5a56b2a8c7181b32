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

_chance = random.Random()  # our own: an agent may have seeded the other one


async def with_retries(
    call: Callable[[], Awaitable[Reply]],
    *,
    most: int,
    connect_seconds: float,
    on_retry: Callable[[ModelError], None] = lambda error: None,
) -> tuple[Reply, int]:
    """The reply, and how many attempts it took.

    A server that cannot be reached at all is given up after `connect_seconds`.
    """
    unreachable_since: float | None = None
    attempt = 0
    while True:
        attempt += 1
        try:
            return await call(), attempt
        except ModelError as error:
            if not error.may_pass or attempt > most:
                raise
            wait = _wait(attempt, error.retry_after)
            if not error.unreachable:
                unreachable_since = None
            else:
                unreachable_since = unreachable_since or error.asked_at
                left = unreachable_since + connect_seconds - time.monotonic()
                if left <= 0:
                    raise
                wait = min(wait, left)
            on_retry(error)
        await asyncio.sleep(wait)


def _wait(attempt: int, retry_after: float | None) -> float:
    """Grows from one attempt to the next, with a random part: not all come back at once."""
    backoff = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
    return max(retry_after or 0.0, backoff * (0.5 + _chance.random()))
