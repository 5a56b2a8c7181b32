"""The losses are what the papers say, to the last digit, and so are their gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from slow_losses import slow_loss
from tiny_batches import VOCABULARY, batch_for, exact, outputs_of, some_episodes

from aworld.errors import ConfigError
from aworld.train.algorithms import ALGORITHMS, open_algorithm
from aworld.train.batches import TokenBatch, batch_of

WIDER = {"gspo": {"clip_low": 0.1, "clip_high": 0.2}, "sft": {"least_reward": None}}
LEARNS_FROM_REWARDS = [name for name in ALGORITHMS if name != "sft"]


def opened(name, **settings):
    return open_algorithm(name, **{**WIDER.get(name, {}), **settings})


def aggregated_by(aggregation):
    budget = 7 if aggregation == "constant" else None
    return {"aggregation": aggregation, "token_budget": budget}


def logits_for(batch: TokenBatch, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    rows, length = batch.mask.shape
    return torch.randn(rows, length, VOCABULARY, generator=generator, dtype=torch.float64)


def checked(algorithm, batch: TokenBatch) -> None:
    """The value and, by finite differences, every derivative."""
    logits = logits_for(batch).requires_grad_()
    values = logits_for(batch, seed=1)[..., 0].clone().requires_grad_()
    outputs = outputs_of(logits, batch, values if algorithm.needs_values else None)
    loss = algorithm.loss(outputs, batch, batch.totals)
    loss.value.backward()
    fixed = logits.tolist()

    def slow(now, expected):
        return slow_loss(algorithm.name, now, fixed, batch, algorithm.settings, expected)

    assert float(loss.value.detach()) == pytest.approx(slow(fixed, values.tolist()), abs=1e-12)
    assert float(loss.metrics["loss"]) == float(loss.value.detach())
    assert logits.grad is not None
    same(logits.grad, derivatives(lambda now: slow(now, values.tolist()), fixed))
    if algorithm.needs_values:
        assert values.grad is not None
        same(values.grad, derivatives(lambda now: slow(fixed, now), values.tolist()))


def derivatives(function, point):
    """Central differences, in the shape of the point."""
    found = []
    for place, part in enumerate(point):
        if isinstance(part, list):

            def inner(changed, place=place):
                return function([*point[:place], changed, *point[place + 1 :]])

            found.append(derivatives(inner, part))
        else:
            step = 1e-5
            up, down = ([*point[:place], part + d, *point[place + 1 :]] for d in (step, -step))
            found.append((function(up) - function(down)) / (2 * step))
    return found


def same(tensor, numbers):
    torch.testing.assert_close(
        tensor, torch.tensor(numbers, dtype=torch.float64), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("old", [False, True], ids=["sampler_is_old", "trainer_is_old"])
@pytest.mark.parametrize("aggregation", ["token", "episode", "constant"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_loss_and_its_gradient_are_those_of_the_formula(name, aggregation, old):
    algorithm = opened(name, **aggregated_by(aggregation))
    checked(algorithm, batch_for(algorithm, some_episodes(3, samples=2), old=old))


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
@pytest.mark.parametrize("name", LEARNS_FROM_REWARDS)
def test_kl_and_entropy_are_added_to_every_loss_that_has_them(name, estimator):
    algorithm = opened(name, kl=0.3, kl_estimator=estimator, entropy=0.1)
    checked(algorithm, batch_for(algorithm, some_episodes(5, samples=2), old=True, ref=True))


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", LEARNS_FROM_REWARDS)
def test_tokens_of_which_the_sampler_said_nothing_train_without_correction(name, old):
    algorithm = opened(name)
    batch = batch_for(algorithm, some_episodes(7, samples=2), old=old)
    some = torch.arange(batch.mask.shape[1]) % 2 == 0
    sampled = batch.sampled_logprobs.where(some, float("nan"))
    checked(algorithm, replace(batch, sampled_logprobs=sampled))


@pytest.mark.parametrize("name", LEARNS_FROM_REWARDS)
def test_importance_weights_can_be_turned_off(name):
    algorithm = opened(name, max_weight=None)
    checked(algorithm, batch_for(algorithm, some_episodes(9, samples=2), old=True))


def test_values_may_move_freely_where_nothing_holds_them():
    algorithm = opened("ppo", clip_value=None)
    checked(algorithm, batch_for(algorithm, some_episodes(11, samples=2), old=True))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_tokens_that_are_not_trained_on_get_exactly_no_gradient(name):
    """Whatever the model says of them, even if it is not a number."""
    algorithm = opened(name)
    batch = batch_for(algorithm, some_episodes(13), old=True)
    logprobs = outputs_of(logits_for(batch), batch).logprobs
    logprobs = logprobs.where(batch.mask, float("nan")).requires_grad_()
    values = logits_for(batch)[..., 0].where(batch.mask, float("nan")).requires_grad_()
    outputs = outputs_of(logits_for(batch), batch)._replace(logprobs=logprobs, values=values)
    loss = algorithm.loss(outputs, batch, batch.totals)
    loss.value.backward()
    assert logprobs.grad is not None
    assert torch.isfinite(loss.value)
    assert (logprobs.grad[~batch.mask] == 0).all()
    assert torch.isfinite(logprobs.grad).all()
    assert (logprobs.grad[batch.mask] != 0).any()
    if values.grad is not None:
        assert (values.grad[~batch.turn_starts] == 0).all()
        assert torch.isfinite(values.grad).all()


@pytest.mark.parametrize("name", LEARNS_FROM_REWARDS)
def test_without_advantage_there_is_no_gradient(name):
    algorithm = opened(name, **({"value_weight": 0.0} if name == "ppo" else {}))
    batch = batch_for(algorithm, some_episodes(15), old=True)
    batch = replace(batch, advantages=torch.zeros_like(batch.advantages))
    logits = logits_for(batch).requires_grad_()
    outputs = outputs_of(logits, batch, logits_for(batch)[..., 0])
    algorithm.loss(outputs, batch, batch.totals).value.backward()
    assert logits.grad is not None
    assert (logits.grad == 0).all()


def test_a_ratio_beyond_all_bounds_stays_a_number():
    algorithm = opened("grpo")
    batch = batch_for(algorithm, some_episodes(17), old=True)
    far = replace(batch, sampled_logprobs=batch.sampled_logprobs - 1e6)
    far = replace(far, old_logprobs=torch.full_like(far.sampled_logprobs, -1e6))
    logits = logits_for(batch).requires_grad_()
    loss = algorithm.loss(outputs_of(logits, far), far, far.totals)
    loss.value.backward()
    assert logits.grad is not None
    assert torch.isfinite(loss.value)
    assert torch.isfinite(logits.grad).all()
    assert all(torch.isfinite(one) for one in loss.metrics.values())


def test_what_a_setting_needs_is_asked_for():
    episodes = some_episodes(19)
    algorithm = opened("grpo", kl=0.1)
    batch = batch_for(algorithm, episodes, old=False)
    outputs = outputs_of(logits_for(batch).requires_grad_(), batch)
    with pytest.raises(ConfigError, match="ref_logprobs"):
        algorithm.loss(outputs, batch, batch.totals)
    detached = [None, outputs.entropy.detach()]
    for entropy in detached:
        with pytest.raises(ConfigError, match="entropy, with gradient"):
            opened("grpo", entropy=0.1).loss(outputs._replace(entropy=entropy), batch, batch.totals)
    with pytest.raises(ConfigError, match="values"):
        opened("ppo").loss(outputs, batch, batch.totals)


def test_log_probabilities_of_another_shape_are_refused():
    batch = exact(batch_of(some_episodes(21)))
    outputs = outputs_of(logits_for(batch), batch)
    with pytest.raises(ValueError, match=r"ids\[:, 1:\]"):
        opened("grpo").loss(
            outputs._replace(logprobs=outputs.logprobs[:, :-1]), batch, batch.totals
        )
