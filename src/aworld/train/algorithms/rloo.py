"""RLOO: plain policy gradient; the baseline is the mean of the other rollouts of the same task.

Ahmadian et al. 2024, arXiv:2402.14740.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld.train.advantages import leave_one_out
from aworld.train.algorithms.base import Credit, Recipe, Values
from aworld.train.algorithms.credit import by_group
from aworld.train.algorithms.reinforce import loss
from aworld.train.algorithms.settings import GroupSettings

if TYPE_CHECKING:
    from aworld.train.episodes import Episode


@dataclass(frozen=True)
class RlooSettings(GroupSettings):
    pass


def credit(
    episodes: Sequence[Episode], settings: RlooSettings, values: Values | None = None
) -> list[Credit | str]:
    return by_group(episodes, settings, leave_one_out)


RLOO = Recipe(RlooSettings, credit, loss)
