"""Draws tokens, each request with luck of its own: never with that of its neighbours in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

MOST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a request's tokens are drawn.

    The same seed gives the same tokens, whatever else is in the batch, up to the rounding of the
    model's sums: in float32 that changes about one token in a million, in bfloat16 more.
    """

    max_tokens: int
    temperature: float = 1.0  # 0: always the likeliest
    top_p: float = 1.0
    top_k: int = 0  # 0: all
    seed: int = 0
    stop: tuple[str, ...] = ()
    stop_ids: frozenset[int] = frozenset()


class Drawing:
    """The settings of a batch, where the logits are; made anew when the batch changes."""

    def __init__(self, samplings: Sequence[Sampling], device: torch.device):
        temperatures = [sampling.temperature for sampling in samplings]
        self.seeds = np.array([sampling.seed & MOST for sampling in samplings], dtype=np.uint64)
        self.any_greedy = 0 in temperatures
        self.truncates = any(s.top_k > 0 or s.top_p < 1 for s in samplings)
        self.temperatures = torch.tensor(temperatures, device=device)[:, None]
        self.greedy = self.temperatures[:, 0] == 0
        self.temperatures[self.greedy] = 1.0
        self.top_p = torch.tensor([s.top_p for s in samplings], device=device)[:, None]
        self.top_k = torch.tensor([s.top_k for s in samplings], device=device)[:, None]

    def draw(self, logits: Tensor, counts: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The ids and their log-probabilities; `counts` says how many each request has drawn.

        The log-probabilities are those of softmax(logits / temperature), of all tokens: before
        `top_k` and `top_p` leave some out, so that a trainer can compute them again. At temperature
        0 they are those at temperature 1.
        """
        logprobs = torch.log_softmax(logits.float() / self.temperatures, -1)
        weights = logprobs.exp().double()
        if self.truncates:
            weights = truncated(weights, self.top_k, self.top_p)
        sums = weights.cumsum(-1)
        luck = torch.from_numpy(uniforms(self.seeds, np.array(counts, dtype=np.uint64)))
        target = luck.to(logits.device)[:, None] * sums[:, -1:]
        ids = torch.searchsorted(sums, target, right=True)[:, 0].clamp(max=logits.shape[1] - 1)
        if self.any_greedy:
            ids = torch.where(self.greedy, logits.argmax(-1), ids)
        return ids, logprobs.gather(-1, ids[:, None])[:, 0]


def truncated(weights: Tensor, top_k: Tensor, top_p: Tensor) -> Tensor:
    """Only the `top_k` likeliest, and of these the fewest that make up `top_p`."""
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    ranks = torch.arange(weights.shape[1], device=weights.device)
    ordered = ordered.masked_fill((ranks >= top_k) & (top_k > 0), 0)
    before = ordered.cumsum(-1) - ordered
    ordered = ordered.masked_fill(before >= top_p * ordered.sum(-1, keepdim=True), 0)
    return torch.zeros_like(weights).scatter(-1, order, ordered)


def uniforms(seeds: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """In [0, 1), a function of a seed and a count alone: splitmix64, twice over."""
    with np.errstate(over="ignore"):  # wrapping around is the point
        bits = _mixed(_mixed(seeds) + counts)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(bits: np.ndarray) -> np.ndarray:
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
