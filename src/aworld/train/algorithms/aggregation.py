"""From a number for each token to one for the batch, in shares of the whole batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.algorithms.settings import Settings
    from aworld.train.batches import TokenBatch, Totals


def aggregated(numbers: Tensor, batch: TokenBatch, totals: Totals, settings: Settings) -> Tensor:
    """The sum of what is trained on, each token by its share. A rollout that made many rows counts
    once."""
    by_row = only(batch.mask, numbers).sum(dim=1)
    if settings.aggregation == "episode":
        by_row = by_row / batch.episode_tokens.clamp(min=1)
        return by_row.sum() / max(totals.episodes, 1)
    if settings.aggregation == "constant":
        assert settings.token_budget is not None
        return by_row.sum() / (max(totals.episodes, 1) * settings.token_budget)
    return by_row.sum() / max(totals.tokens, 1)


def only(mask: Tensor, numbers: Tensor) -> Tensor:
    """0 elsewhere, also as a gradient, whatever stands there."""
    return numbers.where(mask, 0.0)
