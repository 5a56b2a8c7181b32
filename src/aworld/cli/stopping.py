"""Ctrl-C, or SIGTERM: the first lets what runs come to its end, the second stops it now."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aworld.stream import TaskStream

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_TO_STOP = 5.0  # before one more Ctrl-C breaks off even the stopping

FINISHING = "finishing what runs, nothing more is begun; Ctrl-C once more stops now"
STOPPING = "stopping now: what has finished is kept"


@contextmanager
def heard_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Both signals, for as long as this lasts."""
    earlier = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before or signal.SIG_DFL)


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """For what is simply there until it is told to go: a server."""
    earlier = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier or signal.SIG_DFL)


class Stop:
    """Whether a run was asked to end, and how soon."""

    def __init__(self, stream: TaskStream, *, aloud: bool):
        """`aloud`: a line tells that it was heard."""
        self._stream = stream
        self._aloud = aloud
        self._stopped_at = 0.0
        self._over = False
        self.asked = ""  # in words, for the display

    def listen(self) -> None:
        """To be said again after others may have taken the signals for themselves, as Ray does."""
        for number in SIGNALS:
            signal.signal(number, self.heard)

    def over(self) -> None:
        """The run has ended: whoever has asked for that is told first what came of it."""
        self._over, self._stopped_at = True, time.monotonic()

    def heard(self, number: int, frame: FrameType | None) -> None:
        if self._over:
            if not self.asked or time.monotonic() - self._stopped_at > SECONDS_TO_STOP:
                raise KeyboardInterrupt
        elif not self.asked:
            self._say(FINISHING)
            self._stream.drain()
        elif self.asked == FINISHING:
            self._say(STOPPING)
            self._stopped_at = time.monotonic()
            self._stream.cancel()
        elif time.monotonic() - self._stopped_at > SECONDS_TO_STOP:
            raise KeyboardInterrupt

    def _say(self, words: str) -> None:
        self.asked = words
        if self._aloud:
            os.write(2, f"\n{words}\n".encode())  # print may be what was interrupted
