"""Refuses a reward that would know nothing: it compares with ground truths, and there are none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.rewards.base import Match
from aworld.rewards.catalog import name_of, the_reward
from aworld.rewards.combined import FailuresAs, Weighted


def check_truth(given: Any, tasks: Iterable[Task], *, hint: str = "set Task.ground_truth") -> None:
    """given: a reward, or the name of one. hint: how the caller's tasks come by a ground truth."""
    reward = the_reward(given)
    known = (task for task in tasks if isinstance(task, Task) and task.ground_truth is not None)
    if _needs_truth(reward) and next(known, None) is None:
        raise ConfigError(
            f"the reward {name_of(reward)!r} compares answers with the ground truth, and no task "
            f"has one: {hint}, or choose a reward that needs none"
        )


def _needs_truth(reward: Any) -> bool:
    """Whether it is None for every task without ground truth, as far as can be told."""
    if isinstance(reward, FailuresAs):
        return _needs_truth(reward.reward)
    if isinstance(reward, Weighted):
        needs = [_needs_truth(part) for _, part in reward.parts.values()]
        return all(needs) if reward.on_missing == "skip" else any(needs)
    return isinstance(reward, Match)
