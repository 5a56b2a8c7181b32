"""Tells pages what has changed, as server-sent events. It looks at files; the run is not asked."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

from aworld.errors import AWorldError
from aworld.view.encoding import to_json
from aworld.view.library import Library

LOOK_SECONDS = 0.5
CLOSING_SECONDS = 0.1  # within which a stream ends when the server does
QUIET_SECONDS = 15.0  # then a line without news: both sides see that the other is there
SHARE = 0.1  # of one core's time that news may take

Look = Callable[[], dict[str, Any]]


async def events_of_run(
    library: Library, name: str, look: Look, now: Look, closing: threading.Event
) -> AsyncIterator[bytes]:
    """`look` gives the figures, when the run has changed; `now` what is true of this moment."""
    last, told = None, b""
    async for pause in _rounds(closing):
        try:
            mark = await run_in_threadpool(library.mark, name)
            began = time.perf_counter()
            if mark != last:
                figures = await run_in_threadpool(look)
                yield _event("run", figures)
            moment = await run_in_threadpool(now)
            if mark != last:
                last = mark
                pause.extend((time.perf_counter() - began) / SHARE)
            known = to_json({**moment, "at": 0})
            if known != told or moment.get("running"):
                told = known
                yield _event("now", moment)
            elif pause.is_quiet:
                yield b": still here\n\n"
        except AWorldError as error:
            yield _event("problem", {"error": str(error)})


async def events_of_list(look: Look, closing: threading.Event) -> AsyncIterator[bytes]:
    last = None
    async for pause in _rounds(closing):
        began = time.perf_counter()
        found = await run_in_threadpool(look)
        pause.extend((time.perf_counter() - began) / SHARE)
        text = to_json(found)
        if text != last:
            last = text
            yield _event("runs", found)
        elif pause.is_quiet:
            yield b": still here\n\n"


class _Pause:
    """How long to wait before the next look."""

    def __init__(self) -> None:
        self._more = 0.0
        self._spoke = time.monotonic()

    def extend(self, seconds: float) -> None:
        self._more = min(seconds, 30.0)
        self._spoke = time.monotonic()

    @property
    def is_quiet(self) -> bool:
        quiet = time.monotonic() - self._spoke > QUIET_SECONDS
        if quiet:
            self._spoke = time.monotonic()
        return quiet

    async def wait(self, closing: threading.Event) -> None:
        until = time.monotonic() + max(LOOK_SECONDS, self._more)
        self._more = 0.0
        while not closing.is_set() and (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(CLOSING_SECONDS, left))


async def _rounds(closing: threading.Event) -> AsyncIterator[_Pause]:
    pause = _Pause()
    while not closing.is_set():
        yield pause
        await pause.wait(closing)


def _event(kind: str, content: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), to_json(content))
