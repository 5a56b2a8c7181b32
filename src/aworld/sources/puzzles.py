"""Makes tasks of the puzzles of reasoning-gym: 'rg:chain_sum?size=200&seed=1'."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from aworld.config import check_count
from aworld.core.task import Task
from aworld.rewards.reasoning_gym import puzzle_dataset
from aworld.sources.queries import split_query


def puzzle_tasks(spec: str, agent: Any, limit: int | None) -> list[Task]:
    """The options are those of the dataset's config. Without a seed it is 0: the same puzzles each
    time, so that a run can be resumed. Score them with the reward 'reasoning_gym'."""
    name, config = split_query(spec)
    config.setdefault("seed", 0)
    if "size" in config:
        check_count("size", config["size"], least=1)
    return list(islice(_tasks(name, config, agent), limit))


def _tasks(name: str, config: dict[str, Any], agent: Any) -> Iterator[Task]:
    dataset = puzzle_dataset(name, config)
    for index in range(len(dataset)):
        entry = dataset[index]
        puzzle = {"dataset": name, "index": index, "config": config}
        yield Task(
            entry["question"],
            agent,
            id=f"{name}-{config['seed']}-{index}",  # the same each time: runs can be compared
            ground_truth=entry["answer"],
            metadata={"dataset": name, "reasoning_gym": puzzle},
        )
