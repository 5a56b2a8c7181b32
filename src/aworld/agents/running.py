"""Runs an agent under its name, so that what it does is recorded as its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from aworld.agents.calling import agent_name, call_agent
from aworld.core.action import ActionModel, Observation
from aworld.core.context import acting_as, agent_path, current_task
from aworld.core.failure import describe_error

Result = TypeVar("Result")


async def run_agent(agent: Any, observation: Observation, info: dict[str, Any]) -> Any:
    """The agent's answer. An agent that records no steps itself gets one for the whole."""
    with acting_as(agent_name(agent)):
        try:
            answer = _answer(await call_agent(agent, observation, info))
        except Exception as error:
            kind = describe_error(error).kind
            _record_the_whole({"observation": observation.content, "action": None, "error": kind})
            raise
        _record_the_whole({"observation": observation.content, "action": answer})
        return answer


def _record_the_whole(step: dict[str, Any]) -> None:
    task, me = current_task(), agent_path()
    if not any(f"{step['agent']}/".startswith(f"{me}/") for step in task.steps):
        task.record(step)


def _answer(actions: list[ActionModel]) -> Any:
    for action in actions:
        if action.tool_name is not None:
            raise LookupError(f"the agent asked for tool {action.tool_name!r}: it has none")
    if len(actions) == 1:
        return actions[0].policy_info
    return [action.policy_info for action in actions]


async def run_together(work: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """All at once; when one raises, the others are stopped and it is raised as it is."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
