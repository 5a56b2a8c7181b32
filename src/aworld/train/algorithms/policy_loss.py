"""What the losses of all algorithms that learn from rewards have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.errors import ConfigError
from aworld.train.algorithms.aggregation import aggregated, only
from aworld.train.algorithms.base import Loss, Outputs
from aworld.train.algorithms.metrics import token_mean, watched
from aworld.train.algorithms.ratios import divergence, reference

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.algorithms.settings import PolicySettings
    from aworld.train.batches import TokenBatch, Totals


def trained_logprobs(outputs: Outputs, batch: TokenBatch) -> Tensor:
    """0 where nothing is trained: whatever the model says there has no gradient."""
    if outputs.logprobs.shape != batch.mask.shape:
        raise ValueError(
            f"log-probabilities of shape {tuple(outputs.logprobs.shape)} for a batch of "
            f"{tuple(batch.mask.shape)}: give those of ids[:, 1:]"
        )
    return only(batch.mask, outputs.logprobs)


def policy_loss(
    by_token: Tensor,
    outputs: Outputs,
    batch: TokenBatch,
    totals: Totals,
    settings: PolicySettings,
    **more: Tensor,
) -> Loss:
    """Adds up what each token costs; adds KL and entropy, where they are wanted."""
    value = aggregated(by_token, batch, totals, settings)
    metrics = {"policy_loss": value.detach(), **more, **watched(outputs, batch, totals)}
    if settings.kl or batch.ref_logprobs is not None:
        logprobs = trained_logprobs(outputs, batch)
        apart = divergence(logprobs, reference(batch), settings.kl_estimator)
        metrics["kl"] = token_mean(apart, batch, totals)
        if settings.kl:
            value = value + settings.kl * aggregated(apart, batch, totals, settings)
    if settings.entropy:
        if outputs.entropy is None or outputs.entropy.requires_grad != value.requires_grad:
            raise ConfigError("entropy is set: the model's outputs need its entropy, with gradient")
        value = value - settings.entropy * aggregated(outputs.entropy, batch, totals, settings)
    return Loss(value, {"loss": value.detach(), **metrics})
