"""An agent that plays: it sees each observation, each action counts, each reward is recorded."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from typing import Any

import gymnasium
import pytest
from agent_scenes import QUICK, run
from gymnasium import spaces

from aworld import Agent, ConfigError, ParallelizableAgent, RunConfig, Runners, Task, tool
from aworld.agents.actions import as_text, how_to_act, read_action
from aworld.agents.checking import agents_in
from aworld.agents.playing import Player
from aworld.core.action import Observation
from aworld.core.context import TaskContext, in_task
from aworld.models.scripted import ScriptedModel, call


class Corridor(gymnasium.Env[str, int]):
    """From place 0 to the door at 3; each step costs a little. It is used from one thread only."""

    def __init__(self, length: int = 3, fails_at: int | None = None, slow: float = 0.0):
        self.observation_space = spaces.Text(100)
        self.action_space = spaces.Discrete(2)
        self.length = length
        self.fails_at = fails_at
        self.slow = slow
        self.thread = threading.get_ident()
        LOG.append("made")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._same_thread()
        super().reset(seed=seed)
        self.place = (options or {}).get("start", 0)
        return f"You are at {self.place}, seed {seed}.", {}

    def step(self, action: int) -> Any:
        self._same_thread()
        time.sleep(self.slow)
        self.place += 1 if action else -1
        if self.place == self.fails_at:
            raise StopIteration("the floor gave way")
        there = self.place >= self.length
        return f"You are at {self.place}.", 1.0 if there else -0.25, there, self.place < -1, {}

    def close(self) -> None:
        self._same_thread()
        LOG.append("closed")

    def _same_thread(self) -> None:
        assert threading.get_ident() == self.thread


LOG: list[str] = []


@pytest.fixture(autouse=True)
def fresh_log():
    LOG.clear()
    yield
    assert LOG.count("made") == LOG.count("closed")


def scripted(*lines, **options):
    return Agent("a", model=ScriptedModel(list(lines)), **options)


def forward(messages):
    return "1"


def play(player, content=None, seed=0):
    """In this process: what is left of the environment can be seen."""
    task = TaskContext("t", seed)

    async def main():
        with in_task(task):
            (action,) = await player.async_policy(Observation(content), {})
            return action.policy_info

    try:
        return asyncio.run(main()), task
    except Exception as error:
        return error, task


def test_it_plays_until_the_end_in_a_worker():
    response = run(Player(scripted("1", "go on: 1", "1"), Corridor))
    assert response.success, response.msg
    assert response.answer == {"reward": 0.5, "turns": 3, "terminated": True, "truncated": False}
    steps = response.trajectory.steps
    assert [step["agent"] for step in steps] == ["player/a"] * 3
    assert [step["reward"] for step in steps] == [-0.25, -0.25, 1.0]
    assert [step["environment"]["action"] for step in steps] == [1, 1, 1]
    assert steps[-1]["observation"] == {"role": "user", "content": "You are at 3."}
    conversation = steps[-1]["model_call"]["messages"]
    assert [message["content"] for message in conversation[1:]] == [
        "1",
        "You are at 1.",
        "go on: 1",
        "You are at 2.",
    ]
    assert conversation[0]["content"].endswith("a whole number from 0 to 1.")


def test_the_seed_is_the_tasks_or_stands_in_its_input():
    player = Player(forward, Corridor)
    for content, seed in ((None, 77), ({"seed": 5}, 5), (5, 5), ("Find the door.", 77)):
        _, task = play(player, content, seed=77)
        assert f"You are at 0, seed {seed}." in task.steps[0]["observation"][0]["content"]
    assert task.steps[0]["observation"][0]["content"].startswith("Find the door.\n\n")


def test_the_input_may_say_how_to_reset():
    answer, _ = play(Player(forward, Corridor, instruction="Go."), {"options": {"start": 2}})
    assert answer["turns"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"sead": 1}, "did you mean 'seed'"),
        ({"seed": -1}, "a seed is a whole number"),
        ([1], "an episode's input is a seed, a dict or a text"),
    ],
)
def test_an_input_that_is_none_is_said(content, message):
    error, _ = play(Player(forward, Corridor), content)
    assert message in str(error)


def test_an_invalid_action_is_told_and_counts_as_a_turn():
    answer, task = play(Player(scripted("hm", "7", "1", "1", "1"), Corridor))
    assert (answer["reward"], answer["turns"]) == (0.5, 5)
    first, second, *_ = task.steps
    assert first["observation"]["content"].startswith("That is no action: there is no whole number")
    assert second["observation"]["content"].startswith("That is no action: '7' is not one of Disc")
    assert (first["reward"], first["environment"]["action"]) == (None, None)


def test_out_of_turns_is_truncated_with_what_there_was():
    response = run(Player(scripted("1", "0", "1", "0"), Corridor, max_turns=3))
    assert response.status == "truncated"
    assert response.answer == {"reward": -0.75, "turns": 3, "terminated": False, "truncated": False}
    assert "max_turns=3" in response.msg


def test_the_environments_own_limit_ends_the_episode():
    answer, _ = play(Player(scripted("0", "0", "1"), Corridor))
    assert answer == {"reward": -0.5, "turns": 2, "terminated": False, "truncated": True}


def test_an_agent_that_is_cut_off_leaves_the_score_so_far():
    agent = scripted("1", call("nothing"), max_steps=1)
    response = run(Player(agent, Corridor))
    assert (response.status, response.answer["turns"]) == ("truncated", 1)
    assert "max_steps=1" in response.msg


@tool
def look() -> str:
    """Looks ahead."""
    return "a door"


def test_what_the_tools_said_stays_in_the_conversation():
    script = [call("look"), "1", "1", "1"]
    player = Player(Agent("a", model=ScriptedModel(script), tools=[look]), Corridor)
    answer, task = play(player)
    assert answer["turns"] == 3
    roles = [message["role"] for message in task.steps[-1]["model_call"]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert [step["reward"] for step in task.steps] == [None, -0.25, -0.25, 1.0]


def test_the_tools_and_prices_of_the_agent_are_known_beforehand():
    agent = Agent("a", model=ScriptedModel(["1"]), tools=[look])
    player = Player(agent, Corridor)
    assert list(agents_in(player)) == [agent]
    with pytest.raises(ConfigError, match="did you mean 'look'"):
        Runners.sync_run_task(Task(agent=player, tools=["lok"]), QUICK)
    with pytest.raises(ConfigError, match="set prices"):
        Runners.sync_run_task(Task(agent=player), RunConfig(worker_num=1, max_cost=1.0))


@pytest.mark.parametrize("place", [1, 2])
def test_a_broken_environment_fails_the_task_and_is_closed(place):
    error, task = play(Player(forward, Corridor, options={"fails_at": place}))
    assert "StopIteration" in repr(error)
    assert len(task.steps) == place


def test_an_environment_that_cannot_be_made_fails_the_task():
    response = run(Player(forward, Corridor, options={"width": 2}))
    assert response.status == "failed"
    assert "width" in response.msg


def test_it_is_closed_after_a_timeout_and_blocks_nobody_meanwhile():
    async def main():
        slow = Player(forward, Corridor, options={"slow": 1.0, "length": 100})
        playing = asyncio.ensure_future(slow.async_policy(Observation(), {}))
        began = time.monotonic()
        await asyncio.sleep(0.05)
        assert time.monotonic() - began < 0.9
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing

    asyncio.run(main())
    assert LOG == ["made", "closed"]


def test_players_side_by_side_keep_their_rewards_apart():
    players = [Player(scripted("1", "1", "1"), Corridor, name=name) for name in ("x", "y")]
    response = run(ParallelizableAgent("p", agents=players))
    assert {name: answer["reward"] for name, answer in response.answer.items()} == {
        "x": 0.5,
        "y": 0.5,
    }
    for name in ("x", "y"):
        steps = [s for s in response.trajectory.steps if s["agent"] == f"p/{name}/a"]
        assert [step["reward"] for step in steps] == [-0.25, -0.25, 1.0]


class Doors:
    """No class of Gymnasium's, and async."""

    async def reset(self, *, seed=None):
        await asyncio.sleep(0)
        return {"doors": ["red", "blue"]}, {}

    async def step(self, action):
        await asyncio.sleep(0)
        return ["open"], 1, action == "red", False, {}


def test_an_environment_may_be_async_and_of_any_class():
    def choose(messages):
        return " red\n" if len(messages) > 1 else "green"

    answer, task = play(Player(choose, Doors))
    assert answer == {"reward": 2.0, "turns": 2, "terminated": True, "truncated": False}
    assert task.steps[0]["observation"][0]["content"] == '{"doors": ["red", "blue"]}'


def test_how_to_parse_and_to_show_can_be_said():
    def parse(answer):
        if answer not in ("left", "right"):
            raise ValueError("say left or right")
        return int(answer == "right")

    def show(observation, environment):
        return f"{observation} The door is at {environment.length}."

    agent = scripted("up", "right", "right", "right")
    answer, task = play(Player(agent, Corridor, parse=parse, show=show))
    assert (answer["turns"], answer["reward"]) == (4, 0.5)
    first = task.steps[0]
    assert first["model_call"]["messages"][0]["content"].endswith("seed 0. The door is at 3.")
    assert first["observation"]["content"] == "That is no action: say left or right."


@pytest.mark.parametrize("name", ["Blackjack-v1", "CliffWalking-v1"])
def test_the_toy_games_of_gymnasium_are_played(name):
    player = Player(forward, gymnasium.make, options={"id": name}, max_turns=5)
    outcome, task = play(pickle.loads(pickle.dumps(player)), 3)
    result = getattr(outcome, "answer", outcome)
    assert result["turns"] == len(task.steps)
    assert sum(step["reward"] for step in task.steps) == result["reward"]


@pytest.mark.parametrize(
    ("text", "action"),
    [("2", 2), ("Not 1 but 2.", 2), ("**-1**", -1), ("1-2", 2), ("2.0", None), ("", None)],
)
def test_the_last_whole_number_is_the_action(text, action):
    space = spaces.Discrete(4, start=-1)
    if action is None:
        with pytest.raises(ValueError, match="no whole number"):
            read_action(text, space)
    else:
        assert read_action(text, space) == action


def test_actions_of_other_spaces_are_json():
    box = spaces.Box(0, 1, (2,))
    assert read_action("[0.5, 1]", box).tolist() == [0.5, 1.0]
    assert "as JSON" in how_to_act(box)
    assert read_action("[1, 0]", spaces.MultiDiscrete([2, 2])).tolist() == [1, 0]
    assert read_action('{"a": 1}', spaces.Dict(a=spaces.Discrete(2))) == {"a": 1}
    for bad in ("[2, 2]", "[0.5]", "left"):
        with pytest.raises(ValueError, match=r"is not one of|cannot be read"):
            read_action(bad, box)


def test_observations_are_shown_without_numpy():
    sample = spaces.Dict(at=spaces.Discrete(3), map=spaces.MultiBinary(2)).sample()
    sample["map"][:] = [0, 1]
    sample["at"] = sample["at"] * 0 + 2
    assert as_text(sample, None) == '{"at": 2, "map": [0, 1]}'
    assert as_text((1, True), None) == "[1, true]"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((None, Corridor), "has no agent"),
        ((forward, "Corridor"), "environment must be a function that makes one"),
        ((forward, Doors()), "environment must be a function that makes one"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_made(arguments, problem):
    with pytest.raises(ConfigError, match=problem):
        Player(*arguments)
    with pytest.raises(ConfigError, match="max_turns"):
        Player(forward, Corridor, max_turns=0)
    with pytest.raises(ConfigError, match="name"):
        Player(forward, Corridor, name="a/b")
