"""Ctrl-C, or SIGTERM: the first lets what runs come to its end, the second stops it now."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aworld.stream import TaskStream

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_TO_STOP = 5.0  # before one more Ctrl-C breaks off even the stopping

FINISHING = "finishing what runs, nothing more is begun; Ctrl-C once more stops now"
STOPPING = "stopping now: what has finished is kept"


class Stop:
    """Whether a run was asked to end, and how soon."""

    def __init__(self, stream: TaskStream):
        self._stream = stream
        self._stopped_at = 0.0
        self.asked = ""  # in words, for the display

    @contextmanager
    def on_signals(self, *, aloud: bool) -> Iterator[Stop]:
        """`aloud`: a line tells that it was heard."""
        self._aloud = aloud
        earlier = {number: signal.getsignal(number) for number in SIGNALS}
        self.listen()
        try:
            yield self
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def listen(self) -> None:
        """To be said again after others may have taken the signals for themselves, as Ray does."""
        for number in SIGNALS:
            signal.signal(number, self._heard)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
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
