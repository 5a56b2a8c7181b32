"""Ends a run without breaking anything off: what has begun goes on to its end, the rest stays."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from aworld.core.failure import ErrorInfo
from aworld.rollout import Call, Report, rollout

if TYPE_CHECKING:
    from aworld.engines.outcomes import OutcomeStream

NOT_BEGUN = ErrorInfo("Cancelled", "the run was to stop before this task started")
DRAINING = {"draining": True}


async def rollout_unless_draining(fields: tuple[Any, ...], call: Call) -> tuple[Any, ...]:
    """In a worker: what was sent ahead of need does not begin when the run is to stop."""
    announced = call.announced
    if announced is not None and announced.get("draining"):
        return Report(None, "cancelled", NOT_BEGUN, 0.0, 0, "", [], {}, None, None)
    return await rollout(fields, call)


rollout_unless_draining.result_parts = Report._fields  # type: ignore[attr-defined]


class Announcer:
    """All that the workers of a run are told, by whoever tells it: each announcement takes the
    place of the one before, so they are made together."""

    def __init__(self, outcomes: OutcomeStream):
        self._outcomes = outcomes
        self._said: dict[str, Any] = {}
        self._speaking = threading.RLock()  # a signal's handler may interrupt it

    def announce(self, news: dict[str, Any]) -> None:
        with self._speaking:
            self._said |= news
            self._outcomes.announce(dict(self._said))

    def cancel(self) -> None:
        self._outcomes.cancel()
