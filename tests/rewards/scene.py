"""A task and what came of it, in one line."""

from __future__ import annotations

import asyncio
from typing import Any

from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.rewards import Scored, score


def finished(answer: Any, truth: Any = None, *, status: Any = "success", **given: Any) -> Any:
    task = Task("the question", id="t", ground_truth=truth, metadata=given.pop("metadata", None))
    success = status == "success"
    trajectory = Trajectory(
        "t", "agent", final_result=answer, success=success, status=status, **given
    )
    return task, trajectory


def scored(reward: Any, answer: Any, truth: Any = None, **given: Any) -> Scored:
    return asyncio.run(score(reward, *finished(answer, truth, **given)))
