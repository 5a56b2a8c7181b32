"""The clipped surrogate: no more is gained from a token once its policy has moved far enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld.train.algorithms.base import Loss, Outputs
from aworld.train.algorithms.metrics import token_mean
from aworld.train.algorithms.policy_loss import policy_loss, trained_logprobs
from aworld.train.algorithms.ratios import log_ratio, old_policy, update_weights
from aworld.train.algorithms.settings import PolicySettings, check_numbers

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.batches import TokenBatch, Totals


@dataclass(frozen=True)
class ClipSettings(PolicySettings):
    """Those of algorithms that take several steps on one batch.

    clip_low, clip_high  how far below and above 1 the ratio to the old policy may count
    """

    clip_low: float = 0.2
    clip_high: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, "clip_low", most=1.0)
        check_numbers(self, "clip_high")


def clipped_loss(
    outputs: Outputs, batch: TokenBatch, totals: Totals, settings: ClipSettings
) -> Loss:
    """Token by token."""
    ratio = log_ratio(trained_logprobs(outputs, batch), old_policy(batch)).exp()
    by_token = clipped(ratio, batch.advantages, settings)
    by_token = by_token * update_weights(batch, settings.max_weight)
    moved = clip_metrics(ratio, batch, totals, settings)
    return policy_loss(by_token, outputs, batch, totals, settings, **moved)


def clipped(ratio: Tensor, advantages: Tensor, settings: ClipSettings) -> Tensor:
    """What each token costs."""
    within = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    return -(ratio * advantages).minimum(within * advantages)


def clip_metrics(
    ratio: Tensor, batch: TokenBatch, totals: Totals, settings: ClipSettings
) -> dict[str, Tensor]:
    """The share of tokens whose ratio is so low or so high that they are clipped."""
    ratio = ratio.detach()
    below = (ratio < 1 - settings.clip_low) & (batch.advantages < 0)
    above = (ratio > 1 + settings.clip_high) & (batch.advantages > 0)
    return {
        "ratio": token_mean(ratio, batch, totals),
        "clipped_low": token_mean(below.to(ratio.dtype), batch, totals),
        "clipped_high": token_mean(above.to(ratio.dtype), batch, totals),
        "clip_fraction": token_mean((below | above).to(ratio.dtype), batch, totals),
    }
