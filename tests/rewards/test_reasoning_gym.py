"""Rewards that come with the task: reasoning-gym's own score, and what an environment gave."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import reasoning_gym
from scene import finished, scored

from aworld.core.failure import STATUSES
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.rewards import environment_return, named, reasoning_gym_score

# their entries hold what JSON does not: dicts by number, tuples, no single right answer
AWKWARD = ["rearc", "graph_color", "propositional_logic", "countdown", "chain_sum"]


def puzzle(name: str, index: int = 0, **config: Any) -> tuple[Any, dict[str, Any]]:
    config = {"seed": 3, "size": 4, **config}
    entry = reasoning_gym.create_dataset(name, **config)[index]
    metadata = {"reasoning_gym": {"dataset": name, "index": index, "config": config}}
    return entry, json.loads(json.dumps(metadata))


def score_of(name: str, answer: Any, **given: Any) -> float | None:
    entry, metadata = puzzle(name)
    return reasoning_gym_score(*finished(answer, entry["answer"], metadata=metadata, **given))


def answers(entry: dict[str, Any]) -> Iterator[str | None]:
    yield from (entry["answer"], "no idea", "", None)


@pytest.mark.parametrize("name", AWKWARD)
def test_the_score_is_that_of_the_package_also_for_a_stored_task(name):
    entry, _ = puzzle(name)
    dataset = reasoning_gym.create_dataset(name, seed=3, size=4)
    for answer in answers(entry):
        assert score_of(name, answer) == dataset.score_answer(answer, entry)


@pytest.mark.parametrize(
    "text",
    ["<answer>{}</answer>", "First <answer>1</answer>, no: <answer> {}\n</answer>.", " {}\n"],
)
def test_the_answer_may_stand_in_its_tags(text):
    entry, _ = puzzle("chain_sum")
    assert score_of("chain_sum", text.format(entry["answer"])) == 1.0


@pytest.mark.parametrize("status", STATUSES)
def test_a_rollout_without_an_answer_is_not_known_rather_than_wrong(status):
    known = score_of("chain_sum", None, status=status)
    assert known == (0.0 if status == "success" else None)


def test_only_its_own_puzzles_are_scored():
    result = scored(named("reasoning_gym"), "1", "1")
    assert result.error is not None
    assert "load_tasks('rg:...')" in result.error.message
    _, metadata = puzzle("chain_sum")
    result = scored(named("reasoning_gym"), "1", "not its answer", metadata=metadata)
    assert result.error is not None
    assert "another version" in result.error.message


def test_what_an_environment_gave_is_the_reward():
    reward = named("environment_return")
    assert reward is environment_return
    assert scored(reward, {"reward": -3.5, "turns": 4}).value == -3.5
    assert scored(reward, {"reward": 2}, status="truncated").value == 2.0
    assert scored(reward, None, status="failed").value is None
    other = scored(reward, "an answer")
    assert other.error is not None
    assert "what a Player answers" in other.error.message


def test_the_rewards_take_a_task_and_a_trajectory_alone():
    with pytest.raises(ValueError, match="load_tasks"):
        reasoning_gym_score(Task("?"), Trajectory("t", "a"))


def test_threads_that_score_while_the_package_is_imported_know_all_datasets():
    program = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from aworld.rewards.reasoning_gym import puzzle_dataset\n"
        "with ThreadPoolExecutor(16) as pool:\n"
        "    found = [pool.submit(puzzle_dataset, 'chain_sum', {'size': 1}) for _ in range(64)]\n"
        "print(sum(one.exception() is None for one in found))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "64", done.stderr
