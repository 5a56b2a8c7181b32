"""Runs an agent under its name, so that what it does is recorded as its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from aworld.agents.calling import agent_name, call_agent
from aworld.core.action import ActionModel, Observation
from aworld.core.context import acting_agent, acting_as, agent_path, is_within, task_at_hand
from aworld.core.failure import describe_error

Result = TypeVar("Result")


async def run_agent(agent: Any, observation: Observation, info: dict[str, Any]) -> Any:
    """The agent's answer. An agent that records no steps itself gets one for the whole.

    So does one inside another that fails: it would otherwise leave no mark.
    """
    is_inner = bool(acting_agent())
    with task_at_hand() as task, acting_as(agent_name(agent)):
        before = len(task.steps)
        content = observation.content
        try:
            answer = _answer(await call_agent(agent, observation, info))
        except (Exception, SystemExit) as error:
            if is_inner or not _has_steps(task.steps, before):
                kind = describe_error(error).kind
                task.record({"observation": content, "action": None, "error": kind})
            if is_inner and isinstance(error, SystemExit):  # it would end the event loop
                raise RuntimeError(f"the agent called exit({error})") from error
            raise
        if not _has_steps(task.steps, before):
            task.record({"observation": content, "action": answer})
        return answer


def _has_steps(steps: list[dict[str, Any]], before: int) -> bool:
    if len(steps) == before:
        return False
    me = agent_path()
    return any(is_within(step["agent"], me) for step in steps[before:])


def _answer(actions: list[ActionModel]) -> Any:
    for action in actions:
        if action.tool_name is not None:
            raise LookupError(f"the agent asked for tool {action.tool_name!r}: it has none")
    if len(actions) == 1:
        return actions[0].policy_info
    return [action.policy_info for action in actions]


async def run_together(
    work: Iterable[Coroutine[Any, Any, Result]], *, at_once: int | None = None
) -> list[Result]:
    """All at once, or so many. When one raises, the others are stopped; it is raised as it is."""
    room = asyncio.Semaphore(at_once) if at_once else None
    tasks = [asyncio.ensure_future(_in_turn(part, room)) for part in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _in_turn(part: Coroutine[Any, Any, Result], room: asyncio.Semaphore | None) -> Result:
    try:
        if room is None:
            return await part
        async with room:
            return await part
    finally:
        part.close()  # it may never have had its turn
