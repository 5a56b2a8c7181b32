"""Scores the answer to a puzzle of reasoning-gym as that package itself does."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import lru_cache
from typing import Any

from aworld.core.failure import first_line
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError, unknown_name
from aworld.rewards.base import has_answer, text_of


def reasoning_gym_score(task: Task, trajectory: Trajectory) -> float | None:
    """From 0 to 1, None where there is no answer. What stands in the last <answer>...</answer>, or
    else the whole text, is the answer."""
    puzzle = task.metadata.get("reasoning_gym")
    if not isinstance(puzzle, dict):
        raise ValueError("reasoning_gym scores the tasks of load_tasks('rg:...'), and no others")
    if not has_answer(trajectory):
        return None
    config = json.dumps(puzzle["config"], sort_keys=True)
    dataset, entry = _entry(puzzle["dataset"], config, puzzle["index"])
    if entry["answer"] != task.ground_truth:
        raise ValueError("the puzzle was made by another version of reasoning-gym: make it again")
    return float(dataset.score_answer(_answer(trajectory.final_result), deepcopy(entry)))


def puzzle_dataset(name: str, config: dict[str, Any]) -> Any:
    """A dataset of reasoning-gym: the same puzzles for the same config."""
    try:
        import reasoning_gym  # noqa: F401  all of it: until then another thread sees few datasets
        from reasoning_gym.factory import DATASETS, create_dataset
    except ImportError:
        raise ConfigError("puzzles of reasoning-gym need: pip install 'aworld[gym]'") from None
    from dataclasses import fields

    if name not in DATASETS:
        raise ConfigError(unknown_name("dataset of reasoning-gym", name, DATASETS))
    known = [field.name for field in fields(DATASETS[name][1])]
    for key in config:
        if key not in known:
            raise ConfigError(f"{name}: {unknown_name('setting', key, known)}")
    try:
        return create_dataset(name, **config)
    except (AssertionError, ValueError, TypeError) as error:
        raise ConfigError(f"{name}: not a config of it: {first_line(error)}") from error


# Made again rather than carried along: not all that is in an entry survives being stored as JSON.
@lru_cache(maxsize=1024)
def _entry(name: str, config: str, index: int) -> tuple[Any, dict[str, Any]]:
    dataset = _dataset(name, config)
    return dataset, dataset[index]


@lru_cache(maxsize=64)
def _dataset(name: str, config: str) -> Any:
    return puzzle_dataset(name, json.loads(config))


def _answer(given: Any) -> str | None:
    from reasoning_gym.utils import extract_answer

    if given is None:
        return None
    text = text_of(given)
    marked = extract_answer(text)
    return text.strip() if marked is None else marked
