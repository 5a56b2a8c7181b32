"""One environment of Gymnasium's kind, used from one thread of its own.

Some environments cannot change threads, and none should block the event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

from aworld.tools.limits import is_async

Show = Callable[[Any, Any], str]


class Move(NamedTuple):
    """What came of an action."""

    text: str  # the observation, as it is shown
    reward: float
    terminated: bool
    truncated: bool
    info: Any


class Stage:
    def __init__(self, make: Callable[..., Any], options: Mapping[str, Any], show: Show):
        self._make = partial(make, **options)
        self._show = show
        self._environment: Any = None
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        thread = threading.Thread(target=self._work, name="aworld-environment", daemon=True)
        thread.start()

    @property
    def action_space(self) -> Any:
        return getattr(self._environment, "action_space", None)

    async def open(self) -> None:
        await self._in_thread(self._set_up)

    async def reset(self, how: Mapping[str, Any]) -> str:
        given = await self._call(self._environment.reset, **how)
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(f"reset must return (observation, info), got {given!r:.80}")
        return await self._in_thread(self._show, given[0], self._environment)

    async def step(self, action: Any) -> Move:
        given = await self._call(self._environment.step, action)
        if not isinstance(given, tuple) or len(given) != 5:
            raise TypeError(
                "step must return (observation, reward, terminated, truncated, info), "
                f"got {given!r:.80}"
            )
        observation, reward, terminated, truncated, info = given
        text = await self._in_thread(self._show, observation, self._environment)
        return Move(text, float(reward), bool(terminated), bool(truncated), info)

    async def close(self) -> None:
        """When what still runs has ended, be it the making of the environment."""
        try:
            await self._in_thread(lambda: None)
            close = getattr(self._environment, "close", None)
            if close is not None:
                await self._call(close)
        finally:
            self._calls.put(None)

    def _set_up(self) -> None:
        self._environment = self._make()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    async def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if is_async(function):
            return await function(*args, **kwargs)
        return await self._in_thread(function, *args, **kwargs)

    async def _in_thread(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        call = partial(contextvars.copy_context().run, function, *args, **kwargs)

        def settle(outcome: tuple[Any, BaseException | None]) -> None:
            if not done.done():
                done.set_result(outcome)

        def body() -> None:
            try:
                outcome = call(), None
            except BaseException as error:
                outcome = None, error
            try:
                loop.call_soon_threadsafe(settle, outcome)
            except RuntimeError:  # the loop has closed: nobody waits any more
                pass

        self._calls.put(body)
        value, error = await done
        if error is not None:
            raise error
        return value
