"""Stored trajectories are scored again, without anything being run."""

from __future__ import annotations

import asyncio

import pytest

from aworld import ConfigError, RunConfig, Runners, Task, open_run
from aworld.rescoring import rescore
from aworld.rewards import exact_match, numeric_match
from aworld.store.repair import examine, repair


async def rough(value):
    if value == 3:
        raise ValueError("three")
    return f"about {value + 0.05}"


@pytest.fixture
def folder(tmp_path):
    tasks = [Task(n, rough, id=f"t{n}", ground_truth=n) for n in range(4)]
    conf = RunConfig(worker_num=1, samples=2, reward=exact_match, run_dir=tmp_path / "run")
    Runners.sync_run_task(tasks, conf)
    return tmp_path / "run"


def rewards(folder, reward=None) -> list[float | None]:
    with open_run(folder, reward=reward) as run:
        listed = [row.reward for row in run.results()]
        assert [rollout.reward for rollout in run.rollouts()] == listed
        assert [rollout.trajectory.reward for rollout in run.rollouts()] == listed
        return listed


def test_new_scores_are_added_and_old_ones_kept_under_their_names(folder):
    assert rewards(folder) == [0.0] * 6 + [None] * 2
    result = rescore(folder, numeric_match(tolerance=0.1), name="roughly")
    assert (result.name, result.scored, result.unscored, result.errors) == ("roughly", 6, 2, [])
    assert rewards(folder) == [1.0] * 6 + [None] * 2
    assert rewards(folder, "roughly") == [1.0] * 6 + [None] * 2
    assert rewards(folder, "exact_match") == [0.0] * 6 + [None] * 2
    with open_run(folder) as run:
        assert len(list(run.rollouts("reward > 0.5"))) == 6


def test_the_same_name_again_keeps_the_earlier_scores_too(folder):
    rescore(folder, "exact_match")
    rescore(folder, lambda task, trajectory: 0.25, name="exact_match")
    assert rewards(folder) == [0.25] * 8
    assert rewards(folder, "exact_match~1") == [0.0] * 6 + [None] * 2
    with open_run(folder) as run:
        assert [scoring.name for scoring in run.scorings] == [
            "exact_match~2",
            "exact_match~1",
            "exact_match",
        ]
    with pytest.raises(ConfigError, match="no reward of this run named 'nothing'"):
        open_run(folder, reward="nothing")


def test_a_reward_that_raises_says_so_and_costs_only_its_own(folder):
    async def picky(task, trajectory):
        if task.input == 1:
            raise ValueError("not one")
        return {"reward": 0.5, "part": 0.1}

    result = rescore(folder, picky)
    assert [name for name, _ in result.errors] == ["t1#0", "t1#1"]
    with open_run(folder) as run:
        scored = run.rollout("t1", 1).scores["picky"]
        assert scored.value is None
        assert scored.error.message == "not one"
        assert run.rollout("t0").scores["picky"].parts == {"part": 0.1}


def test_it_works_inside_a_running_event_loop(folder):
    async def main():
        return rescore(folder, numeric_match)

    assert asyncio.run(main()).scored == 6


def test_scores_survive_a_repair(folder):
    rescore(folder, numeric_match(tolerance=0.1), name="roughly")
    repair(folder)
    assert examine(folder) == (8, [])
    assert rewards(folder) == [1.0] * 6 + [None] * 2


def test_progress_is_told(folder):
    told = []
    rescore(folder, exact_match, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 8) for n in range(1, 9)]
