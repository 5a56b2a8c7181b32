"""Makes results durable, many at a time: what comes while the disk is busy is written together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from aworld.store.writer import Finished, Prepared, RunWriter

Batch = TypeVar("Batch")

MOST_WAITING_BYTES = 32 * 1024 * 1024


class GroupCommit(Generic[Batch]):
    """Prepares in the thread of whoever puts, commits in one of its own."""

    def __init__(self, writer: RunWriter, on_durable: Callable[[list[Batch], int], None]):
        self._writer = writer
        self._on_durable = on_durable  # called with the batches, and how many bytes they took
        self._changed = threading.Condition()
        self._waiting: list[tuple[Batch, Prepared]] = []
        self._waiting_bytes = 0
        self._closing = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._commit_all, name="aworld-disk", daemon=True)
        self._thread.start()

    def put(self, batch: Batch, finished: Sequence[Finished]) -> None:
        """Raises what kept an earlier batch from the disk."""
        prepared = self._writer.prepare(finished)
        with self._changed:
            while self._waiting_bytes > MOST_WAITING_BYTES and self._error is None:
                self._changed.wait()
            if self._error is not None:
                raise self._error
            self._waiting.append((batch, prepared))
            self._waiting_bytes += prepared.size
            self._changed.notify_all()

    def close(self) -> None:
        """Returns when all is durable; raises if it could not be made so."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _commit_all(self) -> None:
        try:
            while waiting := self._next():
                self._writer.commit([prepared for _, prepared in waiting])
                size = sum(prepared.size for _, prepared in waiting)
                self._on_durable([batch for batch, _ in waiting], size)
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next(self) -> list[tuple[Batch, Prepared]]:
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
            self._changed.notify_all()
            return waiting
