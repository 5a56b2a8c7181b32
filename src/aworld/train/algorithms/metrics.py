"""What is watched while training: sums and shares that add up over micro-batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from aworld.train.algorithms.aggregation import only
from aworld.train.algorithms.ratios import divergence, log_ratio

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.algorithms.base import Outputs
    from aworld.train.batches import TokenBatch, Totals

WEIGHTS, SQUARES = "weights", "weights_squared"  # of them the effective sample size is made


def token_mean(numbers: Tensor, batch: TokenBatch, totals: Totals) -> Tensor:
    """This part's share of the mean over all tokens of the whole batch."""
    return only(batch.mask, numbers.detach()).sum() / max(totals.tokens, 1)


def watched(outputs: Outputs, batch: TokenBatch, totals: Totals) -> dict[str, Tensor]:
    """Of every algorithm that learns from rewards."""
    logprobs = only(batch.mask, outputs.logprobs.detach())
    trainer = logprobs if batch.old_logprobs is None else batch.old_logprobs
    weights = log_ratio(logprobs, batch.sampled_logprobs).exp()
    known = only(batch.mask, (~batch.sampled_logprobs.isnan()).to(logprobs.dtype))
    return {
        "entropy": token_mean(
            -logprobs if outputs.entropy is None else outputs.entropy, batch, totals
        ),
        # the tokens are the sampler's, so the divergence is: its own from the trainer
        "sampler_kl": token_mean(_sampler_kl(trainer, batch), batch, totals),
        "sampler_known": token_mean(known, batch, totals),
        WEIGHTS: token_mean(weights, batch, totals),
        SQUARES: token_mean(weights.square(), batch, totals),
    }


def figures(parts: Iterable[Mapping[str, Tensor]]) -> dict[str, float]:
    """The metrics of a whole batch, from those of all its micro-batches."""
    sums: dict[str, float] = {}
    for part in parts:
        for name, share in part.items():
            sums[name] = sums.get(name, 0.0) + float(share)
    if SQUARES in sums:  # as a share of the tokens: 1 where sampler and trainer agree
        weights, squares = sums.pop(WEIGHTS), sums.pop(SQUARES)
        sums["effective_sample_size"] = weights**2 / squares if squares else 0.0
    return sums


def _sampler_kl(trainer: Tensor, batch: TokenBatch) -> Tensor:
    sampled = batch.sampled_logprobs
    return divergence(sampled.where(~sampled.isnan(), trainer), trainer, "k3")
