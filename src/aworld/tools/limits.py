"""Calls a function, sync or async, and gives it up when its time is over."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

CANCEL_GRACE = 0.5  # seconds that a cancelled coroutine may take to clean up

_left_behind: set[asyncio.Task[Any]] = set()  # the loop itself holds tasks only weakly


class TimeUpError(Exception):
    """A call did not end in time."""


async def call_within(
    timeout: float | None, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Raises what the function raises, or TimeUpError. Cancelling it gives the function up, too.

    A thread cannot be stopped: it is abandoned, because the task must go on.
    """
    loop = asyncio.get_running_loop()
    deadline = None if timeout is None else loop.time() + timeout
    if is_async(function):
        return await _finish(lambda: function(*args, **kwargs), deadline)
    result = await _finish(lambda: in_own_thread(function, *args, **kwargs), deadline)
    return await _finish(lambda: result, deadline) if inspect.isawaitable(result) else result


async def in_own_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The thread is a daemon: it holds up neither the task nor the end of the process."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, Exception | None]] = loop.create_future()
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)

    def settle(value: Any, error: Exception | None) -> None:
        if not outcome.done():
            outcome.set_result((value, error))

    def body() -> None:
        value, error = None, None
        try:
            value = call()
        except BaseException as raised:
            error = _harmless(raised)
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:  # the loop has closed: nobody waits any more
            pass

    threading.Thread(target=body, name="aworld-tool", daemon=True).start()
    value, error = await outcome
    if error is not None:
        raise error
    return value


def is_async(function: Any) -> bool:
    code = getattr(function, "__code__", None)  # a short way for the usual case
    if code is not None and code.co_flags & inspect.CO_COROUTINE:
        return True
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


async def _finish(begin: Callable[[], Awaitable[Any]], deadline: float | None) -> Any:
    """begin: it may be given up before it has begun."""
    loop = asyncio.get_running_loop()
    work = loop.create_task(_outcome(begin))
    left = None if deadline is None else max(0.0, deadline - loop.time())
    try:
        done, _ = await asyncio.wait({work}, timeout=left)
    except asyncio.CancelledError:
        _give_up(work)
        raise
    if not done:
        _give_up(work)
        await asyncio.wait({work}, timeout=CANCEL_GRACE)
        raise TimeUpError
    value, error = work.result()
    if error is not None:
        raise error
    return value


async def _outcome(begin: Callable[[], Awaitable[Any]]) -> tuple[Any, Exception | None]:
    try:
        return await begin(), None
    except BaseException as error:
        return None, _harmless(error)


def _harmless(error: BaseException) -> Exception:
    """What would end the event loop or the task is no more than an error here."""
    if isinstance(error, Exception):
        return error
    return RuntimeError(f"it raised {type(error).__name__}({error}), which would end the worker")


def _give_up(work: asyncio.Task[Any]) -> None:
    work.cancel()
    _left_behind.add(work)
    work.add_done_callback(_left_behind.discard)
