"""PPO: the clipped surrogate, with advantages over turns from values that are learned along.

Schulman et al. 2017, arXiv:1707.06347.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld.errors import ConfigError
from aworld.train.advantages import generalised, standardised
from aworld.train.algorithms.aggregation import only
from aworld.train.algorithms.base import Credit, Loss, Outputs, Recipe, Values
from aworld.train.algorithms.clipping import ClipSettings, clipped_loss
from aworld.train.algorithms.credit import rewards_of
from aworld.train.algorithms.settings import check_numbers

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.batches import TokenBatch, Totals
    from aworld.train.episodes import Episode


@dataclass(frozen=True)
class PpoSettings(ClipSettings):
    """
    clip_value    how far a value may move in one update; None: as far as it will
    value_weight  how much the error of the values costs
    discount      what a reward is worth one turn earlier
    decay         how far ahead surprises count: 0 one turn, 1 to the end
    normalise     advantages get mean 0 and standard deviation 1 over the batch
    """

    clip_value: float | None = 0.2
    value_weight: float = 0.5
    discount: float = 1.0
    decay: float = 0.95
    normalise: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, "discount", "decay", most=1.0)
        check_numbers(self, "value_weight")
        if self.clip_value is not None:
            check_numbers(self, "clip_value")
        if not isinstance(self.normalise, bool):
            raise ConfigError(f"normalise must be True or False, got {self.normalise!r:.80}")


def credit(
    episodes: Sequence[Episode], settings: PpoSettings, values: Values | None = None
) -> list[Credit | str]:
    if values is None:
        raise ConfigError("ppo needs the model's values of each turn: select(..., values=...)")
    rewards_of(episodes)  # all of them are known
    estimates = [
        generalised(episode.turn_rewards, ours, settings.discount, settings.decay)
        for episode, ours in zip(episodes, values, strict=True)
    ]
    advantages = [advantage for advantage, _ in estimates]
    if settings.normalise:
        advantages = standardised(advantages)
    return [
        Credit(advantage, returns, ours)
        for advantage, (_, returns), ours in zip(advantages, estimates, values, strict=True)
    ]


def loss(outputs: Outputs, batch: TokenBatch, totals: Totals, settings: PpoSettings) -> Loss:
    value, metrics = clipped_loss(outputs, batch, totals, settings)
    wrong = _value_loss(outputs, batch, totals, settings)
    value = value + settings.value_weight * wrong
    return Loss(value, {**metrics, "loss": value.detach(), "value_loss": wrong.detach()})


def _value_loss(
    outputs: Outputs, batch: TokenBatch, totals: Totals, settings: PpoSettings
) -> Tensor:
    """The mean over all turns; a turn's value is that before its first token."""
    if outputs.values is None or batch.returns is None or batch.old_values is None:
        raise ConfigError("ppo needs values in the model's outputs, and a batch with credits")
    starts = batch.turn_starts
    values, returns = only(starts, outputs.values), only(starts, batch.returns)
    wrong = (values - returns).square()
    if settings.clip_value is not None:
        old = only(starts, batch.old_values)
        moved = (values - old).clamp(-settings.clip_value, settings.clip_value)
        wrong = wrong.maximum((old + moved - returns).square())
    return wrong.sum() / (2 * max(totals.turns, 1))


PPO = Recipe(PpoSettings, credit, loss, needs_values=True)
