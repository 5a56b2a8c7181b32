"""A recorded run and those who look at it: tells them what runs now, and hears when to pause."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from aworld.engines.outcomes import OutcomeStream
from aworld.intake import Ticket
from aworld.store.live import RunningTask, forget_live, is_to_pause, write_live

EVERY_SECONDS = 0.5


class Steering:
    """A thread that looks into the run's folder twice a second, whatever the size of the run."""

    def __init__(
        self,
        folder: Path,
        outcomes: OutcomeStream,
        tickets: Mapping[int, Ticket],
        retried: Sequence[str],
    ):
        self._folder = folder
        self._retried = retried
        self._outcomes = outcomes
        self._tickets = tickets
        self._paused = False
        self._may_pause = True
        self._ended = threading.Event()
        forget_live(folder)  # what was left by a process that was killed
        self._thread = threading.Thread(target=self._steer, name="aworld-steering", daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """The run is to come to its end: a pause would keep it from that."""
        self._may_pause = False
        self._outcomes.pause(False)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        forget_live(self._folder)

    def _steer(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            paused = self._may_pause and is_to_pause(self._folder)
            if paused != self._paused:
                self._paused = paused
                self._outcomes.pause(paused)
            state = {"paused": paused, "cancelling": not self._may_pause}
            write_live(self._folder, self._running(), **state, retried=self._retried)

    def _running(self) -> list[RunningTask]:
        found = []
        for running in self._outcomes.running_now():
            ticket = self._tickets.get(running.index)
            if ticket is not None:
                found.append(RunningTask(ticket.slot, running.worker, running.began))
        return found
