"""Which episodes train, and a reason for every one that does not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tiny_batches import episode, some_episodes

from aworld.errors import ConfigError
from aworld.train.algorithms import ALGORITHMS, open_algorithm
from aworld.train.batches import batch_of
from aworld.train.rows import TokenRow
from aworld.train.selection import Selection, select
from aworld.train.verdicts import verdict_on


def group(*rewards, task="t", **more):
    return [episode(task, n, reward, **more) for n, reward in enumerate(rewards)]


def reasons(selection: Selection) -> list[str]:
    return [one.reason for one in selection.verdicts]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_episode_has_one_verdict_in_its_place(name):
    episodes = [*some_episodes(1), episode("x", reward=None), episode("y", why_not="no token ids")]
    algorithm = open_algorithm(name)
    values = [np.zeros(one.turns) for one in episodes] if algorithm.needs_values else None
    found = select(episodes, algorithm, values=values)
    assert [(v.task_id, v.sample) for v in found.verdicts] == [
        (one.task_id, one.sample) for one in episodes
    ]
    assert len(found.episodes) == len(found.credits) == sum(v.trained for v in found.verdicts)
    assert sum(found.counts.values()) + len(found.episodes) == len(episodes)
    assert all(v.trained != bool(v.reason) for v in found.verdicts)
    json.dumps([v.to_dict() for v in found.verdicts])


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "rloo", "gspo", "cispo"])
def test_a_group_of_one_is_left_out_and_counted(name):
    found = select([*group(1.0, 0.0), *group(1.0, task="alone")], open_algorithm(name))
    assert len(found.episodes) == 2
    assert found.counts == {"alone in its group: nothing to compare it with": 1}


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "rloo", "gspo", "cispo"])
def test_a_group_without_a_difference_is_left_out_and_counted(name):
    episodes = [*group(1.0, 0.0), *group(0.5, 0.5, 0.5, task="same")]
    found = select(episodes, open_algorithm(name))
    assert found.counts == {"all rewards of its group are the same": 3}
    assert found.groups == 1
    kept = select(episodes, open_algorithm(name, same_rewards="keep"))
    assert [v.advantage for v in kept.verdicts][2:] == [0.0, 0.0, 0.0]


def test_rewards_that_are_all_none_train_nothing_and_say_so():
    found = select(group(None, None), open_algorithm("grpo"))
    assert found.episodes == []
    assert found.counts == {"no reward": 2}
    assert found.figures == {
        "episodes": 2,
        "trained": 0,
        "groups": 0,
        "completed": 1.0,
        "sampled_tokens": 2.0,
    }


def test_one_that_has_no_reward_is_no_member_of_its_group():
    """It is not a 0: the others are compared with each other alone."""
    found = select(group(1.0, None, 0.5), open_algorithm("rloo"))
    assert [v.advantage for v in found.verdicts] == [0.5, None, -0.5]


def ended(status):
    first, second, third = group(1.0, 0.0, -1.0)
    return [first, second, replace(third, status=status)]


@pytest.mark.parametrize("status", ["truncated", "failed", "timeout", "crashed"])
def test_each_way_to_end_has_a_rule_of_its_own(status):
    episodes = ended(status)

    def advantages(use):
        found = select(episodes, open_algorithm("dr_grpo", **{status: use}))
        return [v.advantage for v in found.verdicts], reasons(found)[2]

    assert advantages("train") == ([1.0, 0.0, -1.0], "")
    masked, reason = advantages("mask")
    assert masked == [1.0, 0.0, None]  # it counts in its group
    assert reason.endswith("it counts in its group only")
    dropped, reason = advantages("drop")
    assert dropped == [0.5, -0.5, None]
    assert reason
    other = {"truncated": "failed"}.get(status, "truncated")
    found = select(episodes, open_algorithm("dr_grpo", **{other: "drop"}))
    assert len(found.episodes) == 3


def test_dapo_masks_what_was_cut_short():
    found = select(ended("truncated"), open_algorithm("dapo"))
    assert reasons(found)[2] == "it was truncated: it counts in its group only"
    assert len(select(ended("failed"), open_algorithm("dapo")).episodes) == 3


def test_what_is_too_old_does_not_train():
    old, new = TokenRow.of([1], [2], version=3), TokenRow.of([1], [2], version=7)
    unknown = TokenRow.of([1], [2])
    rows = [[new], [old], [new, old], [unknown], [new]]
    episodes = [episode("t", n, float(n), row) for n, row in enumerate(rows)]
    found = select(episodes, open_algorithm("rloo", max_staleness=2), version=8)
    late = "older than max_staleness"
    assert reasons(found) == ["", late, late, "no policy version: its age is not known", ""]
    assert [v.staleness for v in found.verdicts] == [1, 5, 5, None, 1]
    assert found.figures["max_staleness"] == 1
    assert len(select(episodes, open_algorithm("rloo"), version=8).episodes) == 5
    at_the_limit = select(episodes[:3], open_algorithm("rloo", max_staleness=5), version=8)
    assert len(at_the_limit.episodes) == 3


def test_what_is_too_long_does_not_train():
    long = episode("t", 0, 5.0, [TokenRow.of([1] * 8, [2])])
    found = select(
        [long, *group(1.0, 0.0)[1:], *group(0, 0, 1)[2:]], open_algorithm("rloo", max_length=8)
    )
    assert reasons(found) == ["longer than max_length", "", ""]


def test_the_same_task_in_another_run_is_another_group():
    runs = [
        [replace(one, run=run) for one in group(*rewards)]
        for run, rewards in (("a", (1.0, 0.0)), ("b", (0.0, -1.0)))
    ]
    found = select([*runs[0], *runs[1]], open_algorithm("rloo"))
    assert [v.advantage for v in found.verdicts] == [1.0, -1.0, 1.0, -1.0]


def test_weights_are_shares_of_the_loss():
    long = TokenRow.of([1], [2, 3, 0])
    episodes = [episode("t", 0, 1.0, [long]), episode("t", 1, 0.0, [TokenRow.of([1], [2])])]
    by_token = select(episodes, open_algorithm("grpo", aggregation="token"))
    assert [v.weight for v in by_token.verdicts] == [0.75, 0.25]
    by_episode = select(episodes, open_algorithm("grpo"))
    assert [v.weight for v in by_episode.verdicts] == [0.5, 0.5]


def test_reinforce_gives_each_turn_its_discounted_return():
    rows = [TokenRow.of([1], [2], turn=0), TokenRow.of([1, 3], [2], turn=1)]
    two = episode("a", 0, 1.0, rows)
    algorithm = open_algorithm("reinforce", discount=0.5, baseline="none")
    found = select([two, episode("b", 0, -1.0)], algorithm)
    assert [c.advantages.tolist() for c in found.credits] == [[0.5, 1.0], [-1.0]]
    less = select([two, episode("b", 0, -1.0)], open_algorithm("reinforce", discount=0.5))
    assert [c.advantages.tolist() for c in less.credits] == [[0.625, 1.125], [-0.875]]


def test_reinforce_has_nothing_to_learn_from_a_batch_without_a_difference():
    found = select(group(1.0, 1.0), open_algorithm("reinforce"))
    assert found.counts == {"all rewards of the batch are the same": 2}


def test_sft_imitates_what_is_good_enough():
    episodes = [*group(1.0, 0.5, 1.0), replace(episode("x", reward=1.0), status="failed")]
    found = select(episodes, open_algorithm("sft"))
    reason = "its reward is less than least_reward"
    assert reasons(found) == ["", reason, "", "it failed"]
    demonstrations = [episode("d", reward=None)]
    assert select(demonstrations, open_algorithm("sft")).counts == {reason: 1}
    assert len(select(demonstrations, open_algorithm("sft", least_reward=None)).episodes) == 1


def test_sft_can_take_the_best_of_each_group_and_of_equals_the_shortest():
    long = [TokenRow.of([1], [2, 3, 0])]
    episodes = [episode("t", 0, 1.0, long), *group(0.5, 1.0, 2.0)[1:2], episode("u", 0, 1.0, long)]
    found = select(episodes, open_algorithm("sft", best_of_group=1))
    assert [v.trained for v in found.verdicts] == [False, True, True]
    assert "as good and shorter" in reasons(found)[0]


def test_ppo_learns_from_the_values_of_each_turn():
    rows = [TokenRow.of([1], [2], turn=0), TokenRow.of([1, 3], [2], turn=1)]
    episodes = [episode("a", 0, 1.0, rows), episode("b", reward=None)]
    algorithm = open_algorithm("ppo", normalise=False, decay=0.5)
    found = select(episodes, algorithm, values=[np.array([0.25, 0.5]), np.zeros(1)])
    (credit,) = found.credits
    assert credit.advantages.tolist() == [0.5, 0.5]  # 0.5 - 0.25 + half of the next; 1 - 0.5
    assert credit.returns is not None
    assert credit.returns.tolist() == [0.75, 1.0]
    batch = batch_of(found.episodes, found.credits)
    assert batch.old_values is not None
    assert batch.old_values[batch.turn_starts].tolist() == [0.25, 0.5]
    with pytest.raises(ConfigError, match="ppo needs the model's values"):
        select(episodes, algorithm)


def test_a_verdict_is_a_line_for_a_person():
    found = select(group(1.0, 0.0), open_algorithm("rloo"), version=2)
    assert str(found.verdicts[0]) == (
        "t #0 (success, reward 1, 2 tokens sampled, by a policy 2 versions old): "
        "trained, advantage +1, 50.00% of the loss"
    )
    lost = verdict_on(episode("t", 3, None), trained=False, reason="no reward")
    assert str(lost) == "t #3 (success, no reward, 2 tokens sampled): not trained: no reward"
