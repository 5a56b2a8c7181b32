"""Turns Ctrl-C into a call, so that it cannot strike between two lines and lose a result."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ctrl_c_calls(callback: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C calls `callback`, a second one interrupts at once, as always.

    Gives a function that says whether Ctrl-C was pressed. Where Ctrl-C is not Python's own matter
    (another thread, a handler of the user's) everything stays as it is.
    """
    pressed = False

    def handler(signum: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        callback()

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: pressed
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
