"""Runs one task inside a worker. It never raises."""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Protocol

from aworld.agents.calling import agent_name, call_agent
from aworld.core.action import ActionModel, Observation
from aworld.core.failure import describe_error
from aworld.core.task import TaskResponse
from aworld.core.trajectory import Trajectory


class Assignment(NamedTuple):
    """A task as it travels: without its agent, which travels once per worker."""

    task_id: str
    input: Any
    tools: list[str]
    metadata: dict[str, Any]
    previous_answer: tuple[Any, ...] = ()  # empty for the first task of a sequence


class Call(Protocol):
    """What a rollout needs to know of the engine's call."""

    attempt: int

    @property
    def seed(self) -> int: ...
    def fresh(self) -> Any:
        """A new copy of the agent."""


async def rollout(fields: tuple[Any, ...], call: Call) -> TaskResponse:
    """`fields` make an Assignment."""
    assignment = Assignment._make(fields)
    trajectory = Trajectory(assignment.task_id, agent_id="")
    response = TaskResponse(assignment.task_id, trajectory=trajectory, attempts=call.attempt)
    begin = time.perf_counter()
    try:
        await _run(assignment, call, response, trajectory)
    except BaseException as raised:  # cancelled at its timeout, too: the engine knows, and says so
        response.status, response.error = "failed", describe_error(raised)
    response.time_cost = trajectory.execution_time = time.perf_counter() - begin
    trajectory.status, trajectory.success = response.status, response.success
    return response


async def _run(
    assignment: Assignment, call: Call, response: TaskResponse, trajectory: Trajectory
) -> None:
    seed = call.seed
    trajectory.metadata = {"seed": seed, "attempt": call.attempt}
    info: dict[str, Any] = {
        "task_id": assignment.task_id,
        "tools": assignment.tools,
        "metadata": assignment.metadata,
        "attempt": call.attempt,
        "seed": seed,
    }
    content = assignment.input
    if assignment.previous_answer:
        info["previous_answer"] = assignment.previous_answer[0]
        content = info["previous_answer"] if content is None else content
    agent = call.fresh()
    trajectory.agent_id = agent_name(agent)
    answer = _answer(await call_agent(agent, Observation(content, info), info))
    step = {"step": 0, "observation": content, "action": answer, "reward": None}
    trajectory.steps.append(step)
    response.answer = trajectory.final_result = answer


def _answer(actions: list[ActionModel]) -> Any:
    for action in actions:
        if action.tool_name is not None:
            raise LookupError(f"the agent asked for tool {action.tool_name!r}: it has none")
    if len(actions) == 1:
        return actions[0].policy_info
    return [action.policy_info for action in actions]
