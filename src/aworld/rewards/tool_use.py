"""A reward for how a task was done: whether the agent used a tool."""

from __future__ import annotations

from dataclasses import dataclass

from aworld.config import check_count
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError
from aworld.rewards.base import has_answer


@dataclass(frozen=True)
class ToolUsed:
    """See `tool_used`."""

    name: str
    at_least: int
    count_errors: bool

    def __call__(self, task: Task, trajectory: Trajectory) -> float | None:
        if not has_answer(trajectory):
            return None
        calls = [call for step in trajectory.steps for call in step.get("tool_calls") or ()]
        counted = [
            call
            for call in calls
            if call.get("tool") == self.name and (self.count_errors or call.get("error") is None)
        ]
        return float(len(counted) >= self.at_least)


def tool_used(name: str, at_least: int = 1, *, count_errors: bool = False) -> ToolUsed:
    """1.0 if the tool was called that often, by whichever agent of the task. A call that ended in
    an error does not count, unless `count_errors`."""
    if not isinstance(name, str) or not name:
        raise ConfigError(f"tool_used needs the name of a tool, got {name!r:.80}")
    check_count("at_least", at_least, least=1)
    return ToolUsed(name, at_least, count_errors)
