"""SFT: makes the tokens of chosen rollouts likelier, those with a reward that is good enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aworld.config import check_count, is_number
from aworld.errors import ConfigError
from aworld.train.advantages import members
from aworld.train.algorithms.aggregation import aggregated
from aworld.train.algorithms.base import Credit, Loss, Outputs, Recipe, Values
from aworld.train.algorithms.policy_loss import trained_logprobs
from aworld.train.algorithms.settings import Settings, Use

if TYPE_CHECKING:
    from aworld.train.batches import TokenBatch, Totals
    from aworld.train.episodes import Episode

NOT_GOOD_ENOUGH = "its reward is less than least_reward"
OTHERS_BETTER = "others of its group are better, or as good and shorter"


@dataclass(frozen=True)
class SftSettings(Settings):
    """
    least_reward    what a rollout must have to be chosen; None: all are, also without a reward
    best_of_group   how many of each group are chosen at most, the best first; None: all
    """

    truncated: Use = "drop"
    failed: Use = "drop"
    timeout: Use = "drop"
    crashed: Use = "drop"
    least_reward: float | None = 1.0
    best_of_group: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least_reward is not None and not is_number(self.least_reward):
            raise ConfigError(f"least_reward must be a number or None, got {self.least_reward!r}")
        if self.best_of_group is not None:
            check_count("best_of_group", self.best_of_group, least=1)


def credit(
    episodes: Sequence[Episode], settings: SftSettings, values: Values | None = None
) -> list[Credit | str]:
    least = settings.least_reward
    given: list[Credit | str] = [
        Credit(np.ones(episode.turns))
        if least is None or (episode.reward is not None and episode.reward >= least)
        else NOT_GOOD_ENOUGH
        for episode in episodes
    ]
    if settings.best_of_group is not None:
        for places in members([episode.group for episode in episodes]).values():
            good = [place for place in places if isinstance(given[place], Credit)]
            good.sort(key=lambda place: _worse(episodes[place]))
            for place in good[settings.best_of_group :]:
                given[place] = OTHERS_BETTER
    return given


def loss(outputs: Outputs, batch: TokenBatch, totals: Totals, settings: SftSettings) -> Loss:
    by_token = -trained_logprobs(outputs, batch) * batch.advantages
    value = aggregated(by_token, batch, totals, settings)
    return Loss(value, {"loss": value.detach()})


def _worse(episode: Episode) -> tuple[float, int]:
    reward = float("-inf") if episode.reward is None else episode.reward
    return -reward, episode.tokens


SFT = Recipe(SftSettings, credit, loss, needs_reward=False)
