"""What a model says of a batch: one forward pass for each of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from aworld.policies.base import Policy
from aworld.policies.scoring import selected_logprobs
from aworld.train.advantages import Numbers
from aworld.train.algorithms.base import Outputs
from aworld.train.batches import TokenBatch, batch_of, micro_batches
from aworld.train.episodes import Episode
from aworld.train.values import ValueHead, turn_values


def outputs_of(
    policy: Policy, part: TokenBatch, head: ValueHead | None = None, *, entropy: bool = False
) -> Outputs:
    """With gradients; of the entropy, if that is asked for. `part` is where the model is."""
    if head is None and not entropy:
        wanted, heat = part.mask, part.temperature
        asked = policy.logprobs_and_entropy(part.ids, wanted=wanted, temperature=heat)
        return Outputs(*asked)
    hidden = policy.hidden(part.ids)
    chosen = hidden[:, :-1][part.mask]
    heat = torch.where(part.temperature > 0, part.temperature, 1.0)
    heat = heat[:, None].expand(part.mask.shape)[part.mask]
    logprobs, spread = selected_logprobs(
        policy.head, chosen, part.ids[:, 1:][part.mask], heat, vocab_size=policy.vocab_size
    )
    if entropy:  # all logits at once: it takes more room
        sure = torch.log_softmax(policy.head(chosen).float() / heat[:, None], -1)
        spread = -(sure.exp() * sure).sum(-1)
    nothing = torch.zeros(part.mask.shape, device=part.ids.device)
    return Outputs(
        nothing.masked_scatter(part.mask, logprobs),
        nothing.masked_scatter(part.mask, spread),
        None if head is None else head(hidden),
    )


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
