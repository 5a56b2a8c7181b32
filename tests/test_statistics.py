"""What scores say, checked against slow and obvious ways to find it out."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aworld.errors import ConfigError
from aworld.statistics import compare, grouped, mean_interval, pass_at_k, pass_hat_k

numbers = st.floats(-1e6, 1e6)


@st.composite
def samplings(draw):
    samples = draw(st.integers(1, 9))
    return samples, draw(st.integers(0, samples)), draw(st.integers(1, samples))


@given(samplings())
def test_pass_at_k_is_the_share_of_draws_with_a_success(sampling):
    samples, passed, k = sampling
    draws = list(combinations([True] * passed + [False] * (samples - passed), k))
    assert pass_at_k(*sampling) == float(Fraction(sum(map(any, draws)), len(draws)))


@given(samplings())
def test_pass_hat_k_is_the_share_of_draws_of_successes_alone(sampling):
    samples, passed, k = sampling
    draws = list(combinations([True] * passed + [False] * (samples - passed), k))
    assert pass_hat_k(*sampling) == float(Fraction(sum(map(all, draws)), len(draws)))


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_with_one_sample_both_are_the_share_of_successes(sampling):
    samples, passed = sampling
    assert pass_at_k(samples, passed, 1) == pass_hat_k(samples, passed, 1) == passed / samples


def test_many_samples_lose_no_precision():
    # 1 - (1 - p)^k in floats would give 0 here, or overflow on the way
    assert pass_at_k(100_000, 1, 50_000) == 0.5
    assert pass_hat_k(100_000, 99_999, 50_000) == 0.5
    assert pass_hat_k(1000, 500, 500) > 0


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        ((0, 0, 1), "samples"),
        ((3, 4, 1), "passed=4 is more than samples=3"),
        ((3, 1, 4), "k=4 needs at least as many samples, there are 3"),
        ((3, -1, 1), "passed"),
        ((3, 1, 0), "k must be"),
        ((3.0, 1, 1), "samples"),
    ],
)
def test_samples_that_make_no_sense_are_refused(sampling, said):
    for estimator in (pass_at_k, pass_hat_k):
        with pytest.raises(ConfigError, match=said):
            estimator(*sampling)


@settings(max_examples=30, deadline=None)
@given(st.lists(numbers, min_size=2, max_size=20))
def test_the_interval_lies_within_the_values_and_is_repeatable(values):
    estimate = mean_interval(values, resamples=100)
    assert estimate.mean == pytest.approx(sum(values) / len(values), abs=1e-6)
    assert estimate.low is not None
    assert estimate.high is not None
    slack = 1e-9 * max(1.0, *map(abs, values))
    assert min(values) - slack <= estimate.low <= estimate.high <= max(values) + slack
    assert mean_interval(values, resamples=100) == estimate


def test_of_one_value_nothing_is_known_but_the_value():
    estimate = mean_interval([0.5])
    assert (estimate.mean, estimate.low, estimate.high, estimate.count) == (0.5, None, None, 1)


def test_values_that_are_all_the_same_leave_no_doubt():
    estimate = mean_interval([0.1] * 7)
    assert estimate.low == estimate.high == estimate.mean


def test_the_interval_holds_the_truth_as_often_as_it_says():
    import random

    chance = random.Random(1)
    held = 0
    for trial in range(200):
        values = [float(chance.random() < 0.4) for _ in range(60)]
        estimate = mean_interval(values, confidence=0.9, resamples=200, seed=trial)
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= 0.4 <= estimate.high
    assert 165 <= held <= 195


def test_a_higher_confidence_is_a_wider_interval():
    values = [float(number % 3) for number in range(50)]
    narrow, wide = (mean_interval(values, confidence=share) for share in (0.5, 0.99))
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([], {}),
        ([1, None], {}),
        ([math.nan], {}),
        ([True, "1"], {}),
        ([1], {"confidence": 95}),
        ([1], {"resamples": 0}),
        ([1], {"seed": None}),
    ],
)
def test_values_without_a_mean_are_refused(values, options):
    with pytest.raises(ConfigError):
        mean_interval(values, **options)


scores = st.dictionaries(st.sampled_from("abcdefgh"), st.none() | st.sampled_from([0.0, 0.5, 1.0]))


@settings(deadline=None)
@given(scores, scores)
def test_a_comparison_counts_every_scored_task_once(first, second):
    ours = {task for task, value in first.items() if value is not None}
    theirs = {task for task, value in second.items() if value is not None}
    if not ours & theirs:
        with pytest.raises(ConfigError, match="no scored task in common"):
            compare(first, second)
        return
    forth = compare(first, second, resamples=50)
    back = compare(second, first, resamples=50)
    assert forth.better + forth.worse + forth.same == forth.difference.count == len(ours & theirs)
    assert set(forth.only_first) == ours - theirs
    assert set(forth.only_second) == theirs - ours
    assert (forth.better, forth.worse) == (back.worse, back.better)
    assert forth.difference.mean == -back.difference.mean


def test_pairing_sees_what_is_the_same_on_hard_and_easy_tasks():
    first = {str(task): float(task) for task in range(30)}
    second = {task: value + 0.1 for task, value in first.items()}
    difference = compare(first, second).difference
    assert difference.low == pytest.approx(0.1)
    assert difference.high == pytest.approx(0.1)


def test_the_order_of_the_tasks_changes_no_comparison():
    first, second = {"a": 0.0, "b": 1.0, "c": 0.0}, {"c": 1.0, "a": 0.5, "b": 0.0}
    turned = dict(reversed(first.items()))
    assert compare(first, second) == compare(turned, second)


def test_a_score_that_is_no_number_names_its_task():
    with pytest.raises(ConfigError, match="the score of 'b'"):
        compare({"b": math.nan}, {"b": 1.0})


@given(st.lists(st.none() | st.integers(0, 3) | st.lists(st.sampled_from("xyz"))))
def test_an_item_is_in_the_group_of_each_of_its_tags(keys):
    groups = grouped(list(enumerate(keys)), key=lambda item: item[1])
    for number, key in enumerate(keys):
        tags = key if isinstance(key, list) else [] if key is None else [key]
        for name, members in groups.items():
            assert members.count((number, key)) == (name in tags)
    assert all(groups.values())
