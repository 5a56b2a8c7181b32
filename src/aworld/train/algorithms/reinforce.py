"""REINFORCE: each token is made likelier by the discounted return of its turn, less a baseline.

Williams 1992, doi:10.1007/BF00992696.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from aworld.train.advantages import SAME, batch_baseline, discounted
from aworld.train.algorithms.base import Credit, Loss, Outputs, Recipe, Values
from aworld.train.algorithms.credit import SAME_IN_BATCH, rewards_of
from aworld.train.algorithms.policy_loss import policy_loss, trained_logprobs
from aworld.train.algorithms.ratios import truncated_weights
from aworld.train.algorithms.settings import PolicySettings, check_choice, check_numbers

if TYPE_CHECKING:
    from aworld.train.batches import TokenBatch, Totals
    from aworld.train.episodes import Episode


@dataclass(frozen=True)
class ReinforceSettings(PolicySettings):
    """
    discount  what a reward is worth one turn earlier
    baseline  'batch': the mean return of the batch; 'none': returns as they are
    """

    discount: float = 0.99
    baseline: Literal["batch", "none"] = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, "discount", most=1.0)
        check_choice("baseline", self.baseline, ("batch", "none"))


def credit(
    episodes: Sequence[Episode], settings: ReinforceSettings, values: Values | None = None
) -> list[Credit | str]:
    rewards_of(episodes)  # all of them are known
    returns = [discounted(episode.turn_rewards, settings.discount) for episode in episodes]
    if settings.baseline == "none":
        return [Credit(ours) for ours in returns]
    advantages = batch_baseline(returns)
    if all(np.abs(ours).max(initial=0.0) <= SAME for ours in advantages):
        return [SAME_IN_BATCH for _ in episodes]
    return [Credit(ours) for ours in advantages]


def loss(outputs: Outputs, batch: TokenBatch, totals: Totals, settings: PolicySettings) -> Loss:
    logprobs = trained_logprobs(outputs, batch)
    weights = truncated_weights(logprobs, batch, settings.max_weight)
    by_token = -weights * batch.advantages * logprobs
    return policy_loss(by_token, outputs, batch, totals, settings)


REINFORCE = Recipe(ReinforceSettings, credit, loss)
