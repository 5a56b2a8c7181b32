"""What trains is what was sampled; what cannot train says why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.store.records import Rollout
from aworld.train.episodes import episode_of, episode_of_rollout, shared_out
from aworld.train.rows import UNKNOWN, TokenRow


def step(prompt: Any, completion: Any, *, reward: Any = None, agent: str = "solver", **call: Any):
    """As a model call is recorded."""
    record = {
        "model": "policy",
        "settings": {"temperature": 1.0},
        "finish_reason": "stop",
        "policy_version": "3",
        "prompt_ids": prompt,
        "completion_ids": completion,
        "logprobs": None if completion is None else [-float(n + 1) for n in range(len(completion))],
        **call,
    }
    return {"step": 0, "agent": agent, "model_call": record, "reward": reward}


def trajectory(*steps: Any, reward: Any = 1.0, status: Any = "success", **more: Any) -> Trajectory:
    success = status == "success"
    return Trajectory("t", "solver", list(steps), None, success, reward, status=status, **more)


def test_the_sampled_tokens_train_and_what_tools_said_does_not():
    found = episode_of(trajectory(step([1, 2], [3, 4]), step([1, 2, 3, 4, 8, 9], [5])))
    (row,) = found.rows
    assert row.ids.tolist() == [1, 2, 3, 4, 8, 9, 5]
    assert row.sampled.tolist() == [False, False, True, True, False, False, True]
    assert row.turns.tolist() == [UNKNOWN, UNKNOWN, 0, 0, UNKNOWN, UNKNOWN, 1]
    assert row.versions[row.sampled].tolist() == [3, 3, 3]
    assert row.logprobs[row.sampled].tolist() == [-1.0, -2.0, -1.0]
    assert np.isnan(row.logprobs[~row.sampled]).all()
    assert (found.tokens, found.turns, found.longest, found.oldest_version) == (3, 2, 7, 3)
    assert found.why_not == ""


def test_a_template_that_drops_earlier_turns_makes_two_rows_and_trains_each_token_once():
    found = episode_of(trajectory(step([1, 2], [3, 4]), step([1, 2, 4, 7], [5])))
    assert [row.ids.tolist() for row in found.rows] == [[1, 2, 3, 4], [1, 2, 4, 7, 5]]
    assert found.tokens == 3
    assert found.turns == 2


def test_turns_are_numbered_in_the_order_in_which_the_model_was_asked():
    """Two conversations that take turns."""
    calls = [([1], [2]), ([7], [8]), ([1, 2, 3], [4]), ([7, 8, 9], [6])]
    found = episode_of(trajectory(*(step(*call, reward=float(n)) for n, call in enumerate(calls))))
    assert [row.turns[row.sampled].tolist() for row in found.rows] == [[0, 2], [1, 3]]
    assert found.turn_rewards == (0.0, 1.0, 2.0, -2.0)  # what is left of 1 goes to the end


@given(st.floats(-5, 5), st.lists(st.none() | st.floats(-5, 5), min_size=1, max_size=6))
def test_the_rewards_of_the_turns_add_up_to_that_of_the_episode(reward, given_rewards):
    shares = shared_out(reward, given_rewards)
    assert math.fsum(shares) == pytest.approx(reward, abs=1e-9)
    assert shares[:-1] == tuple(one or 0.0 for one in given_rewards[:-1])


def test_what_an_environment_gave_is_not_counted_twice():
    """The reward of the episode is the sum of what the turns were given."""
    found = episode_of(
        trajectory(step([1], [2], reward=0.25), step([1, 2, 3], [4], reward=0.5), reward=0.75)
    )
    assert found.turn_rewards == (0.25, 0.5)


def test_a_reward_that_is_not_there_is_none_and_not_0():
    found = episode_of(trajectory(step([1], [2]), reward=None))
    assert found.reward is None
    assert found.turn_rewards == ()


@pytest.mark.parametrize(
    ("steps", "more", "reason"),
    [
        ([], {}, "no model call"),
        ([{"step": 0, "agent": "f", "action": 1}], {}, "no model call"),
        ([step(None, None)], {}, "no token ids"),
        ([step([1], [2]), step([1, 2], None)], {}, "no token ids"),
        ([step([1], [2, 3], logprobs=[-1.0])], {}, "not as many log-probabilities as tokens"),
        ([step([1], [])], {}, "nothing was sampled"),
        ([step([], [1])], {}, "nothing was sampled"),
        ([step([1], ["2"])], {}, "no numbers"),
        ([step([1], [2**40])], {}, "no numbers"),
        ([step([1], [-2])], {}, "no numbers"),
        ([step([1], [2], logprobs=["likely"])], {}, "no numbers"),
        ([step([1], [2], model="a"), step([1], [2], model="b")], {}, "several models"),
        (
            [step([1], [2]), step([1, 2], [3], settings={"temperature": 0.5})],
            {},
            "several temperatures",
        ),
        ([step([1], [2])], {"status": "cancelled"}, "cancelled"),
        ([step([1], [2])], {"status": "skipped"}, "never ran"),
        ([step([1], [2])], {"reward": math.nan}, "not a finite number"),
        ([step([1], [2])], {"reward": math.inf}, "not a finite number"),
    ],
)
def test_what_cannot_train_says_why_and_has_no_tokens(steps, more, reason):
    found = episode_of(trajectory(*steps, **more))
    assert reason in found.why_not
    assert found.rows == ()
    assert (found.tokens, found.turns, found.longest, found.oldest_version) == (0, 0, 0, None)


def test_only_the_agent_and_the_model_that_are_trained_count():
    """A judge or a helper with another model speaks in tokens that mean nothing here."""
    both = trajectory(
        step([1], [2], agent="lead"), step([5], [6], agent="lead/helper", model="other")
    )
    assert [row.ids.tolist() for row in episode_of(both, model="policy").rows] == [[1, 2]]
    assert [row.ids.tolist() for row in episode_of(both, agent="lead/helper").rows] == [[5, 6]]
    assert episode_of(both, model="nobody").why_not == "no model call"


def test_a_token_keeps_the_version_of_the_policy_that_sampled_it():
    """Weights may move while a reply is being made."""
    found = episode_of(
        trajectory(
            step([1], [2, 3, 4], policy_versions=[5, 5, 6], policy_version=5),
            step([1, 2, 3, 4], [7], policy_version=6),
        )
    )
    (row,) = found.rows
    assert row.versions.tolist() == [UNKNOWN, 5, 5, 6, 6]
    assert found.oldest_version == 5


@pytest.mark.parametrize("version", [None, "main", ""])
def test_a_version_that_is_no_number_is_not_known(version):
    assert episode_of(trajectory(step([1], [2], policy_version=version))).oldest_version is None


def test_log_probabilities_that_are_no_finite_numbers_are_not_known():
    found = episode_of(trajectory(step([1], [2, 3, 4], logprobs=[-math.inf, None, -1.0])))
    assert np.isnan(found.rows[0].logprobs).tolist() == [True, True, True, False]
    assert episode_of(trajectory(step([1], [2], logprobs=None))).why_not == ""


def test_a_row_knows_the_temperature_it_was_sampled_at():
    for asked, known in (({"temperature": 0.7}, 0.7), ({}, 1.0), (None, 1.0)):
        found = episode_of(trajectory(step([1], [2], settings=asked)))
        assert found.rows[0].temperature == known


def test_samples_know_their_group():
    metadata = {"group_id": "question", "sample_index": 2}
    found = episode_of(trajectory(step([1], [2]), metadata=metadata), run="step 1")
    assert (found.group, found.sample) == (("step 1", "question", 0), 2)
    assert episode_of(trajectory(step([1], [2]))).group_id == "t"


def test_a_recorded_rollout_gives_what_its_latest_score_says():
    old = trajectory(step([1], [2]), reward=0.0)
    response = TaskResponse("t#1", status="truncated", trajectory=old, reward=0.0)
    found = episode_of_rollout(Rollout(1, Task("?", id="t"), 1, response, reward=0.5), run="r")
    assert (found.reward, found.status, found.sample) == (0.5, "truncated", 1)
    assert found.turn_rewards == (0.5,)
    assert old.reward == 0.0


def test_a_rollout_whose_worker_died_says_why_it_cannot_train():
    response = TaskResponse("t", status="crashed")
    found = episode_of_rollout(Rollout(0, Task("?", id="t"), 0, response, reward=-1.0))
    assert (found.status, found.reward, found.why_not) == ("crashed", -1.0, "no model call")


def test_a_demonstration_is_a_prompt_and_a_reply():
    row = TokenRow.of([1, 2], [3])
    assert row.sampled.tolist() == [False, False, True]
    assert np.isnan(row.logprobs).all()
