"""Pulls items from an iterable of any length and makes them ready to send, a little ahead of need.

It has a thread of its own: a generator that waits must not hold up the results of others.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable

from aworld.core.failure import ErrorInfo
from aworld.engines import pickling
from aworld.engines.base import Item
from aworld.engines.dispatcher import Entry, Settled

MOST_BUFFERED_BYTES = 64 << 20


class Feeder:
    def __init__(
        self,
        items: Iterable[Item],
        *,
        window: int,
        buffered: Callable[[], tuple[int, int]],
        wake: Callable[[], None],
    ):
        """`window` items may be under way; `buffered` says how many are, and how many bytes.

        `wake` is called when there is news.
        """
        self._items = items
        self._countable = isinstance(items, Collection)
        self._buffered = buffered
        self._wake = wake
        self._room = threading.Condition()
        self._least_window = self._window = window
        self.cancelled = False
        self.ready: deque[Entry | Settled] = deque()
        self.pulled = 0
        self.ended = False
        self.error: BaseException | None = None

    def start(self) -> None:
        threading.Thread(target=self._feed, name="aworld-feeder", daemon=True).start()

    def widen(self, window: int) -> None:
        """How many items may be under way at once, from now on."""
        self._window = max(window, self._least_window)
        self.look()

    def look(self) -> None:
        """There may be room for more."""
        with self._room:
            if self._has_room():  # waking it for nothing costs more than looking
                self._room.notify()

    def cancel(self) -> None:
        """What can still be counted is settled as cancelled; an open-ended source is left alone."""
        self.cancelled = True
        self.look()
        if not self._countable:
            self.ended = True
        self._wake()

    def _feed(self) -> None:
        room = self._wait_for_room()
        try:
            for item in self._items:
                if self.ended:
                    break
                entry = self._prepare(item)
                self.ready.append(entry)
                self.pulled += 1
                self._wake()
                room -= 1
                if isinstance(entry, Entry) and entry.size:
                    room -= entry.size * self._window // MOST_BUFFERED_BYTES
                if room <= 0:
                    room = self._wait_for_room()
        except BaseException as error:
            if not self.cancelled:
                self.error = error
        self._end()

    def _end(self) -> None:
        self.ended = True
        self._wake()

    def _wait_for_room(self) -> int:
        """Returns how many items may be pulled before asking again."""
        with self._room:
            while not self._has_room():
                self._room.wait()
            return self._free_room()

    def _has_room(self) -> bool:
        """A quarter at a time: two threads that wake each other for every item are slow."""
        return self.cancelled or self._free_room() > self._window // 4

    def _free_room(self) -> int:
        count, size = self._buffered()
        if count == 0:
            return self._window
        share = (MOST_BUFFERED_BYTES - size) / MOST_BUFFERED_BYTES
        return min(self._window - count, int(self._window * share))

    def _prepare(self, item: Item) -> Entry | Settled:
        index = self.pulled
        if self.cancelled:
            error = ErrorInfo("Cancelled", "the run was cancelled before this task started")
            return Settled(index, "cancelled", None, error, 0.0, 0)
        if item.verdict is not None:
            status, error = item.verdict
            return Settled(index, status, None, error, 0.0, 0)
        try:
            payload = pickling.encode(item.value, "value", item.parts)
        except pickling.UnpicklableError as error:
            return Settled(index, "failed", None, error.as_data("its "), 0.0, 0)
        size = pickling.size_of(payload)
        return Entry(index, item.key, payload, size, item.timeout, item.shared)
