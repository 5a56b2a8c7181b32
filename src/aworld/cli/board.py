"""How a run stands, in numbers and in words."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from aworld.core.failure import ErrorInfo, first_line, worth
from aworld.core.shown import harmless, shortened
from aworld.core.task import TaskResponse
from aworld.recorder import OWED

if TYPE_CHECKING:
    from aworld.stream import TaskStream

MOST_KINDS = 3


class Board:
    """Written by whoever reads the responses, read by the display at any time."""

    def __init__(self, stream: TaskStream, *, scored: bool, before: int = 0):
        """`before`: how many results there were already."""
        self.stream = stream
        self.before = before
        self.ended: list[TaskResponse] = []  # without what is long: enough for a summary
        self.statuses: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._scored = scored
        self._rewards: tuple[float, int] = (0.0, 0)  # their sum and their number
        self.reward_errors: Counter[str] = Counter()  # in words
        self._began = time.monotonic()

    def add(self, response: TaskResponse) -> None:
        error = response.error
        if error is not None:
            error = ErrorInfo(harmless(error.kind), _one_line(error.message))
        self.ended.append(
            TaskResponse("", None, response.status, error, response.time_cost)  # no trajectory
        )
        self.statuses[response.status] += 1
        if response.status not in ("success", *OWED):
            self._kinds[error.kind if error else response.status] += 1
        problem = _problem_of_reward(response)
        if problem:
            self.reward_errors[problem] += 1
        value = worth(response.status, response.reward) if self._scored else response.reward
        if value is not None:
            total, count = self._rewards
            self._rewards = (total + value, count + 1)

    @property
    def done(self) -> int:
        return len(self.ended) - self.owed

    @property
    def owed(self) -> int:
        """Came back, but have not run."""
        return sum(self.statuses[status] for status in OWED)

    @property
    def total(self) -> int | None:
        return self.stream.total

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def reward(self) -> float | None:
        total, count = self._rewards
        return total / count if count else None

    @property
    def seconds_left(self) -> float | None:
        if self.total is None or not self.done:
            return None
        return (self.total - len(self.ended)) * self.seconds / self.done

    def counted(self) -> str:
        """`12/40 done`, with those of earlier times."""
        total = self.total
        of = "" if total is None else f"/{total + self.before}"
        return f"{self.done + self.before}{of} done"

    def state(self) -> str:
        """What runs, what failed, how quickly, at what cost."""
        seconds, usage = max(self.seconds, 1e-9), self.stream.usage
        parts = [f"{self.stream.counts.running} running", self.failures()]
        parts.append(f"{_rate(self.done / seconds)} tasks/s")
        if usage.tokens:
            parts.append(f"{_rate(usage.tokens / seconds)} tokens/s")
        if usage.cost:
            parts.append(f"cost {usage.cost:.4g}")
        if self.reward is not None:
            parts.append(f"reward {self.reward:.3f}")
        left = self.seconds_left
        if left:
            parts.append(f"{as_time(left)} left")
        return ", ".join(parts)

    def failures(self) -> str:
        kinds = Counter(dict(self._kinds))  # at once: the other thread goes on counting
        failed = kinds.total()
        if not failed:
            return "0 failed"
        most = [f"{count} {kind}" for kind, count in kinds.most_common(MOST_KINDS)]
        return f"{failed} failed ({', '.join(most)}{', ...' if len(kinds) > MOST_KINDS else ''})"


def as_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _rate(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _problem_of_reward(response: TaskResponse) -> str:
    """Why the reward gave none, if it raised."""
    metadata = {} if response.trajectory is None else response.trajectory.metadata
    error = (metadata.get("scored") or {}).get("error")
    if not error:
        return ""
    kind, message = error.get("kind", "Error"), error.get("message", "")
    return _one_line(f"{kind}: {message}" if message else kind)


def _one_line(message: str) -> str:
    return shortened(harmless(first_line(Exception(message))), 200)
