"""GRPO: the clipped surrogate, with advantages in units of the group's standard deviation.

Shao et al. 2024, arXiv:2402.03300.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld.train.advantages import group_normalised
from aworld.train.algorithms.base import Credit, Recipe, Values
from aworld.train.algorithms.clipping import ClipSettings, clipped_loss
from aworld.train.algorithms.credit import by_group
from aworld.train.algorithms.settings import Aggregation, GroupSettings, check_numbers

if TYPE_CHECKING:
    from aworld.train.episodes import Episode


@dataclass(frozen=True)
class GrpoSettings(ClipSettings, GroupSettings):
    """
    eps  added to the standard deviation
    """

    aggregation: Aggregation = "episode"
    eps: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, "eps", least=1e-12)


def credit(
    episodes: Sequence[Episode], settings: GrpoSettings, values: Values | None = None
) -> list[Credit | str]:
    return by_group(episodes, settings, lambda r, groups: group_normalised(r, groups, settings.eps))


GRPO = Recipe(GrpoSettings, credit, clipped_loss)
