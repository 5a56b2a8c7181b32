"""Every algorithm makes a model better, step by step, by the same few lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_batches import VOCABULARY, Bigrams, episode, exact

from aworld.train.algorithms import ALGORITHMS, open_algorithm
from aworld.train.algorithms.metrics import figures
from aworld.train.batches import batch_of, micro_batches
from aworld.train.rows import UNKNOWN, TokenRow
from aworld.train.selection import select
from aworld.train.values import turn_values

FIRST, SHOWN, LAST = 2, 1, 3  # to say 2, to be shown 1, then to say 3
EASIER = {
    "sft": {"least_reward": 1.0},
    "dr_grpo": {"token_budget": 2},
    "gspo": {"clip_low": 0.2, "clip_high": 0.3},
}


def rollout(model: Bigrams, task: int, sample: int, draw: np.random.Generator, version: int):
    """Two turns: a token, what a tool shows, another token. Each right one is worth a half."""
    likely = model.weights.detach()[:, :VOCABULARY].log_softmax(-1)

    def say(last):
        token = int(draw.choice(VOCABULARY, p=likely[last].exp().numpy()))
        return token, float(likely[last, token])

    (first, its), (last, others) = say(0), say(SHOWN)
    row = TokenRow(
        np.array([0, first, SHOWN, last], np.int32),
        np.array([False, True, False, True]),
        np.array([np.nan, its, np.nan, others], np.float32),
        np.array([UNKNOWN, version, UNKNOWN, version], np.int32),
        np.array([UNKNOWN, 0, UNKNOWN, 1], np.int32),
    )
    reward = (first == FIRST) / 2 + (last == LAST) / 2
    return episode(str(task), sample, reward, [row], run=str(version))


def trained(name: str, *, updates: int, steps: int = 40) -> tuple[list[float], list[dict]]:
    """Mean rewards and figures of all steps."""
    algorithm = open_algorithm(name, **EASIER.get(name, {}))
    model, draw = Bigrams(seed=1), np.random.default_rng(0)
    with torch.no_grad():
        model.weights.zero_()
    optimizer = torch.optim.Adam([model.weights], lr=0.1)
    rewards, watched = [], []
    for version in range(steps):
        episodes = [rollout(model, t, n, draw, version) for t in range(4) for n in range(8)]
        values = None
        if algorithm.needs_values:
            parts = micro_batches(exact(batch_of(episodes)), 40)
            said = [(model(part).values, part) for part in parts]
            values = turn_values(said, [one.turns for one in episodes])
        chosen = select(episodes, algorithm, version=version, values=values)
        rewards.append(chosen.figures["reward"])
        if not chosen.episodes:
            continue
        batch = exact(batch_of(chosen.episodes, chosen.credits))
        if updates > 1:
            batch = replace(batch, old_logprobs=model(batch).logprobs.detach())
        for _ in range(updates):
            optimizer.zero_grad()
            losses = [
                algorithm.loss(model(part), part, batch.totals) for part in micro_batches(batch, 40)
            ]
            for loss in losses:
                loss.value.backward()
            optimizer.step()
            watched.append(figures([loss.metrics for loss in losses]))
    return rewards, watched


@pytest.mark.parametrize("updates", [1, 3])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_model_learns_to_do_what_is_rewarded(name, updates):
    rewards, watched = trained(name, updates=updates)
    assert rewards[0] < 0.4
    assert np.mean(rewards[-5:]) > 0.9
    if name != "sft" and updates == 1:
        assert all(one["sampler_kl"] < 1e-9 for one in watched)
    if name == "grpo" and updates == 3:
        assert max(one["clip_fraction"] for one in watched) > 0
