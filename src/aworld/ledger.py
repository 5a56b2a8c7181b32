"""What a run's workers tell the driver while they work: what they spend, and when to slow down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from aworld.config import RunConfig
from aworld.core.event import Event
from aworld.core.usage import NOTHING, Usage


class Crowd(Protocol):
    """All workers of a run, to be spoken to."""

    def announce(self, news: dict[str, Any], /) -> None: ...
    def cancel(self) -> None: ...


class Ledger:
    """Hears all workers, in the thread of the engine's switchboard; answers all of them there."""

    def __init__(self, conf: RunConfig, on_event: Callable[[Event], None] | None = None):
        self._conf = conf
        self._on_event = on_event
        self._workers: Crowd | None = None
        self._stop: str | None = None
        self._slow: dict[str, tuple[float, float]] = {}  # by endpoint: since when, until when
        self._by_task: dict[int, Usage] = {}  # of those that are under way
        self.usage = NOTHING
        self.refused: str | None = None  # why the run has no sense any more

    def open(self, workers: Crowd) -> None:
        """From now on the workers can be answered."""
        self._workers = workers
        self._act()

    def hear(self, index: int, news: dict[str, Any]) -> None:
        if "spent" in news:
            self.usage += news["spent"]
            self._by_task[index] = self._by_task.get(index, NOTHING) + news["spent"]
            if self._stop is None and (reason := self._used_up()):
                self._stop = reason
                self._act()
        elif "slow" in news:
            endpoint, began, until = news["slow"]
            self._slow = {**self._slow, endpoint: (began, until)}
            self._act()
        elif "refused" in news and self.refused is None:
            self.refused = news["refused"]
            self._act()
        elif "event" in news and self._on_event is not None:
            self._on_event(Event(**news["event"]))

    def settle(self, index: int) -> Usage:
        """What was spent on a task that has ended, even if it could not say so itself."""
        return self._by_task.pop(index, NOTHING)

    def _used_up(self) -> str | None:
        for name, used in (("max_tokens", self.usage.tokens), ("max_cost", self.usage.cost)):
            most = getattr(self._conf, name)
            if most is not None and used >= most:
                return f"{name}={most:g} of the run are used up"
        return None

    def _act(self) -> None:
        if self._workers is None:
            return
        if self._stop or self._slow:
            self._workers.announce({"stop": self._stop, "slow": self._slow})
        if self.refused is not None:
            self._workers.cancel()
