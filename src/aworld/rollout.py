"""Runs one task inside a worker. It never raises."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from aworld.agents.calling import agent_name, call_agent
from aworld.core.action import ActionModel, Observation
from aworld.core.failure import ErrorInfo, describe_error
from aworld.core.task import Status, TaskResponse
from aworld.core.trajectory import Trajectory


class Assignment(NamedTuple):
    """A task as it travels: without its agent, which travels once per worker."""

    task_id: str
    input: Any
    tools: list[str]
    ground_truth: Any
    metadata: dict[str, Any]
    previous_answer: tuple[Any, ...] = ()  # empty for the first task of a sequence


async def rollout(fields: tuple[Any, ...], call: Any) -> TaskResponse:
    """`fields` make an Assignment; `call` has the attempt, its seed and a copy of the agent."""
    assignment = Assignment._make(fields)
    seed = call.seed
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
    begin = time.perf_counter()
    steps: list[dict[str, Any]] = []
    agent, answer, error = None, None, None
    status: Status = "success"
    try:
        agent = call.fresh()
        actions = await call_agent(agent, Observation(content, info), info)
        answer = _answer(actions)
        steps.append({"step": 0, "observation": content, "action": answer, "reward": None})
    except BaseException as raised:  # cancelled at its timeout, too: the engine knows, and says so
        status, error = "failed", describe_error(raised)
    return _response(assignment, call, agent, answer, status, error, steps, begin)


def _answer(actions: list[ActionModel]) -> Any:
    for action in actions:
        if action.tool_name is not None:
            raise LookupError(f"the agent asked for tool {action.tool_name!r}: it has none")
    if len(actions) == 1:
        return actions[0].policy_info
    return [action.policy_info for action in actions]


def _response(
    assignment: Assignment,
    call: Any,
    agent: Any,
    answer: Any,
    status: Status,
    error: ErrorInfo | None,
    steps: list[dict[str, Any]],
    begin: float,
) -> TaskResponse:
    seconds = time.perf_counter() - begin
    trajectory = Trajectory(
        task_id=assignment.task_id,
        agent_id=agent_name(agent),
        steps=steps,
        final_result=answer,
        success=status == "success",
        execution_time=seconds,
        status=status,
        metadata={"seed": call.seed, "attempt": call.attempt},
    )
    return TaskResponse(
        id=assignment.task_id,
        answer=answer,
        status=status,
        error=error,
        time_cost=seconds,
        trajectory=trajectory,
        attempts=call.attempt,
    )
