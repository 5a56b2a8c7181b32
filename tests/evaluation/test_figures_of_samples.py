"""How good an agent is: what counts, what it comes to, and how sure that is."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aworld.core.failure import STATUSES
from aworld.core.task import Task, TaskResponse
from aworld.errors import ConfigError
from aworld.evaluation import Judged, assess, judged_of
from aworld.evaluation.figures import usual_ks
from aworld.evaluation.judging import labels_in
from aworld.rewards.combined import TRIED
from aworld.statistics import MOST_RESAMPLED, mean_interval


def samples_of(
    task: str, *rewards: float | None, status: str = "success", **labels
) -> list[Judged]:
    return [Judged(task, number, reward, status, **labels) for number, reward in enumerate(rewards)]


rewards = st.none() | st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 2.0])
samplings = st.lists(st.tuples(rewards, st.sampled_from(STATUSES)), min_size=1, max_size=5)


@st.composite
def judged_runs(draw) -> list[Judged]:
    rows = []
    for task in range(draw(st.integers(1, 5))):
        tags = tuple(draw(st.lists(st.sampled_from("xyz"), unique=True)))
        level = draw(st.none() | st.sampled_from(["1", "2", "10"]))
        for sample, (reward, status) in enumerate(draw(samplings)):
            rows.append(Judged(f"t{task}", sample, reward, status, tags, level))
    return rows


# -- what it comes to ----------------------------------------------------------------------------


def test_every_figure_of_a_small_run_is_what_one_finds_by_hand():
    rows = samples_of("easy", 1, 1, 1, 1) + samples_of("hard", 0, 0, 1, 0)
    found = assess(rows)
    assert (found.tasks, found.samples, found.failures, found.unscored) == (2, 8, 0, 0)
    assert found.reward is not None
    assert found.reward.mean == (1 + 1 / 4) / 2
    assert found.pass_at_1 == found.pass_at[1] == found.pass_hat[1]
    assert {k: one.mean for k, one in found.pass_at.items()} == {
        1: (1 + 1 / 4) / 2,
        2: (1 + 1 / 2) / 2,
        4: 1.0,
    }
    assert {k: one.mean for k, one in found.pass_hat.items()} == {
        1: (1 + 1 / 4) / 2,
        2: 0.5,
        4: 0.5,
    }
    assert found.statuses == {"success": 8}
    assert found.left_out == {}


@settings(deadline=None, max_examples=50)
@given(judged_runs())
def test_pass_at_k_and_pass_hat_k_are_the_shares_of_all_draws(rows):
    found = assess(rows, passes_at=0.5)
    for k in usual_ks(max(row.sample for row in rows) + 1):
        some, every = [], []
        for task in dict.fromkeys(row.task_id for row in rows):
            mine = [row for row in rows if row.task_id == task]
            right = [
                row.reward is not None and row.reward >= 0.5
                for row in mine
                if row.reward is not None or row.status in TRIED
            ]
            draws = list(combinations(right, k))
            if draws:
                some.append(Fraction(sum(map(any, draws)), len(draws)))
                every.append(Fraction(sum(map(all, draws)), len(draws)))
        for shares, estimates in ((some, found.pass_at), (every, found.pass_hat)):
            assert (k in estimates) == bool(shares)
            if shares:
                assert estimates[k].count == len(shares)
                assert estimates[k].mean == pytest.approx(float(sum(shares) / len(shares)))
        assert found.left_out.get(k, 0) == found.tasks - len(some)


@settings(deadline=None, max_examples=50)
@given(judged_runs(), st.randoms(use_true_random=False))
def test_every_sample_is_accounted_for_and_the_order_changes_nothing(rows, chance):
    found = assess(rows)
    assert sum(found.statuses.values()) == found.samples == len(rows)
    scored = sum(row.reward is not None for row in rows)
    assert found.failures + found.unscored + scored == len(rows)
    mixed = list(rows)
    chance.shuffle(mixed)
    assert assess(mixed) == found


@settings(deadline=None, max_examples=50)
@given(judged_runs())
def test_more_draws_help_to_pass_once_and_harm_to_pass_always(rows):
    whole = [row._replace(reward=0.0 if row.reward is None else row.reward) for row in rows]
    fewest = min(
        sum(row.task_id == task for row in whole) for task in {row.task_id for row in rows}
    )
    found = assess(whole, ks=range(1, fewest + 1))
    some = [one.mean for one in found.pass_at.values()]
    every = [one.mean for one in found.pass_hat.values()]
    slack = 1e-12
    assert all(a <= b + slack for a, b in pairwise(some))
    assert all(a + slack >= b for a, b in pairwise(every))
    assert every[0] == some[0]


@given(st.integers(1, 10_000))
def test_the_usual_k_double_up_to_the_samples(samples):
    ks = usual_ks(samples)
    assert ks[0] == 1
    assert ks[-1] == samples
    assert all(later == 2 * k or later == samples < 2 * k for k, later in pairwise(ks))


def test_k_can_be_chosen():
    found = assess(samples_of("a", 1, 0, 0), ks=[3, 1, 3])
    assert list(found.pass_at) == list(found.pass_hat) == [1, 3]
    assert found.pass_at[3].mean == 1.0
    assert found.pass_hat[3].mean == 0.0


# -- what counts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", TRIED)
def test_what_was_tried_and_failed_is_wrong_and_not_left_out(status):
    found = assess(samples_of("a", 1.0) + samples_of("b", None, status=status))
    assert found.reward is not None
    assert found.reward.mean == 0.5
    assert found.pass_at[1].mean == 0.5
    assert (found.failures, found.unscored) == (1, 0)


@pytest.mark.parametrize("status", ["cancelled", "skipped", "success"])
def test_what_never_ran_or_has_no_known_reward_is_left_out_and_counted(status):
    found = assess(samples_of("a", 1.0) + samples_of("b", None, status=status))
    assert found.reward is not None
    assert (found.reward.mean, found.reward.count) == (1.0, 1)
    assert (found.tasks, found.samples, found.failures, found.unscored) == (2, 2, 0, 1)
    assert found.left_out == {1: 1}


@pytest.mark.parametrize("status", STATUSES)
def test_a_score_counts_however_the_rollout_ended(status):
    found = assess(samples_of("a", 0.5, status=status), passes_at=0.5)
    assert found.reward is not None
    assert found.reward.mean == 0.5
    assert found.pass_at[1].mean == 1.0


def test_a_failure_does_not_pass_even_where_a_reward_of_nothing_would():
    found = assess(samples_of("a", None, status="crashed") + samples_of("b", 0.0), passes_at=-1)
    assert found.pass_at[1].mean == 0.5


def test_a_sample_passes_from_the_chosen_reward_on():
    rows = samples_of("a", 0.79, 0.8, 0.81, 5.0)
    assert assess(rows, passes_at=0.8).pass_at[1].mean == 0.75
    assert assess(rows).pass_at[1].mean == 0.25


def test_a_task_with_fewer_samples_weighs_as_much_and_is_left_out_where_k_is_too_large():
    rows = samples_of("whole", 1, 0, 0, 0)
    rows += samples_of("short", 1, 1) + [Judged("short", n, None, "cancelled") for n in (2, 3)]
    found = assess(rows)
    assert found.reward is not None
    assert found.reward.mean == (1 / 4 + 1) / 2
    assert {k: one.count for k, one in found.pass_at.items()} == {1: 2, 2: 2, 4: 1}
    assert found.pass_at[4].mean == 1.0
    assert found.left_out == {4: 1}
    assert "k=4: 1 task left out" in str(found)


def test_nothing_to_count_gives_no_figures_and_says_why():
    for rows in ([], samples_of("a", None, None)):
        found = assess(rows)
        assert (found.reward, found.pass_at, found.pass_hat) == (None, {}, {})
        assert found.unscored == len(rows)
        assert f"{found.tasks} task" in str(found)


def test_samples_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="sample 0 of task 'a' is there twice"):
        assess(samples_of("a", 1.0) * 2)
    for reward in (math.nan, math.inf, "1", True):
        with pytest.raises(ConfigError, match="the reward of task 'a' must be a finite number"):
            assess([Judged("a", 0, reward, "success")])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"passes_at": None},
        {"passes_at": math.nan},
        {"ks": [0]},
        {"ks": [1.5]},
        {"ks": "12"},
        {"ks": 4},
        {"confidence": 95},
        {"seed": None},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        assess([], **options)


# -- how sure it is ------------------------------------------------------------------------------


def test_the_interval_holds_the_truth_although_samples_of_a_task_are_alike():
    chance = random.Random(3)
    held = 0
    for trial in range(120):
        rows = []
        for task in range(30):
            skill = chance.random()  # each task has its own, so that its samples are alike
            rows += samples_of(f"t{task}", *(float(chance.random() < skill) for _ in range(4)))
        found = assess(rows, ks=[2], confidence=0.9, seed=trial).pass_at[2]
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 2 / 3 <= found.high  # the mean of 1 - (1 - skill)^2
    assert 96 <= held <= 118


@pytest.mark.parametrize("share", [0.01, 0.5, 0.97])
def test_the_interval_of_many_tasks_is_that_of_the_bootstrap(share):
    count = MOST_RESAMPLED + 1
    values = [float(number < share * count) for number in range(count)]
    quick = mean_interval(values, confidence=0.9)
    slow = mean_interval(values, confidence=0.9, resamples=1000)
    assert (quick.mean, quick.count, quick.confidence) == (slow.mean, slow.count, slow.confidence)
    assert quick.low == pytest.approx(slow.low, abs=0.004)
    assert quick.high == pytest.approx(slow.high, abs=0.004)


def test_the_interval_of_many_tasks_stays_within_their_values():
    values = [1.0] * MOST_RESAMPLED + [0.0]
    assert mean_interval(values, confidence=0.999).high == 1.0
    same = mean_interval([0.5] * (MOST_RESAMPLED + 1))
    assert same.low == same.mean == same.high == 0.5


def test_a_hundred_thousand_samples_take_seconds():
    import time

    rows = [
        Judged(
            f"t{n // 8}", n % 8, float(n % 3 == 0), "success", (f"tag {n // 8 % 50}",), str(n % 5)
        )
        for n in range(100_000)
    ]
    begin = time.monotonic()
    assert assess(rows).tasks == 12_500
    assert time.monotonic() - begin < 30  # it takes one; a machine may be busy


# -- by tag and by level -------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(judged_runs())
def test_a_tag_and_a_level_have_the_figures_of_their_own_tasks_alone(rows):
    found = assess(rows, ks=[1, 2])
    for tag in "xyz":
        mine = [row for row in rows if tag in row.tags]
        assert (tag in found.by_tag) == bool(mine)
        if mine:
            alone = assess(mine, ks=[1, 2]).to_dict()
            assert found.by_tag[tag].to_dict().items() <= alone.items()
    for level, figures in found.by_level.items():
        alone = assess([row for row in rows if row.level == level], ks=[1, 2]).to_dict()
        assert figures.to_dict().items() <= alone.items()


def test_levels_stand_in_the_order_in_which_people_count():
    rows = [row for level in ("10", "9", "easy", "1") for row in samples_of(level, 1, level=level)]
    assert list(assess(rows).by_level) == ["1", "9", "10", "easy"]


@pytest.mark.parametrize(
    ("metadata", "labels"),
    [
        ({}, ((), None)),
        ({"tags": None, "level": None}, ((), None)),
        ({"tags": "math, logic,,math ", "level": 2}, (("math", "logic"), "2")),
        ({"tags": ["math", 7, None, ""], "level": "hard"}, (("math", "7"), "hard")),
        ({"tags": math.nan, "level": math.nan}, ((), None)),
        ({"tags": 3, "level": 2.0}, (("3",), "2")),
        ({"tags": ("a",), "level": " "}, (("a",), None)),
        ({"tags": ["\ud800"], "level": "\ud800"}, (("?",), "?")),
    ],
)
def test_tags_and_level_are_read_however_they_are_written(metadata, labels):
    assert labels_in(metadata) == labels


def test_responses_are_judged_with_the_labels_of_their_tasks():
    tasks = [Task("q", id="a", metadata={"tags": ["x"], "level": 1}), Task("q", id="b")]
    responses = [
        TaskResponse("a#0", reward=1.0, group_id="a"),
        TaskResponse("a#1", status="timeout", group_id="a", sample_index=1),
        TaskResponse("b", reward=0.0),
        TaskResponse("of no task that is known"),
    ]
    judged = [
        Judged("a", 0, 1.0, "success", ("x",), "1"),
        Judged("a", 1, None, "timeout", ("x",), "1"),
        Judged("b", 0, 0.0, "success"),
        Judged("of no task that is known", 0, None, "success"),
    ]
    assert list(judged_of(responses, tasks)) == judged
    assert list(judged_of({response.id: response for response in responses}, tasks)) == judged


# -- for programs and for people -----------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(judged_runs())
def test_all_of_it_is_json_and_text(rows):
    found = assess(rows)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text) == found.to_dict()
    assert found.to_dict()["tasks"] == found.tasks
    assert str(found)


def test_a_person_sees_the_figures_and_what_was_left_out():
    rows = samples_of("a", 1, 1, tags=("math",), level="1") + samples_of("b", 0, None)
    rows += samples_of("c", None, None, status="timeout", level="2")
    shown = str(assess(rows, confidence=0.9))
    assert "90 % interval" in shown
    assert "3 tasks, 6 samples (4 success, 2 timeout)" in shown
    assert "2 samples failed without a score: counted as not passed, and as 0" in shown
    assert "1 sample left out" in shown
    assert any("pass@2" in line and "0.500" in line for line in shown.splitlines())
    assert any("math" in line and "1.000" in line for line in shown.splitlines())


def test_what_a_stranger_has_written_cannot_steer_the_terminal():
    import io

    from rich.console import Console

    nasty = "[red]\x1b[31m\x07\u202e\n[/nothing]"
    found = assess(samples_of("a", 1, tags=(nasty, "x" * 1000), level=nasty, status="\x1b[2J"))
    console = Console(file=io.StringIO(), width=200)
    console.print(found)
    for shown in (str(found), console.file.getvalue()):  # type: ignore[attr-defined]
        assert "[red]?[31m" in shown
        assert not set(shown) & set("\x1b\x07\u202e")
        assert "x" * 100 not in shown
