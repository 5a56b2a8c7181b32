"""Runs one task inside a worker. It never raises."""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Protocol

from aworld.agents.calling import agent_name, call_agent
from aworld.core.action import ActionModel, Observation
from aworld.core.failure import ErrorInfo, Status, describe_error
from aworld.core.task import TaskResponse
from aworld.core.trajectory import Trajectory


class Assignment(NamedTuple):
    """A task as it travels: without its agent, which travels once per worker."""

    task_id: str
    input: Any
    tools: list[str]
    metadata: dict[str, Any]
    previous_answer: tuple[Any, ...] = ()  # empty for the first task of a sequence


class Report(NamedTuple):
    """A response as it travels: what is in it twice, or known to the driver, stays behind."""

    answer: Any
    status: Status
    error: ErrorInfo | None
    seconds: float
    attempt: int
    agent_id: str
    steps: list[dict[str, Any]]
    metadata: dict[str, Any]

    def response(self, task_id: str) -> TaskResponse:
        answer, status, error, seconds, attempt, agent_id, steps, metadata = self
        success = status == "success"
        trajectory = Trajectory(
            task_id, agent_id, steps, answer, success, None, 0, seconds, status, metadata
        )
        return TaskResponse(task_id, answer, status, error, seconds, {}, trajectory, attempt)


class Call(Protocol):
    """What a rollout needs to know of the engine's call."""

    attempt: int

    @property
    def seed(self) -> int: ...
    def fresh(self) -> Any:
        """A new copy of the agent."""


async def rollout(fields: tuple[Any, ...], call: Call) -> tuple[Any, ...]:
    """Takes the fields of an Assignment, gives those of a Report."""
    assignment = Assignment._make(fields)
    answer = error = None
    status: Status = "success"
    agent_id = ""
    steps: list[dict[str, Any]] = []
    metadata: dict[str, Any] = {"attempt": call.attempt}
    begin = time.perf_counter()
    try:
        metadata["seed"] = call.seed
        agent = call.fresh()
        agent_id = agent_name(agent)
        observation = _observation(assignment, metadata)
        answer = _answer(await call_agent(agent, observation, observation.info))
        content = observation.content
        steps.append({"step": 0, "observation": content, "action": answer, "reward": None})
    except BaseException as raised:  # cancelled at its timeout, too: the engine knows, and says so
        status, error = "failed", describe_error(raised)
    seconds = time.perf_counter() - begin
    return (answer, status, error, seconds, call.attempt, agent_id, steps, metadata)


rollout.result_parts = Report._fields  # type: ignore[attr-defined]


def _observation(assignment: Assignment, metadata: dict[str, Any]) -> Observation:
    info: dict[str, Any] = {
        "task_id": assignment.task_id,
        "tools": assignment.tools,
        "metadata": assignment.metadata,
        **metadata,
    }
    content = assignment.input
    if assignment.previous_answer:
        info["previous_answer"] = assignment.previous_answer[0]
        content = info["previous_answer"] if content is None else content
    return Observation(content, info)


def _answer(actions: list[ActionModel]) -> Any:
    for action in actions:
        if action.tool_name is not None:
            raise LookupError(f"the agent asked for tool {action.tool_name!r}: it has none")
    if len(actions) == 1:
        return actions[0].policy_info
    return [action.policy_info for action in actions]
