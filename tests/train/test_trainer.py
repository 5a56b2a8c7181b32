"""One step of the trainer: what moves the weights, what does not, and what is said of it."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from schooling import REWARDS, sampled_episodes, tiny_policy

from aworld import Trajectory
from aworld.errors import ConfigError, TrainingError
from aworld.train import RLTrainer, open_algorithm
from aworld.train.batches import batch_of
from aworld.train.passes import outputs_of
from aworld.train.schedules import share_of_rate
from aworld.train.selection import select


def weights(policy):
    return [parameter.detach().clone() for parameter in policy.parameters()]


def moved(policy, before):
    return any(
        not torch.equal(one, other) for one, other in zip(weights(policy), before, strict=True)
    )


@pytest.mark.parametrize("algorithm", ["reinforce", "rloo", "grpo", "dr_grpo", "dapo", "cispo"])
def test_a_step_makes_what_was_rewarded_likelier(algorithm):
    policy = tiny_policy()
    settings = {"baseline": "batch"} if algorithm == "reinforce" else {}
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-3, algorithm=algorithm, settings=settings)
    version = policy.version
    for _ in range(3):
        assert math.isfinite(trainer.train_step(episodes))
    assert policy.version == version + 3
    with torch.no_grad():
        batch = batch_of(episodes)
        now = outputs_of(policy, batch).logprobs
        gain = ((now - batch.sampled_logprobs) * batch.mask).nan_to_num().sum(1)
    better = [gain[n].item() for n, reward in enumerate(REWARDS) if reward == 1.0]
    worse = [gain[n].item() for n, reward in enumerate(REWARDS) if reward == 0.0]
    assert np.mean(better) > np.mean(worse)


def test_ppo_learns_values_along():
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-3, algorithm="ppo", updates_per_batch=2)
    losses = [trainer.learn(episodes).figures["value_loss"] for _ in range(12)]
    assert losses[-1] < losses[0]


def test_an_entropy_bonus_has_a_gradient():
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-2, algorithm="grpo", settings={"entropy": 10.0})
    first = trainer.learn(episodes).figures["entropy"]
    for _ in range(5):
        last = trainer.learn(episodes).figures["entropy"]
    assert last > first


def test_how_a_batch_is_cut_up_changes_nothing():
    losses, after = [], []
    for budget in (10_000, 30, 13):
        policy = tiny_policy()
        episodes = sampled_episodes(policy, REWARDS)
        trainer = RLTrainer(policy, 1e-3, algorithm="grpo", token_budget=budget)
        report = trainer.learn(episodes)
        losses.append((report.loss, report.figures["gradient_norm"]))
        after.append(torch.cat([one.flatten() for one in weights(policy)]))
    assert report.figures["micro_batches"] == 8
    assert losses[1] == pytest.approx(losses[0], rel=1e-4, abs=1e-7)
    assert losses[2] == pytest.approx(losses[0], rel=1e-4, abs=1e-7)
    assert torch.allclose(after[1], after[0], atol=1e-4)


def test_several_updates_of_a_batch_have_their_own_groups_and_old_log_probabilities():
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-2, algorithm="grpo", updates_per_batch=2)
    version = policy.version
    figures = trainer.learn(episodes).figures
    assert policy.version == version + 2
    assert figures["ratio"] != pytest.approx(1.0, abs=1e-6)  # the second one is off-policy
    assert figures["sampler_kl"] == pytest.approx(0.0, abs=1e-5)  # it is the old policy's


def test_more_updates_than_groups_are_as_many_as_groups_and_that_is_said_once(caplog):
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-3, algorithm="grpo", updates_per_batch=3)
    with caplog.at_level(logging.WARNING, "aworld"):
        for _ in range(2):
            trainer.learn(episodes)
    assert policy.version == 2 * 2
    (said,) = caplog.messages
    assert "updates_per_batch=3, but this batch has fewer groups (2)" in said
    assert "tasks_per_step" in said


def test_groups_that_teach_nothing_are_no_reason_to_warn_of_fewer_updates(caplog):
    policy = tiny_policy()
    episodes = sampled_episodes(policy, [1.0, 0.0, 0.0, 1.0, *[0.5] * 4])
    trainer = RLTrainer(policy, 1e-3, algorithm="grpo", updates_per_batch=2)
    with caplog.at_level(logging.WARNING, "aworld"):
        assert trainer.learn(episodes).figures["groups"] == 1
    assert policy.version == 1
    assert caplog.messages == []


def test_trajectories_train_as_in_the_seed():
    policy = tiny_policy()

    def trajectory(name, reward):
        call = {
            "model": policy.name,
            "prompt_ids": [1, 2, 3],
            "completion_ids": [4, 5],
            "logprobs": [-5.0, -5.0],
            "policy_version": "0",
            "settings": {},
        }
        step = {"agent": "a", "model_call": call, "reward": None}
        return Trajectory(name, "a", [step], success=True, reward=reward)

    before = weights(policy)
    loss = RLTrainer(policy, 1e-3).train_step([trajectory("q1", 1.0), trajectory("q2", 0.0)])
    assert isinstance(loss, float)
    assert moved(policy, before)


def test_imitation_brings_the_model_to_say_it():
    policy = tiny_policy()
    demonstration = {
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
    }
    trainer = RLTrainer(policy, 1e-2)
    losses = [trainer.sft_step([demonstration]) for _ in range(30)]
    assert losses[-1] < losses[0] / 4


@pytest.mark.parametrize("wrong", [{}, {"messages": "hi"}, {"messages": []}, 3])
def test_a_demonstration_that_is_none_is_named(wrong):
    with pytest.raises(ConfigError, match="demonstration 0"):
        RLTrainer(tiny_policy()).sft_step([wrong])


def test_weights_in_bfloat16_take_steps_that_their_rounding_would_lose():
    policy = tiny_policy()
    policy.module.to(torch.bfloat16)
    norm = policy.module.norm  # all ones: the next number in bfloat16 is 1.0078
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-4, algorithm="reinforce", settings={"baseline": "none"})
    masters = trainer.state_dict()["weights"]
    exact = [master.clone() for master in masters]
    trainer.train_step(episodes)
    assert all(master.dtype == torch.float32 for master in masters)
    assert any(not torch.equal(*pair) for pair in zip(masters, exact, strict=True))
    assert norm.eq(1).all()  # one step is too small to be seen
    for _ in range(100):
        trainer.train_step(episodes)
    assert not norm.eq(1).all()  # many are not


def test_a_gradient_that_is_not_finite_is_skipped_and_said_and_ends_it_when_it_stays(caplog):
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-3, algorithm="grpo")
    with torch.no_grad():
        policy.parameters()[0][5] = math.nan  # of a token that the rollouts have
    episodes = [replace(one, rows=(_with_token(one.rows[0], 5),)) for one in episodes]
    before = weights(policy)
    with caplog.at_level(logging.WARNING, "aworld"):
        report = trainer.learn(episodes)
    assert "not finite" in report.skipped
    assert report.selection.counts == {report.skipped: len(episodes)}  # so the verdicts say
    assert report.figures["trained"] == 0
    assert "not finite" in caplog.text
    same = [
        torch.equal(a.nan_to_num(), b.nan_to_num())
        for a, b in zip(weights(policy), before, strict=True)
    ]
    assert all(same)
    with pytest.raises(TrainingError, match="in a row"):
        [trainer.train_step(episodes) for _ in range(10)]


def test_of_a_step_that_was_broken_off_the_verdicts_tell_what_had_trained_until_then(monkeypatch):
    policy = tiny_policy()
    trainer = RLTrainer(policy, 1e-3, algorithm="grpo", updates_per_batch=2)
    episodes = sampled_episodes(policy, REWARDS)
    norms = iter([1.0, math.inf])
    monkeypatch.setattr(trainer.updates.descent, "norm", lambda: next(norms))
    report = trainer.learn(episodes)
    assert (trainer.steps, policy.version) == (1, 1)  # the first half has moved the weights
    first, second = report.selection.verdicts[:4], report.selection.verdicts[4:]
    assert all(one.trained for one in first)
    assert {one.reason for one in second} == {report.skipped}
    assert {(one.trained, one.weight, one.advantage) for one in second} == {(False, 0.0, None)}
    assert report.figures["trained"] == 4


def _with_token(row, id):
    ids = row.ids.copy()
    ids[2] = id
    return replace(row, ids=ids)


def test_out_of_memory_halves_the_micro_batch_once(caplog, monkeypatch):
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-3, algorithm="grpo", token_budget=104)
    whole = policy.hidden
    most = 60  # tokens that this machine, let us say, has room for

    def hidden(ids):
        if ids.numel() > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return whole(ids)

    monkeypatch.setattr(policy, "hidden", hidden)
    with caplog.at_level(logging.WARNING, "aworld"):
        report = trainer.learn(episodes)
    assert report.skipped == ""
    assert report.figures["micro_batches"] == 2
    assert "token_budget=52" in caplog.text
    most = 20
    with pytest.raises(TrainingError, match="token_budget=52: set it lower"):
        trainer.learn(episodes)


def test_a_batch_that_teaches_nothing_moves_nothing_and_says_why():
    policy = tiny_policy()
    before = weights(policy)
    trainer = RLTrainer(policy, 1e-3, algorithm="grpo")
    report = trainer.learn(sampled_episodes(policy, [1.0] * 8))
    assert (report.loss, report.skipped.startswith("nothing to train on: all rewards")) == (0, True)
    assert "no reward (8)" in trainer.learn(sampled_episodes(policy, [None] * 8)).skipped
    assert not moved(policy, before)


def test_kl_keeps_the_model_near_to_its_reference():
    apart = []
    for kl in (0.0, 5.0):
        policy = tiny_policy()
        episodes = sampled_episodes(policy, REWARDS)
        reference = policy.frozen_copy()
        trainer = RLTrainer(
            policy, 3e-3, algorithm="grpo", settings={"kl": kl}, reference=reference
        )
        for _ in range(10):
            figures = trainer.learn(episodes).figures
        apart.append(figures["kl"])
    assert apart[1] < apart[0]


def test_the_learning_rate_goes_as_the_schedule_says():
    constant = [share_of_rate(step, "constant", warm_up=3, steps=10) for step in range(10)]
    assert constant == [0.25, 0.5, 0.75, *[1.0] * 7]
    linear = [share_of_rate(step, "linear", steps=4) for step in range(5)]
    assert linear == [1.0, 0.75, 0.5, 0.25, 0.0]
    cosine = [share_of_rate(step, "cosine", warm_up=1, steps=5) for step in range(6)]
    assert cosine == pytest.approx([0.5, 1.0, 0.853553, 0.5, 0.146447, 0.0], abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"agent_model": SimpleNamespace()}, "must be a Policy"),
        ({"algorithm": "grpoo"}, "did you mean 'grpo'"),
        ({"settings": {"discont": 0.9}}, "did you mean 'discount'"),
        ({"updates_per_batch": 0}, "updates_per_batch"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_what_to_do(arguments, said):
    with pytest.raises(ConfigError, match=said):
        RLTrainer(**({"agent_model": tiny_policy()} | arguments))


def test_a_model_whose_weights_are_all_frozen_is_refused():
    policy = tiny_policy()
    policy.module.requires_grad_(False)
    with pytest.raises(ConfigError, match="no weights that train"):
        RLTrainer(policy)


def test_splitting_keeps_groups_together_and_loses_none():
    from aworld.train.trainer import split_by_group

    policy = tiny_policy()
    episodes = sampled_episodes(policy, [1.0, 0.0] * 10, group_size=2)
    selection = select(episodes, open_algorithm("grpo"))
    for count in (1, 3, 10, 50):
        parts = split_by_group(selection, count)
        assert len(parts) == min(count, 10)
        groups = [{episode.group for episode in part} for part, _ in parts]
        assert sum(map(len, groups)) == 10
        assert sum(len(part) for part, _ in parts) == 20
