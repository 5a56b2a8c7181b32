"""What a reward is, and the form of those that compare the answer with the ground truth.

A reward is a function of (task, trajectory), sync or async. It gives a number, a dict of numbers,
a Scored, or None where the reward is not known: not known is not 0.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, overload

from aworld.config import KnownKeysOnly
from aworld.core.failure import ErrorInfo
from aworld.core.plain import plain
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Scored:
    """What one reward says of one trajectory. `value` is None where it is not known."""

    value: float | None = None
    parts: dict[str, float] = field(default_factory=dict)
    error: ErrorInfo | None = None
    reason: str = ""  # in words, from those that can say why


Value = float | Mapping[str, float | None] | Scored | None
Reward = Callable[[Task, Trajectory], Value | Awaitable[Value]]
"""A function of task and trajectory, sync or async: a number, named parts, a Scored, or None."""


def has_answer(trajectory: Trajectory) -> bool:
    """Whether there is something to score.

    A successful task has an answer, be it None. One that was truncated may have left one. A rollout
    that failed, crashed, timed out or never ran has none: its reward is not known.
    """
    if trajectory.status == "success":
        return True
    return trajectory.status == "truncated" and trajectory.final_result is not None


def text_of(value: Any) -> str:
    """A value as the text that a person would compare."""
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


@dataclass(frozen=True)
class Match(KnownKeysOnly):
    """Compares the answer with the ground truth: 1.0, 0.0, or None where either is not there.

    It scores when it is called with a task and a trajectory; called with options alone, it gives
    the same reward with those options.

    any_of  the ground truth is a list of which each entry is right
    """

    any_of: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.any_of, bool):
            raise ConfigError(f"any_of must be True or False, got {self.any_of!r:.80}")

    @overload
    def __call__(self, task: Task, trajectory: Trajectory, /) -> float | None: ...
    @overload
    def __call__(self, /, **options: Any) -> Self: ...
    def __call__(self, /, *given: Any, **options: Any) -> Any:
        if not given:
            return replace(self, **options)
        if len(given) != 2 or options:
            raise ConfigError(
                f"{type(self).__name__} takes a task and a trajectory, or options by their names"
            )
        return self._score(*given)

    def matches(self, answer: Any, truth: Any) -> bool:
        raise NotImplementedError

    def _score(self, task: Task, trajectory: Trajectory) -> float | None:
        if task.ground_truth is None or not has_answer(trajectory):
            return None
        # plain: a stored trajectory is to score like the one in memory
        answer, truth = plain(trajectory.final_result), plain(task.ground_truth)
        if not self.any_of:
            return float(self.matches(answer, truth))
        if not isinstance(truth, list):
            raise ValueError(f"any_of needs a list as ground truth, this is {truth!r:.80}")
        return float(any(self.matches(answer, one) for one in truth)) if truth else None
