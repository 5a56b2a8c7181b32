"""The whole loop: server, workers, rewards, steps, and what it leaves on disk."""

from __future__ import annotations

import logging
import os

import pytest
from schooling import Answering, Deciding, LowGame, Told, go, low_bytes, school, tasks, tiny_policy

from aworld import Agent, Task, open_run
from aworld.agents.playing import Player
from aworld.errors import TrainingError
from aworld.train import WarmUp, train
from aworld.train.checkpoints import checkpoints
from aworld.train.ids import original
from aworld.train.journal import read_journal
from aworld.train.parts import empty_buffer


def test_rewards_rise_and_all_that_led_to_it_is_recorded(tmp_path):
    told = Told()
    result = go(
        tmp_path,
        steps=8,
        samples=8,
        learning_rate=3e-2,
        updates_per_batch=4,
        held_out=tasks()[:2],
        trackers=[told],
    )
    rewards = told.of("reward")
    assert len(rewards) == 8
    assert rewards[0] < 0.4
    assert rewards[-1] > 0.7
    assert told.of("max_staleness") == [0] * 8  # on-policy
    assert max(told.of("sampler_kl")) < 1e-6  # trainer and sampler agree
    for name in ("loss", "entropy", "gradient_norm", "wait_seconds", "score_seconds", "tokens"):
        assert len(told.of(name)) == 8
    assert (result.steps, result.run_dir) == (8, tmp_path)
    assert [line["reward"] for line in result.history if "reward" in line] == rewards
    assert set(result.evaluations) == {0, 8}
    with open_run(tmp_path) as run:
        assert run.counts() == {"success": 8 * 4 * 8}
        assert run.status == "complete"
    with open_run(tmp_path / "evaluations" / "step-8") as run:
        assert run.status == "complete"
    verdicts = list(read_journal(tmp_path / "verdicts.jsonl"))
    assert len(verdicts) == 8 * 4 * 8
    assert {line["step"] for line in verdicts} == set(range(1, 9))
    assert checkpoints(tmp_path)[-1].name == "step-000008"


def test_the_workers_stay_from_the_first_step_to_the_last(tmp_path):
    class Telling(Answering):
        async def async_policy(self, observation, info=None, **more):
            from aworld import ActionModel

            await super().async_policy(observation, info, **more)
            return [ActionModel(policy_info=os.getpid(), agent_name="telling")]

    go(tmp_path, steps=3, agent=Telling)
    with open_run(tmp_path) as run:
        pids = {rollout.response.answer for rollout in run.rollouts()}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_rollouts_run_ahead_of_the_optimizer_no_further_than_the_bound(tmp_path):
    told = Told()
    go(tmp_path, steps=8, max_staleness=2, trackers=[told])
    ages = told.of("max_staleness")
    assert max(ages) <= 2
    assert max(ages) >= 1  # they did run ahead
    assert len(told.of("reward")) == 8


def test_the_bound_on_age_counts_no_updates_that_a_step_cannot_have(tmp_path):
    for updates, versions in ((1, 2), (3, 6), (4, 8), (50, 8)):
        config = school(tmp_path, tasks_per_step=4, max_staleness=2, updates_per_batch=updates)
        assert empty_buffer(config, tiny_policy()).max_staleness == versions


def test_an_agent_gets_the_policy_in_the_place_of_its_model(tmp_path):
    from aworld.models.scripted import ScriptedModel

    agent = Agent("speaking", model=ScriptedModel(["never"]), max_steps=1)

    def cut_or_not(task, trajectory):
        return float(len(trajectory.steps[0]["model_call"]["completion_ids"]) % 2)

    result = go(tmp_path, cut_or_not, agent=agent, steps=1)
    assert result.steps == 1
    with open_run(tmp_path) as run:
        models = {rollout.trajectory.steps[0]["model_call"]["model"] for rollout in run.rollouts()}
    assert models == {"byte"}
    assert agent.model.name != "byte"


def test_own_successes_can_be_imitated_first(tmp_path):
    settings = WarmUp(steps=5, rounds=2, least_reward=0.3)
    told = Told()
    go(tmp_path, steps=1, warm_up=settings, trackers=[told], held_out=tasks()[:2])
    assert len(told.of("start_eval_reward")) == 1
    with open_run(tmp_path / "warm_up") as run:
        assert run.counts() == {"success": 2 * 4 * 4}  # two rounds
    with open_run(tmp_path) as run:
        assert run.counts() == {"success": 4 * 4}  # the step
    with pytest.raises(TrainingError, match="nothing to imitate"):
        go(tmp_path / "other", steps=1, warm_up=WarmUp(steps=5, least_reward=2.0))


def test_what_worked_examples_lead_to_is_imitated_without_them(tmp_path):
    shown = [{"role": "user", "content": "zero"}, {"role": "assistant", "content": "!!!!"}]
    asked: list[list[int]] = []
    policy = tiny_policy()
    real = policy.encode_chat

    def watched(messages, tools=None):
        asked.append([message["content"] for message in messages])
        return real(messages, tools)

    policy.encode_chat = watched
    settings = WarmUp(steps=2, least_reward=0.1)
    agent = Agent("plain", max_steps=1, system_prompt="be low")
    go(tmp_path, agent=agent, policy=policy, steps=1, warm_up=settings, worked_examples=shown)
    with open_run(tmp_path / "warm_up") as run:
        sampled = next(run.rollouts(limit=1)).trajectory.steps[0]["model_call"]["messages"]
    assert [message["content"] for message in sampled][:3] == ["be low", "zero", "!!!!"]
    imitated = asked[asked.index(next(one for one in asked if "zero" not in one)) :]
    assert imitated  # the lessons, and the step after them
    assert all(said[0] == "be low" and "zero" not in said for said in imitated)


def test_a_curriculum_chooses_less_often_what_is_always_solved(tmp_path):
    hard = ("seven", "eight")

    def half(task, trajectory):
        ids = trajectory.steps[0]["model_call"]["completion_ids"]
        return float(sum(ids) % 2) if original(task.id) in hard else 1.0

    chosen = {}
    for curriculum in (False, True):
        folder = tmp_path / str(curriculum)
        go(folder, half, steps=10, samples=8, curriculum=curriculum)
        with open_run(folder) as run:
            ids = [original(task.id) for _, task in run.tasks()]
        assert len(ids) == 10 * 4
        chosen[curriculum] = sum(one not in hard for one in ids)
    assert chosen[False] == 30  # each in its turn
    assert chosen[True] < 28


def test_groups_that_teach_nothing_are_replaced_where_that_is_asked_for(tmp_path):
    def half(task, trajectory):
        always = task.id.partition("@")[0] in ("one", "two", "three", "four")
        return 1.0 if always else low_bytes(task, trajectory)

    told = Told()
    go(tmp_path, half, steps=2, refills=5, trackers=[told])
    assert told.of("groups") == [4, 4]
    verdicts = list(read_journal(tmp_path / "verdicts.jsonl"))
    assert sum(line["trained"] for line in verdicts) == 2 * 4 * 4
    assert any("same" in line["reason"] for line in verdicts)


# -- environments ---------------------------------------------------------------------------------


def play(folder, agent, played, **settings):
    own = ("held_out", "trackers", "resume")
    given = {name: settings.pop(name) for name in own if name in settings}
    policy = tiny_policy()
    conf = school(folder, **settings)
    return train(agent, played, "environment_return", conf, policy=policy, **given)


@pytest.mark.parametrize("form", ["named", "tasks", "player"])
def test_an_agent_is_trained_in_an_environment(tmp_path, form):
    def idle(question):
        raise AssertionError("the one that is trained plays")

    agent, played = Deciding, "env:schooling:LowGame?size=6"
    if form == "tasks":
        played = [Task({"seed": n}, Player(idle, LowGame)) for n in range(6)]
    elif form == "player":
        agent = lambda model: Player(Deciding(model), LowGame)  # noqa: E731
        played = [Task({"seed": n}) for n in range(6)]
    told = Told()
    result = play(tmp_path, agent, played, steps=2, held_out=played, trackers=[told])
    assert set(result.evaluations) == {0, 2}
    assert told.of("completed") == [1.0, 1.0]
    assert all(0 < reward < 2 for reward in told.of("reward"))
    assert sum(told.of("trained")) > 16
    with open_run(tmp_path) as run:
        steps = next(run.rollouts(limit=1)).trajectory.steps
        named = "schooling:LowGame-" if form == "named" else "task-"  # by their source, or here
        assert next(run.tasks())[1].id.startswith(named)
    assert [step["environment"]["terminated"] for step in steps] == [False, True]
    assert all(step["reward"] is not None for step in steps)


def test_a_training_in_an_environment_resumes_there(tmp_path):
    def stop(step, figures):
        raise KeyboardInterrupt

    source = "env:schooling:LowGame?size=6"
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path, Deciding, source, steps=3, max_staleness=1, trackers=[Told(stop)])
    result = play(tmp_path, Deciding, source, steps=3, max_staleness=1, resume=True)
    assert result.steps == 3
    with open_run(tmp_path) as run:
        assert set(run.counts()) == {"success"}
        played = {
            step["environment"]["terminated"] for r in run.rollouts() for step in r.trajectory.steps
        }
    assert played == {False, True}


# -- trackers -------------------------------------------------------------------------------------


class Broken:
    """A tracker that has lost its server."""

    def log(self, step, figures):
        raise ConnectionError("no route to the tracker")

    def close(self):
        raise ConnectionError("nor at the end")


def test_a_tracker_that_fails_is_told_once_and_training_goes_on(tmp_path, caplog):
    told = Told()
    with caplog.at_level(logging.WARNING, "aworld"):
        result = go(tmp_path, steps=2, trackers=[Broken(), told])
    assert len(told.of("loss")) == 2  # others hear of it all the same
    assert [line["step"] for line in result.history] == [1, 2]
    said = [record.getMessage() for record in caplog.records if "tracker" in record.getMessage()]
    assert len(said) == 1
    assert "the tracker Broken could not be told of step 1" in said[0]
    assert "no route to the tracker: training goes on" in said[0]


def test_the_figures_are_on_disk_before_any_tracker_hears_of_them(tmp_path):
    def look(step, figures):
        assert list(read_journal(tmp_path / "metrics.jsonl"))[-1]["step"] == step
        raise KeyboardInterrupt  # Ctrl-C, wherever it comes from, stops a training

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, steps=2, trackers=[Told(look)])
    assert [line["step"] for line in read_journal(tmp_path / "metrics.jsonl")] == [1]
