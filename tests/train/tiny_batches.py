"""Episodes and models that are small enough to be computed by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from aworld.core.trajectory import Trajectory
from aworld.train.algorithms.base import Algorithm, Credit, Loss, Outputs
from aworld.train.batches import TokenBatch, batch_of
from aworld.train.episodes import Episode, shared_out
from aworld.train.rows import UNKNOWN, TokenRow
from aworld.train.selection import select

VOCABULARY = 4


def row_of_turns(turns: Sequence[tuple[int, int, int]], rng: random.Random) -> TokenRow:
    """Of (tokens shown, tokens sampled, number of the turn)."""
    ids: list[int] = []
    row_turns: list[int] = []
    for shown, sampled, turn in turns:
        ids += [rng.randrange(VOCABULARY) for _ in range(shown + sampled)]
        row_turns += [UNKNOWN] * shown + [turn] * sampled
    numbers = np.array(row_turns, np.int32)
    chosen = numbers != UNKNOWN
    logprobs = np.array([rng.uniform(-3, -0.1) for _ in ids], np.float32)
    return TokenRow(
        np.array(ids, np.int32),
        chosen,
        np.where(chosen, logprobs, np.float32(np.nan)),
        np.where(chosen, 0, UNKNOWN).astype(np.int32),
        numbers,
    )


def episode(
    task: str = "task",
    sample: int = 0,
    reward: float | None = 1.0,
    rows: Sequence[TokenRow] | None = None,
    **more: Any,
) -> Episode:
    """With one turn of two tokens, if nothing else is said."""
    if rows is None:
        rows = [TokenRow.of([1, 2], [3, 0], [-1.0, -2.0], version=0)]
    made = Episode(task, task, sample, reward, "success", tuple(rows), success=True)
    if reward is not None:
        made = replace(made, turn_rewards=shared_out(reward, [None] * made.turns))
    return replace(made, **more)


def some_episodes(seed: int, tasks: int = 2, samples: int = 3) -> list[Episode]:
    """Of one to three turns each; some conversations were split into two rows."""
    rng = random.Random(seed)
    made = []
    for task in range(tasks):
        for sample in range(samples):
            lengths = [(rng.randint(1, 3), rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]
            turns = [(shown, sampled, n) for n, (shown, sampled) in enumerate(lengths)]
            cut = rng.randint(0, len(turns) - 1)
            parts = [part for part in (turns[:cut], turns[cut:]) if part]
            rows = [row_of_turns(part, rng) for part in parts]
            reward = float(sample == 0) + rng.random() / 4
            made.append(episode(f"task{task}", sample, reward, rows))
    return made


def exact(batch: TokenBatch) -> TokenBatch:
    """In float64."""
    wide = {
        name: tensor.double() if tensor.is_floating_point() else tensor
        for name, tensor in batch._tensors()
    }
    return replace(batch, **wide)


def batch_for(
    algorithm: Algorithm, episodes: list[Episode], *, seed: int = 0, old: bool, ref: bool = False
) -> TokenBatch:
    """old, ref: whether there are log-probabilities of the trainer's own, and of a reference."""
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=one.turns) for one in episodes] if algorithm.needs_values else None
    selection = select(episodes, algorithm, values=values)
    assert selection.episodes, selection.counts
    batch = exact(batch_of(selection.episodes, selection.credits))
    shape = tuple(batch.mask.shape)
    if old:
        near = batch.sampled_logprobs + torch.from_numpy(rng.normal(scale=0.3, size=shape))
        own = torch.from_numpy(rng.uniform(-3, -0.1, size=shape))
        batch = replace(batch, old_logprobs=near.where(~near.isnan(), own))
    if ref:
        batch = replace(batch, ref_logprobs=torch.from_numpy(rng.uniform(-3, -0.1, size=shape)))
    return batch


class Bigrams:
    """The next token depends on the last one alone; so does what is expected."""

    def __init__(self, seed: int = 0):
        generator = torch.Generator().manual_seed(seed)
        shape = (VOCABULARY, VOCABULARY + 1)
        weights = torch.randn(shape, generator=generator, dtype=torch.float64)
        self.weights = weights.requires_grad_()

    def __call__(self, batch: TokenBatch) -> Outputs:
        seen = self.weights[batch.ids[:, :-1]]
        return outputs_of(seen[..., :VOCABULARY], batch, seen[..., VOCABULARY])

    def gradient(self, parts: Sequence[TokenBatch], loss: Callable[[TokenBatch], Loss]) -> Tensor:
        self.weights.grad = None
        for part in parts:
            loss(part).value.backward()
        assert self.weights.grad is not None
        return self.weights.grad


def outputs_of(logits: Tensor, batch: TokenBatch, values: Tensor | None = None) -> Outputs:
    likely = logits.log_softmax(-1)
    logprobs = likely.gather(-1, batch.ids[:, 1:, None]).squeeze(-1)
    return Outputs(logprobs, -(likely.exp() * likely).sum(-1), values)


def sampled_by(model: Bigrams, batch: TokenBatch) -> TokenBatch:
    """The same batch, had the model as it is now sampled it."""
    logprobs = model(batch).logprobs.detach()
    return replace(batch, sampled_logprobs=logprobs.where(batch.mask, float("nan")))


def constant(episodes: Sequence[Episode], advantages: Sequence[float]) -> list[Credit]:
    pairs = zip(episodes, advantages, strict=True)
    return [Credit(np.full(one.turns, advantage)) for one, advantage in pairs]


def trajectory(task: str = "t", reward: float | None = 1.0, **metadata: Any) -> Trajectory:
    call = {"model": "m", "prompt_ids": [1], "completion_ids": [2, 3], "logprobs": [-1.0, -2.0]}
    steps = [{"agent": "a", "model_call": {**call, "policy_version": "4"}, "reward": None}]
    return Trajectory(task, "a", steps, "!", True, reward, metadata=metadata)


def names(groups: list[list[Any]]) -> list[list[str]]:
    return [[f"{one.task_id}{one.sample}" for one in group] for group in groups]
