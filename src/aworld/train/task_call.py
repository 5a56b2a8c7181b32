"""One task, played as a call of an executor. Workers import it: nothing heavy is needed here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from aworld.core.context import NoLine
from aworld.core.failure import ErrorInfo
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.rewards.matching import exact_match
from aworld.rollout import Assignment, Report, rollout


def right_or_done(task: Task, trajectory: Trajectory) -> float | None:
    """1 for the right answer; where nobody says which one that is, for any."""
    if task.ground_truth is None:
        return float(trajectory.success)
    return exact_match(task, trajectory)


class OnlyCall(NoLine):
    """What a rollout asks of the engine's call."""

    attempt = 1

    def __init__(self, seed: int, crew: tuple[Any, Any]):
        self.seed = seed
        self._crew = crew

    def fresh(self) -> tuple[Any, Any]:
        return self._crew


@dataclass(frozen=True)
class TaskCall:
    """Who works and who judges. It travels once per worker, and each call has a fresh copy."""

    agent: Any
    reward: Any

    async def __call__(
        self, assignment: tuple[Any, ...], seed: int, timeout: float | None
    ) -> tuple[Any, ...]:
        """The fields of a Report; with what was done until then, where time ran out."""
        call = OnlyCall(seed, (self.agent, self.reward))
        async with asyncio.timeout(timeout) as clock:
            done = await rollout(assignment, call)  # it returns when it is cancelled
        report = Report._make(done)
        if clock.expired():
            error = ErrorInfo("TimeoutError", f"still running after {timeout:g} s")
            report = report._replace(status="timeout", error=error, answer=None, reward=None)
        return tuple(report)


def assignment_of(task: Task, sample: int, timeout: float | None) -> tuple[Any, ...]:
    """The task as it travels, to be scored."""
    scoring = (task.ground_truth, timeout)
    return tuple(
        Assignment(task.id, task.input, task.tools, task.metadata, sample=sample, scoring=scoring)
    )


def trajectory_of_report(task: Task, fields: tuple[Any, ...]) -> Trajectory:
    """With the error in its metadata, where there was one."""
    report = Report._make(fields)
    if report.error is not None:
        report.metadata["error"] = {"kind": report.error.kind, "message": report.error.message}
    trajectory = report.response(task.id).trajectory
    assert trajectory is not None
    return trajectory
