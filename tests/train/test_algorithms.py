"""What is known of the algorithms, whatever the numbers."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import astuple, fields, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_batches import Bigrams, batch_for, constant, episode, exact, sampled_by, some_episodes

from aworld.errors import ConfigError
from aworld.train.advantages import group_mean_baseline
from aworld.train.algorithms import ALGORITHMS, open_algorithm
from aworld.train.algorithms.metrics import figures
from aworld.train.batches import Totals, batch_of, micro_batches
from aworld.train.selection import select

AGGREGATIONS = [("token", None), ("episode", None), ("constant", 7)]
every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def opened(name, **settings):
    more = {"sft": {"least_reward": None}, "gspo": {"clip_low": 0.1, "clip_high": 0.2}}
    return open_algorithm(name, **{**more.get(name, {}), **settings})


def same(one, other):
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("aggregation", AGGREGATIONS, ids=lambda pair: pair[0])
@every_algorithm
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), budget=st.integers(1, 60))
def test_any_split_into_micro_batches_gives_the_same_gradient(name, aggregation, seed, budget):
    how, tokens = aggregation
    more = {} if name == "sft" else {"kl": 0.2, "entropy": 0.1}
    algorithm = opened(name, aggregation=how, token_budget=tokens, **more)
    batch = batch_for(algorithm, some_episodes(seed), old=True, ref=True)
    parts = micro_batches(batch, budget)
    model = Bigrams()

    def loss(part):
        return algorithm.loss(model(part), part, batch.totals)

    same(model.gradient([batch], loss), model.gradient(parts, loss))
    whole = figures([loss(batch).metrics])
    assert figures([loss(part).metrics for part in parts]) == pytest.approx(whole, abs=1e-12)


@every_algorithm
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(name, seed, order):
    algorithm = opened(name)
    batch = batch_for(algorithm, some_episodes(seed), old=True)
    rows = list(range(len(batch)))
    order.shuffle(rows)
    model = Bigrams()

    def loss(part):
        return algorithm.loss(model(part), part, part.totals)

    same(model.gradient([batch], loss), model.gradient([batch.take(rows)], loss))


@every_algorithm
def test_the_order_of_episodes_does_not_matter(name):
    algorithm = opened(name)
    model = Bigrams()

    def gradient(episodes):
        values = [torch.zeros(one.turns).double().numpy() for one in episodes]
        chosen = select(episodes, algorithm, values=values if algorithm.needs_values else None)
        batch = exact(batch_of(chosen.episodes, chosen.credits))
        return model.gradient([batch], lambda b: algorithm.loss(model(b), b, b.totals))

    episodes = some_episodes(4)
    torch.testing.assert_close(
        gradient(episodes), gradient(episodes[::-1]), rtol=1e-5, atol=1e-7
    )  # advantages are kept in float32


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "ppo", "gspo", "cispo"])
def test_on_the_first_step_the_ratio_is_1_and_nothing_is_clipped(name, old):
    algorithm = opened(name)
    model = Bigrams()
    batch = sampled_by(model, batch_for(algorithm, some_episodes(6), old=False))
    if old:
        batch = replace(batch, old_logprobs=model(batch).logprobs.detach())
    found = figures([algorithm.loss(model(batch), batch, batch.totals).metrics])
    assert found["ratio"] == pytest.approx(1.0, abs=1e-12)
    assert found["clip_fraction"] == 0.0
    assert found["sampler_kl"] == pytest.approx(0.0, abs=1e-12)
    assert found["effective_sample_size"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "gspo", "cispo"])
def test_on_the_first_step_the_gradient_is_that_of_reinforce_with_the_same_baseline(name):
    episodes = some_episodes(8)
    algorithm = opened(name, aggregation="episode", token_budget=None)
    advantages = algorithm.credit(episodes)
    model = Bigrams()
    batch = sampled_by(model, exact(batch_of(episodes, advantages)))
    plain = opened("reinforce", aggregation="episode")
    same(
        model.gradient([batch], lambda b: algorithm.loss(model(b), b, b.totals)),
        model.gradient([batch], lambda b: plain.loss(model(b), b, b.totals)),
    )


def test_grpo_is_the_policy_gradient_with_a_group_baseline():
    """Written out: the mean log-probability of each rollout, times its advantage."""
    episodes = [episode("t", n, float(n)) for n in range(3)]
    rewards = [one.reward for one in episodes]
    by_hand = group_mean_baseline(rewards, ["t"] * 3)  # their standard deviation is 1
    algorithm = opened("grpo", eps=1e-12)
    model = Bigrams()
    batch = sampled_by(model, exact(batch_of(episodes, algorithm.credit(episodes))))
    found = model.gradient([batch], lambda b: algorithm.loss(model(b), b, b.totals)).clone()
    model.weights.grad = None
    wanted = torch.zeros((), dtype=torch.float64)
    for row, advantage in enumerate(by_hand):
        logprobs = model(batch).logprobs[row]
        wanted = wanted - float(advantage) * logprobs[batch.mask[row]].mean() / 3
    wanted.backward()
    same(found, model.weights.grad)


def test_a_rollout_that_made_many_rows_counts_once():
    """Whole or cut into rows of one token each: its share of the loss is the same."""
    from aworld.train.rows import TokenRow

    whole = episode("t", 0, 1.0, [TokenRow.of([1], [2, 3, 0, 1])])
    parts = [TokenRow.of(prompt, [last]) for prompt, last in (([1], 2), ([1, 2], 3))]
    parts += [TokenRow.of([1, 2, 3], [0]), TokenRow.of([1, 2, 3, 0], [1])]
    split = episode("t", 0, 1.0, parts)
    other = episode("t", 1, 0.0, [TokenRow.of([2], [0])])
    model = Bigrams()
    gradients = []
    for one in (whole, split):
        batch = sampled_by(model, exact(batch_of([one, other], constant([one, other], [1, -1]))))
        assert batch.totals.episodes == 2
        algorithm = opened("grpo")
        gradients.append(
            model.gradient([batch], lambda b, a=algorithm: a.loss(model(b), b, b.totals)).clone()
        )
    same(*gradients)


def test_weights_between_sampler_and_trainer_are_truncated():
    """Where the trainer finds a token five times as likely, it counts twice, not five times."""
    algorithm = opened("rloo", max_weight=2.0)
    model = Bigrams()
    batch = sampled_by(model, batch_for(algorithm, some_episodes(10), old=False))
    apart = replace(batch, sampled_logprobs=batch.sampled_logprobs - math.log(5.0))
    plain = model.gradient([batch], lambda b: algorithm.loss(model(b), b, b.totals)).clone()
    same(model.gradient([apart], lambda b: algorithm.loss(model(b), b, b.totals)), 2 * plain)
    less = replace(batch, sampled_logprobs=batch.sampled_logprobs - math.log(0.5))
    same(model.gradient([less], lambda b: algorithm.loss(model(b), b, b.totals)), 0.5 * plain)


def test_a_sampler_that_drifts_away_is_seen():
    algorithm = opened("grpo")
    model = Bigrams()
    batch = sampled_by(model, batch_for(algorithm, some_episodes(12), old=False))
    batch = replace(batch, old_logprobs=model(batch).logprobs.detach())
    noise = torch.randn(batch.mask.shape, generator=torch.Generator().manual_seed(0)).double()
    drifted = replace(batch, sampled_logprobs=batch.sampled_logprobs + noise)
    found = figures([algorithm.loss(model(drifted), drifted, drifted.totals).metrics])
    assert found["sampler_kl"] > 0.1
    assert found["effective_sample_size"] < 0.9
    assert found["ratio"] == pytest.approx(1.0)  # to the trainer's own: it has not moved
    silent = replace(batch, sampled_logprobs=torch.full_like(noise, float("nan")))
    found = figures([algorithm.loss(model(silent), silent, silent.totals).metrics])
    assert found["sampler_known"] == 0.0
    assert found["sampler_kl"] == 0.0


def test_dapo_leaves_more_room_upwards():
    algorithm = opened("dapo")
    model = Bigrams()
    batch = sampled_by(model, exact(batch_of([episode()], constant([episode()], [1.0]))))
    moved = replace(batch, sampled_logprobs=batch.sampled_logprobs - math.log(1.25))
    loss = algorithm.loss(model(moved), moved, moved.totals)
    assert figures([loss.metrics])["clip_fraction"] == 0.0
    assert figures([opened("grpo").loss(model(moved), moved, moved.totals).metrics])[
        "clip_fraction"
    ] == pytest.approx(1.0)


def test_totals_of_several_processes_add_up_to_the_same_gradient():
    algorithm = opened("grpo")
    batches = [batch_for(algorithm, some_episodes(seed), old=True) for seed in (1, 2)]
    pairs = zip(*(astuple(batch.totals) for batch in batches), strict=True)
    totals = Totals(*map(sum, pairs))
    assert totals.episodes == 12
    model = Bigrams()
    apart = model.gradient(batches, lambda b: algorithm.loss(model(b), b, totals)).clone()
    one, other = (
        model.gradient([b], lambda b: algorithm.loss(model(b), b, b.totals)).clone()
        for b in batches
    )
    same(apart, (one + other) / 2)  # as many episodes in each


@every_algorithm
def test_an_unknown_setting_is_refused_by_naming_the_nearest(name):
    with pytest.raises(ConfigError, match="did you mean 'max_length'"):
        open_algorithm(name, max_lenght=5)


def test_an_unknown_algorithm_is_refused_by_naming_the_known():
    with pytest.raises(ConfigError, match=r"did you mean 'grpo'\? \(known: cispo, dapo,"):
        open_algorithm("grop")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("grpo", {"clip_low": 2}),
        ("grpo", {"aggregation": "mean"}),
        ("grpo", {"aggregation": "constant"}),
        ("grpo", {"token_budget": 5}),
        ("grpo", {"kl": -1}),
        ("grpo", {"kl": float("nan")}),
        ("grpo", {"max_weight": 0.5}),
        ("grpo", {"truncated": "ignore"}),
        ("grpo", {"same_rewards": True}),
        ("grpo", {"eps": 0}),
        ("reinforce", {"discount": 1.5}),
        ("reinforce", {"baseline": "mean"}),
        ("ppo", {"decay": "0.5"}),
        ("ppo", {"normalise": 1}),
        ("sft", {"best_of_group": 0}),
        ("sft", {"least_reward": "high"}),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_its_name(name, wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        open_algorithm(name, **wrong)


@every_algorithm
def test_every_setting_is_explained(name):
    kind = ALGORITHMS[name].settings
    explained = " ".join(base.__doc__ or "" for base in kind.__mro__)
    for field in fields(kind):
        assert field.name in explained


def test_a_recipe_of_ones_own_is_taken_as_it_is():
    mine = ALGORITHMS["grpo"]._replace(needs_values=True)
    assert open_algorithm(mine, kl=0.5).needs_values


def test_settings_can_be_checked_without_torch():
    code = (
        "import sys; from aworld.train import ExperienceBuffer, open_algorithm, select; "
        "open_algorithm('grpo'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
