"""Lets decoding steps and weight updates take turns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """One step or one update at a time; an update that waits goes first.

    A plain lock would not do: whoever decodes takes it again at once, and an update would starve.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False
        self._updates_waiting = 0

    @contextmanager
    def step(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._busy and not self._updates_waiting)
            self._busy = True
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def update(self) -> Iterator[None]:
        with self._changed:
            self._updates_waiting += 1
            try:
                self._changed.wait_for(lambda: not self._busy)
                self._busy = True
            finally:  # Ctrl-C may come while it waits
                self._updates_waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._changed:
            self._busy = False
            self._changed.notify_all()
