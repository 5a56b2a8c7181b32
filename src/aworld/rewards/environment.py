"""The reward that an environment itself gave."""

from __future__ import annotations

from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.rewards.base import has_answer


def environment_return(task: Task, trajectory: Trajectory) -> float | None:
    """The sum over all turns of an episode, also of one that ran out of turns."""
    if not has_answer(trajectory):
        return None
    result = trajectory.final_result
    if not isinstance(result, dict) or "reward" not in result:
        raise ValueError(f"environment_return scores what a Player answers, not {result!r:.60}")
    return float(result["reward"])
