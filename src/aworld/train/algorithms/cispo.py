"""CISPO: the importance weight is clipped, not the gain, so that every token keeps a gradient.

MiniMax 2025, arXiv:2506.13585.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld.train.algorithms.base import Loss, Outputs, Recipe
from aworld.train.algorithms.clipping import clip_metrics
from aworld.train.algorithms.grpo import GrpoSettings, credit
from aworld.train.algorithms.policy_loss import policy_loss, trained_logprobs
from aworld.train.algorithms.ratios import log_ratio, old_policy, update_weights
from aworld.train.algorithms.settings import Aggregation

if TYPE_CHECKING:
    from aworld.train.batches import TokenBatch, Totals


@dataclass(frozen=True)
class CispoSettings(GrpoSettings):
    aggregation: Aggregation = "token"
    clip_low: float = 1.0  # the weight has no lower bound
    clip_high: float = 0.28


def loss(outputs: Outputs, batch: TokenBatch, totals: Totals, settings: CispoSettings) -> Loss:
    logprobs = trained_logprobs(outputs, batch)
    ratio = log_ratio(logprobs.detach(), old_policy(batch)).exp()
    bounded = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    by_token = -bounded * batch.advantages * logprobs
    by_token = by_token * update_weights(batch, settings.max_weight)
    moved = clip_metrics(ratio, batch, totals, settings)
    return policy_loss(by_token, outputs, batch, totals, settings, **moved)


CISPO = Recipe(CispoSettings, credit, loss)
