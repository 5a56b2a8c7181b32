"""Credit for whole episodes: every turn of an episode has its advantage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from aworld.train.advantages import Groups, Numbers, alone, without_difference
from aworld.train.algorithms.base import Credit
from aworld.train.algorithms.settings import GroupSettings

if TYPE_CHECKING:
    from aworld.train.episodes import Episode

GROUP_OF_ONE = "alone in its group: nothing to compare it with"
SAME_REWARDS = "all rewards of its group are the same"
SAME_IN_BATCH = "all rewards of the batch are the same"

Compare = Callable[[Numbers, Groups], Numbers]


def by_group(
    episodes: Sequence[Episode], settings: GroupSettings, compare: Compare
) -> list[Credit | str]:
    """As `compare` says. A group is counted by its episodes, however many rows they made."""
    rewards, groups = rewards_of(episodes), [episode.group for episode in episodes]
    advantages = compare(rewards, groups)
    reasons = [
        GROUP_OF_ONE if one else SAME_REWARDS if same and settings.same_rewards == "drop" else ""
        for one, same in zip(alone(groups), without_difference(rewards, groups), strict=True)
    ]
    return [
        reason or Credit(np.full(episode.turns, advantage))
        for episode, advantage, reason in zip(episodes, advantages, reasons, strict=True)
    ]


def rewards_of(episodes: Sequence[Episode]) -> Numbers:
    unknown = [episode.task_id for episode in episodes if episode.reward is None]
    if unknown:
        raise ValueError(f"episodes without a reward: {', '.join(unknown)!s:.80}; select() first")
    return np.array([episode.reward for episode in episodes], np.float64)
