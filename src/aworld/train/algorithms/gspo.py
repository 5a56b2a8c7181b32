"""GSPO: ratio and clipping for whole sequences, since it is sequences that are rewarded.

The ratio of a sequence is the geometric mean of those of its tokens. A rollout that made several
sequences has a ratio for each. Zheng et al. 2025, arXiv:2507.18071.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld.train.algorithms.aggregation import only
from aworld.train.algorithms.base import Loss, Outputs, Recipe
from aworld.train.algorithms.clipping import clip_metrics, clipped
from aworld.train.algorithms.grpo import GrpoSettings, credit
from aworld.train.algorithms.policy_loss import policy_loss, trained_logprobs
from aworld.train.algorithms.ratios import log_ratio, old_policy

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.batches import TokenBatch, Totals


@dataclass(frozen=True)
class GspoSettings(GrpoSettings):
    clip_low: float = 3e-4
    clip_high: float = 4e-4


def loss(outputs: Outputs, batch: TokenBatch, totals: Totals, settings: GspoSettings) -> Loss:
    logprobs = trained_logprobs(outputs, batch)
    ratio = _of_sequences(log_ratio(logprobs, old_policy(batch)), batch)
    by_token = clipped(ratio, batch.advantages, settings)
    if batch.old_logprobs is not None and settings.max_weight is not None:
        apart = log_ratio(batch.old_logprobs, batch.sampled_logprobs)
        by_token = by_token * _of_sequences(apart, batch).clamp(max=settings.max_weight)
    moved = clip_metrics(ratio, batch, totals, settings)
    return policy_loss(by_token, outputs, batch, totals, settings, **moved)


def _of_sequences(log_ratios: Tensor, batch: TokenBatch) -> Tensor:
    """The same for all tokens of a row."""
    tokens = batch.mask.sum(dim=1, keepdim=True).clamp(min=1)
    mean = only(batch.mask, log_ratios).sum(dim=1, keepdim=True) / tokens
    return mean.exp().expand_as(log_ratios)


GSPO = Recipe(GspoSettings, credit, loss)
