"""The whole loop: server, workers, rewards, steps, and how it ends when something is wrong."""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from schooling import Answering, Deciding, LowGame, Told, low_bytes, school, tasks, tiny_policy

from aworld import Agent, RunConfig, Task, open_run
from aworld.agents.playing import Player
from aworld.errors import ConfigError, TrainingError
from aworld.serve import PolicyServer, WeightSync
from aworld.serve.generator import Generator
from aworld.train import ALGORITHMS, WarmUp, train
from aworld.train.algorithms.settings import GroupSettings
from aworld.train.checkpoints import checkpoints
from aworld.train.ids import original
from aworld.train.journal import read_journal
from aworld.train.parts import open_journals
from aworld.web.listening import _Server


def go(folder, reward=low_bytes, agent=Answering, policy=None, **settings):
    """A training in `folder`; what `train` itself takes is taken out of the settings."""
    own = ("held_out", "demonstrations", "worked_examples", "trackers", "resume", "weight_sync")
    given = {name: settings.pop(name) for name in own if name in settings}
    policy = policy or tiny_policy()
    return train(agent, tasks(), reward, school(folder, **settings), policy=policy, **given)


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
        assert next(run.tasks())[1].id.startswith("task-")
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


# -- bad days --------------------------------------------------------------------------------------


def test_a_reward_that_is_none_for_all_ends_in_a_line(tmp_path):
    with pytest.raises(TrainingError, match="step 1: the reward is None for all 16") as error:
        go(tmp_path, lambda task, trajectory: None)
    assert "last checkpoint is" in str(error.value)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000000"]


def test_a_demonstration_that_is_longer_than_the_context_is_refused(tmp_path):
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a" * 300}]
    with pytest.raises(ConfigError, match=r"demonstration 0 has 30. tokens: the context of 'byte'"):
        go(tmp_path, warm_up=WarmUp(steps=2), demonstrations=[{"messages": said}])


def test_of_rollouts_that_were_cut_the_error_of_the_reward_is_quoted_all_the_same(tmp_path):
    def broken(task, trajectory):
        raise KeyError("no such column")

    with pytest.raises(TrainingError, match=r"of the reward, KeyError: .*no such column"):
        go(tmp_path, broken, agent=Agent("plain", max_steps=1))


def test_a_reward_that_raises_is_quoted(tmp_path):
    def broken(task, trajectory):
        raise KeyError("no such column")

    with pytest.raises(TrainingError, match="no such column"):
        go(tmp_path, broken)


def test_tasks_that_teach_nothing_for_many_steps_end_in_a_line(tmp_path):
    with pytest.raises(TrainingError, match=r"2 steps in a row taught nothing.*all rewards of its"):
        go(tmp_path, lambda task, trajectory: 0.0, steps=9, patience=2)


class SameFolder(WeightSync):
    """A server elsewhere, which has a policy of its own."""

    name = "byte"

    def __init__(self, server, folder):
        super().__init__(server.url, folder, key=server.key)
        self.served = server.policy

    def load(self, folder: Path, policy):
        from aworld.policies import BytePolicy

        with self.served.updating():
            self.served.load_state_dict(BytePolicy.load(folder).state_dict())
        self.served.version = policy.version


def test_a_server_elsewhere_is_sent_the_weights_after_each_step(tmp_path):
    told = Told()
    with PolicyServer(tiny_policy(seed=3)) as server:  # other weights, until it is told
        sync = SameFolder(server, tmp_path / "weights")
        go(tmp_path / "run", steps=3, weight_sync=sync, trackers=[told])
    assert max(told.of("sampler_kl")) < 1e-6


def test_a_server_that_dies_ends_it_with_the_last_checkpoint_intact(tmp_path):
    policy = tiny_policy()
    server = PolicyServer(tiny_policy()).start()

    def stop(step, figures):
        if step == 2:
            server.stop()

    sync = SameFolder(server, tmp_path / "weights")
    with pytest.raises(TrainingError, match=r"none of the 16 rollouts.*cannot be reached") as error:
        go(
            tmp_path / "run",
            policy=policy,
            steps=4,
            checkpoint_every=1,
            weight_sync=sync,
            trackers=[Told(stop)],
        )
    assert str(checkpoints(tmp_path / "run")[-1]) in str(error.value)
    assert checkpoints(tmp_path / "run")[-1].name == "step-000002"
    told = Told()
    with PolicyServer(tiny_policy()) as alive:
        sync = SameFolder(alive, tmp_path / "weights")
        result = go(tmp_path / "run", steps=4, weight_sync=sync, trackers=[told], resume=True)
    assert result.steps == 4
    assert [step for step, _ in told.lines] == [3, 4]
    with open_run(tmp_path / "run") as run:  # what the server's death had failed was run again
        assert run.counts() == {"success": 4 * 4 * 4}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("part", "method", "said"),
    [
        (Generator, "_turn", "the thread that decodes has died"),
        (_Server, "on_tick", "the thread that answers has died: .*no more"),
    ],
)
def test_a_thread_of_the_server_that_dies_ends_it_within_seconds(
    tmp_path, monkeypatch, part, method, said
):
    died_at: list[float] = []
    real = getattr(part, method)

    def dying(self, *arguments):
        if died_at:
            raise RuntimeError("no more")
        return real(self, *arguments)

    def die(step, figures):
        if step == 1:
            died_at.append(time.monotonic())

    monkeypatch.setattr(part, method, dying)
    broken = rf"step \d+: the policy server has broken down: {said}"
    with pytest.raises(TrainingError, match=broken) as error:
        go(tmp_path, steps=50, checkpoint_every=1, trackers=[Told(die)])
    assert time.monotonic() - died_at[0] < 10
    last = checkpoints(tmp_path)[-1]
    assert str(last) in str(error.value)
    monkeypatch.undo()
    steps = int(last.name.partition("-")[2]) + 1
    assert go(tmp_path, steps=steps, resume=True).steps == steps


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_evaluation_that_nobody_answers_is_not_taken_for_one(tmp_path, monkeypatch):
    def dying(self):
        raise RuntimeError("no more")

    monkeypatch.setattr(Generator, "_turn", dying)
    began = time.monotonic()
    with pytest.raises(TrainingError, match="the policy server has broken down"):
        go(tmp_path, steps=1, held_out=tasks()[:2])
    assert time.monotonic() - began < 40
    assert list(read_journal(tmp_path / "metrics.jsonl")) == []


def test_a_folder_that_holds_a_training_is_not_written_over(tmp_path):
    go(tmp_path, steps=1)
    with pytest.raises(ConfigError, match="holds a training already"):
        go(tmp_path, steps=1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"algorithm": "grop"}, "no algorithm named"),
        ({"settings": {"clip": 1}}, "no GrpoSettings setting named 'clip'"),
        ({"run_dir": ""}, "run_dir is missing"),
        ({"leraning_rate": 1}, "did you mean 'learning_rate'"),
        ({"schedule": "cosin"}, "schedule"),
        ({"engine": {"worker_nm": 1}}, "did you mean 'worker_num'"),
        ({"engine": RunConfig(samples=2)}, "engine.samples cannot be set"),
        ({"warm_up": {"stepz": 1}}, "did you mean 'steps'"),
        ({"refills": 1, "algorithm": "ppo"}, "refills"),
        ({"samples": 1}, "compares the samples of a task: samples=2"),
        ({"engine": {"max_tokens": 100}}, "engine.max_tokens cannot be set"),
        ({"trackers": ["tensorbord"]}, "did you mean 'tensorboard'"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(tmp_path, settings, said):
    with pytest.raises(ConfigError, match=said):
        school(tmp_path, **settings)


def test_a_recipe_of_ones_own_is_told_by_its_name(tmp_path):
    class Own(GroupSettings):
        pass

    recipe = ALGORITHMS["grpo"]._replace(settings=Own)
    with pytest.raises(ConfigError, match=r"^Own compares the samples of a task"):
        school(tmp_path, algorithm=recipe, samples=1)
    with ExitStack() as stack:
        open_journals(stack, tmp_path, school(tmp_path, algorithm=recipe))
    assert json.loads((tmp_path / "train.json").read_text())["algorithm"] == "Own"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tasks": []}, "no tasks"),
        ({"tasks": ["q"]}, r"tasks\[0\] is a str"),
        (
            {"tasks": [Task("a", id="x"), Task("b", id="x")]},
            "two tasks have the id 'x', at 0 and 1",
        ),
        ({"reward": None}, "needs a reward"),
        ({"agent": 3}, "agent must be an Agent"),
        ({"agent": lambda model: None}, "gave what is no agent"),
        ({"policy": object()}, "policy must be a Policy"),
        ({"demonstrations": [{"messages": []}]}, "warm_up.steps is 0"),
        ({"worked_examples": [{"role": "user", "content": "q"}]}, "warm_up.steps is 0"),
    ],
)
def test_what_cannot_be_trained_with_is_refused_before_anything_starts(tmp_path, arguments, said):
    usual = {
        "agent": Answering,
        "tasks": tasks(),
        "reward": low_bytes,
        "config": school(tmp_path),
        "policy": tiny_policy(),
    }
    with pytest.raises(ConfigError, match=said):
        train(**(usual | arguments))
    assert not (tmp_path / "run.db").exists()
