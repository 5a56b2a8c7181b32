"""What a model says of a batch: one forward pass for each of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from aworld.policies.base import Policy
from aworld.train.advantages import Numbers
from aworld.train.algorithms.base import Outputs
from aworld.train.batches import TokenBatch, batch_of, micro_batches
from aworld.train.episodes import Episode
from aworld.train.values import ValueHead, turn_values


def outputs_of(
    policy: Policy, part: TokenBatch, head: ValueHead | None = None, *, entropy: bool = False
) -> Outputs:
    """With gradients; of the entropy, if that is asked for. `part` is where the model is."""
    hidden = policy.hidden(part.ids)
    logprobs, spread = policy.logprobs_and_entropy(
        hidden,
        part.ids,
        wanted=part.mask,
        temperature=part.temperature,
        entropy_trains=entropy,
    )
    return Outputs(logprobs, spread, None if head is None else head(hidden))


@torch.no_grad()
def with_old_logprobs(policy: Policy, parts: Sequence[TokenBatch]) -> list[TokenBatch]:
    """The trainer's own, from before the first of several updates."""
    return [replace(part, old_logprobs=_logprobs(policy, part)) for part in parts]


@torch.no_grad()
def with_ref_logprobs(reference: Policy, parts: Sequence[TokenBatch]) -> list[TokenBatch]:
    return [replace(part, ref_logprobs=_logprobs(reference, part)) for part in parts]


@torch.no_grad()
def values_of(
    policy: Policy, head: ValueHead, episodes: Sequence[Episode], max_tokens: int
) -> list[Numbers]:
    """What is expected before each turn of each episode; nothing where there are no tokens."""
    batch = batch_of(episodes)
    if not len(batch):
        return [np.zeros(0) for _ in episodes]
    parts = [part.to(policy.device) for part in micro_batches(batch, max_tokens)]
    found = [(head(policy.hidden(part.ids)).cpu(), part.to("cpu")) for part in parts]
    return turn_values(found, [episode.turns for episode in episodes])


def _logprobs(policy: Policy, part: TokenBatch) -> Tensor:
    return policy.logprobs(part.ids, wanted=part.mask, temperature=part.temperature)
