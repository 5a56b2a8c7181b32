"""Advantages are what they are called, and a rollout counts once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_batches import episode, some_episodes

from aworld.train.advantages import (
    alone,
    batch_baseline,
    discounted,
    generalised,
    group_mean_baseline,
    group_normalised,
    leave_one_out,
    standardised,
    without_difference,
)

some_rewards = st.floats(-10, 10, allow_subnormal=False)
grouped = st.lists(st.tuples(some_rewards, st.sampled_from("abc")), max_size=12)


def columns(pairs):
    return [reward for reward, _ in pairs], [group for _, group in pairs]


@given(st.lists(some_rewards, max_size=8), st.floats(0, 1))
def test_a_return_is_the_reward_and_the_discounted_rest(rewards, discount):
    wanted = [
        sum(discount ** (later - turn) * rewards[later] for later in range(turn, len(rewards)))
        for turn in range(len(rewards))
    ]
    assert discounted(rewards, discount).tolist() == pytest.approx(wanted, abs=1e-9)


@given(grouped)
def test_group_baselines_are_what_a_loop_over_the_group_gives(pairs):
    rewards, groups = columns(pairs)
    mean, normal = group_mean_baseline(rewards, groups), group_normalised(rewards, groups)
    others = leave_one_out(rewards, groups)
    for place, (reward, group) in enumerate(pairs):
        ours = [r for r, g in pairs if g == group]
        if len(ours) == 1:
            assert np.isnan([mean[place], normal[place], others[place]]).all()
            continue
        average = sum(ours) / len(ours)
        spread = (sum((r - average) ** 2 for r in ours) / (len(ours) - 1)) ** 0.5
        rest = (sum(ours) - reward) / (len(ours) - 1)
        assert mean[place] == pytest.approx(reward - average, abs=1e-9)
        assert normal[place] == pytest.approx((reward - average) / (spread + 1e-4), abs=1e-6)
        assert others[place] == pytest.approx(reward - rest, abs=1e-9)


@given(grouped, st.randoms(use_true_random=False))
def test_the_order_of_rollouts_does_not_matter(pairs, order):
    places = list(range(len(pairs)))
    order.shuffle(places)
    for compare in (group_mean_baseline, group_normalised, leave_one_out):
        straight = compare(*columns(pairs))
        shuffled = compare(*columns([pairs[place] for place in places]))
        np.testing.assert_allclose(shuffled, straight[places], atol=1e-9)


def test_a_group_of_one_gets_no_advantage_not_its_raw_reward():
    assert np.isnan(leave_one_out([1.0], ["a"])).all()
    assert alone(["a", "b", "b"]).tolist() == [True, False, False]


def test_rewards_that_differ_by_rounding_alone_do_not_differ():
    same = without_difference([0.1 + 0.2, 0.3, 1.0, 0.0], ["a", "a", "b", "b"])
    assert same.tolist() == [True, True, False, False]


def test_normalised_advantages_favour_easy_questions_and_plain_ones_do_not():
    easy, even = [1.0] * 7 + [0.0], [1.0] * 4 + [0.0] * 4
    rewards, groups = easy + even, ["easy"] * 8 + ["even"] * 8
    plain, normal = group_mean_baseline(rewards, groups), group_normalised(rewards, groups)
    assert plain[7] == pytest.approx(-7 / 8)
    assert abs(plain[7]) < 2 * abs(plain[15])
    assert abs(normal[7]) > 2.4 * abs(normal[15])


def test_a_rollout_of_many_turns_weighs_no_more_in_the_baseline():
    long, short = [1.0] * 9, [0.0]
    (first, *_), (second,) = batch_baseline([long, short])
    assert (first, second) == (0.5, -0.5)
    assert batch_baseline([]) == []


@given(
    st.lists(st.tuples(some_rewards, some_rewards), min_size=1, max_size=6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_generalised_advantages_are_decaying_sums_of_surprises(turns, discount, decay):
    rewards, values = columns(turns)
    after = [*values[1:], 0.0]
    surprises = [r + discount * n - v for r, v, n in zip(rewards, values, after, strict=True)]
    wanted = [
        sum(
            (discount * decay) ** (later - turn) * surprises[later]
            for later in range(turn, len(turns))
        )
        for turn in range(len(turns))
    ]
    advantages, returns = generalised(rewards, values, discount, decay)
    assert advantages.tolist() == pytest.approx(wanted, abs=1e-8)
    assert returns.tolist() == pytest.approx((advantages + values).tolist(), abs=1e-9)


def test_looking_to_the_end_generalised_advantages_are_returns_less_values():
    rewards, values = [0.0, 1.0, 2.0], [0.5, 0.25, 1.5]
    advantages, returns = generalised(rewards, values, 0.9, 1.0)
    np.testing.assert_allclose(advantages, discounted(rewards, 0.9) - values)
    np.testing.assert_allclose(returns, discounted(rewards, 0.9))


def test_standardised_advantages_have_mean_0_and_deviation_1():
    rng = np.random.default_rng(0)
    scaled = np.concatenate(standardised([rng.normal(3, 2, size=n) for n in (1, 4, 9)]))
    assert scaled.mean() == pytest.approx(0, abs=1e-9)
    assert scaled.std() == pytest.approx(1)
    assert standardised([np.ones(2), np.ones(1)])[0].tolist() == [0.0, 0.0]
    assert standardised([]) == []


def test_as_many_groups_as_rewards():
    with pytest.raises(ValueError, match="2 rewards for 1 rollouts"):
        leave_one_out([1.0, 2.0], ["a"])


def test_groups_are_counted_by_rollouts_not_by_rows():
    from aworld.train.algorithms import open_algorithm

    one, *rest = some_episodes(0, tasks=1, samples=4)
    doubled = episode("task0", 0, one.reward, [*one.rows, *one.rows])
    for name in ("grpo", "dr_grpo", "rloo"):
        algorithm = open_algorithm(name)
        plain, twice = algorithm.credit([one, *rest]), algorithm.credit([doubled, *rest])
        assert [c.advantages[0] for c in plain] == [c.advantages[0] for c in twice]
