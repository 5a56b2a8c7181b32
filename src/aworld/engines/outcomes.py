"""The results of a run on their way to whoever asked for it, in order of finishing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from aworld.core.failure import ErrorInfo, describe_error
from aworld.engines import pickling
from aworld.engines.base import Outcome, Running
from aworld.engines.dispatcher import Settled


class OutcomeStream:
    """Outcomes to iterate over, filled by the switchboard's thread, read by any other.

    It raises what ended the run early (a broken source, no workers) after the last outcome.
    """

    def __init__(
        self,
        *,
        on_taken: Callable[[], None],
        on_cancel: Callable[[], None],
        on_announce: Callable[[Any], None],
        on_pause: Callable[[bool], None],
        on_look: Callable[[], list[Running]],
    ):
        self._on_taken = on_taken
        self._on_cancel = on_cancel
        self._on_announce = on_announce
        self._on_pause = on_pause
        self._on_look = on_look
        self._ready: list[Settled] = []
        self._changed = threading.Condition()
        self._ended = False
        self._error: BaseException | None = None
        self._listener: Callable[[], None] | None = None
        self.ready_bytes = 0
        self.taken = 0
        self.running = 0

    # -- the switchboard's side -----------------------------------------------------------------

    def put(self, settled: list[Settled]) -> None:
        with self._changed:
            self._ready.extend(settled)
            self.ready_bytes += sum([pickling.size_of(entry.payload) for entry in settled])
            self._notify()

    def end(self, error: BaseException | None = None) -> None:
        with self._changed:
            if not self._ended:
                self._ended = True
                self._error = error
                self._notify()

    def _notify(self) -> None:
        self._changed.notify_all()
        if self._listener is not None:
            self._listener()

    # -- the reader's side ----------------------------------------------------------------------

    def take(self, *, wait: bool = True) -> list[Outcome] | None:
        """All outcomes that are there: waits for the first of them. None: there are no more.

        Without `wait` the list may be empty.
        """
        with self._changed:
            while wait and not self._ready and not self._ended:
                self._changed.wait()
            settled, self._ready = self._ready, []
            self.ready_bytes = 0
            self.taken += len(settled)
            if not settled and self._ended:
                if self._error is not None:
                    raise self._error
                return None
        self._on_taken()
        return [_unpack(entry) for entry in settled]

    def listen(self, listener: Callable[[], None] | None) -> None:
        """`listener` is called, in another thread, whenever there is something to take."""
        with self._changed:
            if listener is not None and self._listener is not None:
                raise RuntimeError("somebody reads this stream already: it has one reader")
            self._listener = listener
            if listener is not None and (self._ready or self._ended):
                listener()

    def cancel(self) -> None:
        """Stops what runs. All that was taken up is still settled, as `cancelled`."""
        self._on_cancel()

    def announce(self, announcement: Any) -> None:
        """Plain data that every worker of the run finds in `Call.announced`, those to come too."""
        self._on_announce(announcement)

    def pause(self, paused: bool = True) -> None:
        """What runs goes on to its end; nothing more begins until it is called with False."""
        self._on_pause(paused)

    def running_now(self) -> list[Running]:
        """What the workers are busy with."""
        return self._on_look()

    def __iter__(self) -> Iterator[Outcome]:
        while (outcomes := self.take()) is not None:
            yield from outcomes


def _unpack(settled: Settled) -> Outcome:
    began = None if settled.worker is None else wall_clock(settled.started_at)
    outcome = Outcome(
        *(settled.index, settled.status, None, settled.error, settled.seconds),
        *(settled.attempts, settled.worker, began),
    )
    if settled.payload is None:
        return outcome
    try:
        outcome.value = pickling.decode(settled.payload)
    except (Exception, SystemExit, GeneratorExit) as broken:
        cause = describe_error(broken)
        message = f"the result cannot be rebuilt here: {cause.kind}: {cause.message}"
        outcome.status = "failed"
        outcome.error = ErrorInfo("UnpicklingError", message, cause.traceback)
    return outcome


def wall_clock(moment: float) -> float:
    """When a moment of the switchboard's clock was, by that on the wall."""
    return time.time() - (time.monotonic() - moment)
