"""How far policies are from each other, token by token: ratios, weights, divergences.

All of it is (rows, length - 1). Where the sampler said nothing of a token, it counts as sampled by
the policy that it is compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.algorithms.settings import KlEstimator
    from aworld.train.batches import TokenBatch

FARTHEST = 20.0  # of a log-ratio: e to the power of more would drown all other tokens


def log_ratio(new: Tensor, old: Tensor) -> Tensor:
    """0 where the old one is not known."""
    return (new - old.where(~old.isnan(), new.detach())).clamp(-FARTHEST, FARTHEST)


def old_policy(batch: TokenBatch) -> Tensor:
    """Log-probabilities of the policy from before the update: the trainer's own, or else the
    sampler's."""
    return batch.sampled_logprobs if batch.old_logprobs is None else batch.old_logprobs


def truncated_weights(trainer: Tensor, batch: TokenBatch, most: float | None) -> Tensor | float:
    """How much likelier the trainer finds each token than the sampler did, but not more than
    `most`: it corrects what the two compute differently. No gradient goes through it."""
    if most is None:
        return 1.0
    return log_ratio(trainer.detach(), batch.sampled_logprobs).exp().clamp(max=most)


def update_weights(batch: TokenBatch, most: float | None) -> Tensor | float:
    """The same for algorithms whose ratio to the old policy corrects the rest of the way."""
    if batch.old_logprobs is None:  # then the sampler is the old policy
        return 1.0
    return truncated_weights(batch.old_logprobs, batch, most)


def divergence(logprobs: Tensor, other: Tensor, estimator: KlEstimator) -> Tensor:
    """Of the policy that sampled the tokens from the other one. As part of a loss, the gradient of
    'k2' is that of the divergence, that of 'k3' is near it, that of 'k1' is 0 on average."""
    apart = log_ratio(logprobs, other)
    if estimator == "k1":
        return apart
    if estimator == "k2":
        return apart.square() / 2
    return (-apart).exp() - 1 + apart


def reference(batch: TokenBatch) -> Tensor:
    if batch.ref_logprobs is None:
        raise ConfigError("kl is set: the batch needs ref_logprobs, those of a reference model")
    return batch.ref_logprobs
