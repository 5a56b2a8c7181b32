"""A recorded rollout as plain data, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aworld.core.plain import plain
from aworld.store.records import Rollout


def as_data(rollout: Rollout) -> dict[str, Any]:
    """All that was recorded."""
    response, task = rollout.response, rollout.task
    error, trajectory = response.error, response.trajectory
    return {
        "task": {
            "id": task.id,
            "input": plain(task.input),
            "ground_truth": plain(task.ground_truth),
            "tools": task.tools,
            "metadata": plain(task.metadata),
        },
        "sample": rollout.sample,
        "status": response.status,
        "answer": plain(response.answer),
        "error": None if error is None else asdict(error),
        "reward": rollout.reward,
        "scores": {name: plain(asdict(one)) for name, one in rollout.scores.items()},
        "seconds": response.time_cost,
        "usage": plain(response.usage),
        "trajectory": None if trajectory is None else trajectory.to_dict(),
    }
