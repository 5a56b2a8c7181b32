"""Dr.GRPO: GRPO without what favours easy questions and long wrong answers.

Advantages are not divided by the group's standard deviation, and the loss not by a rollout's own
length. Liu et al. 2025, arXiv:2503.20783.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld.train.advantages import group_mean_baseline
from aworld.train.algorithms.base import Credit, Recipe, Values
from aworld.train.algorithms.clipping import ClipSettings, clipped_loss
from aworld.train.algorithms.credit import by_group
from aworld.train.algorithms.settings import Aggregation, GroupSettings

if TYPE_CHECKING:
    from aworld.train.episodes import Episode


@dataclass(frozen=True)
class DrGrpoSettings(ClipSettings, GroupSettings):
    aggregation: Aggregation = "constant"
    token_budget: int | None = 1024


def credit(
    episodes: Sequence[Episode], settings: DrGrpoSettings, values: Values | None = None
) -> list[Credit | str]:
    return by_group(episodes, settings, group_mean_baseline)


DR_GRPO = Recipe(DrGrpoSettings, credit, clipped_loss)
