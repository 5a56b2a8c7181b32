"""Responses on their way through the store: durable before anybody is told of them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from aworld.errors import StoreError
from aworld.reception import Batch, Reception
from aworld.recorder import Recorder

MOST_UNREAD = 2_000  # responses that wait for a slow reader; then the run waits too
MOST_UNREAD_BYTES = 64 * 1024 * 1024


class Recording:
    """Reads for the reader, in a thread of its own: a slow reader keeps nothing from the disk."""

    def __init__(self, reception: Reception, recorder: Recorder, *, on_failure: Callable[[], None]):
        self._reception = reception
        self._recorder = recorder
        self._on_failure = on_failure  # the run has no sense any more
        self._changed = threading.Condition()
        self._unread: Batch = []
        self._unread_bytes = 0
        self._ended = False
        self._abandoned = False
        self._error: BaseException | None = None
        self._listener: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._record, name="aworld-store", daemon=True)
        self._thread.start()

    # -- its own side ----------------------------------------------------------------------------

    def _record(self) -> None:
        error: BaseException | None = None
        recorder, reception = self._recorder, self._reception
        try:
            recorder.flush(all_known=recorder.knows_all)
            while (batch := reception.take()) is not None:  # all that came while the disk was busy
                self._hand_over(batch, recorder.record(batch, refused=reception.is_refused))
            recorder.flush(all_known=reception.is_complete)
        except BaseException as raised:
            error = raised
        with self._changed:
            self._ended, self._error = True, error
            self._notify()
        if isinstance(error, StoreError):
            self._on_failure()

    def _hand_over(self, batch: Batch, size: int) -> None:
        with self._changed:
            self._unread += batch
            self._unread_bytes += size
            self._notify()
            while not self._abandoned and (
                len(self._unread) > MOST_UNREAD or self._unread_bytes > MOST_UNREAD_BYTES
            ):
                self._changed.wait()

    def _notify(self) -> None:
        self._changed.notify_all()
        if self._listener is not None:
            self._listener()

    # -- the reader's side -----------------------------------------------------------------------

    def take(self, *, wait: bool = True) -> Batch | None:
        with self._changed:
            while wait and not self._unread and not self._ended:
                self._changed.wait()
            batch, self._unread, self._unread_bytes = self._unread, [], 0
            self._changed.notify_all()
            if not batch and self._ended:
                if self._error is not None:
                    raise self._error
                return None
        return batch

    def listen(self, listener: Callable[[], None] | None) -> None:
        with self._changed:
            if listener is not None and self._listener is not None:
                raise RuntimeError("somebody reads this stream already: it has one reader")
            self._listener = listener
            if listener is not None and (self._unread or self._ended):
                listener()

    def close(self) -> None:
        """Waits until all that has finished is recorded. The engine must have been closed."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()
