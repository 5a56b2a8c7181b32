"""Calls an agent, whatever shape it has.

An agent is anything with `async_policy(observation, info)` or `policy(observation, info)` that
gives a list of ActionModel, or a plain or async function of the task's input.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any

from aworld.core.action import ActionModel, Observation
from aworld.errors import ConfigError
from aworld.tools.limits import is_async

SHAPES = (
    "an agent has async_policy(observation, info) or policy(observation, info), "
    "or is a function of the task's input"
)


def why_no_agent(agent: Any) -> str | None:
    """What is wrong with `agent`, or None if it can be called."""
    if agent is None:
        return f"has no agent: {SHAPES}"
    if isinstance(agent, type):
        return f"has the class {agent.__name__} as its agent: give an instance of it"
    if policy_of(agent) is None and not callable(agent):
        return f"has a {type(agent).__name__} as its agent: {SHAPES}"
    return None


def policy_of(agent: Any) -> Callable[..., Any] | None:
    """The agent's method that decides what to do, if it has one."""
    for name in ("async_policy", "policy"):
        policy = _attribute(agent, name)
        if callable(policy):
            return policy
    return None


def agent_name(agent: Any) -> str:
    for attribute in ("name", "__name__"):
        name = _attribute(agent, attribute)
        if isinstance(name, str) and name:
            return name
    return type(agent).__name__


def check_agent_name(name: object) -> None:
    if not isinstance(name, str) or not name or "/" in name:
        raise ConfigError(f"an agent's name must be a str without a /, got {name!r}")


def _attribute(agent: Any, name: str) -> Any:
    try:
        return getattr(agent, name, None)
    except Exception:  # a property that raises: as good as none
        return None


async def call_agent(
    agent: Any, observation: Observation, info: dict[str, Any]
) -> list[ActionModel]:
    """What the agent does about the observation."""
    policy = policy_of(agent)
    if policy is None:
        result = await call_function(agent, observation.content)
        is_action = isinstance(result, ActionModel)
        return [result] if is_action else [ActionModel(policy_info=result)]
    actions = await call_function(policy, observation, info)
    if isinstance(actions, ActionModel):
        return [actions]
    if isinstance(actions, list) and all(isinstance(a, ActionModel) for a in actions):
        return actions
    name = getattr(policy, "__qualname__", "policy")
    raise TypeError(f"{name} must return a list of ActionModel, got {type(actions).__name__}")


async def call_function(function: Callable[..., Any], *args: Any) -> Any:
    """Awaits an async function; runs any other in a thread."""
    if is_async(function):
        return await function(*args)
    result = await in_thread(function, *args)
    return await result if inspect.isawaitable(result) else result


async def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Runs a function in a thread of its own, and returns only when it has really ended.

    Its own thread, so that thread-locals do not leak from task to task. Cancelling does not give it
    up: what still runs is not reported as stopped.
    """
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[None] = loop.create_future()
    context = contextvars.copy_context()
    result: list[Any] = []
    raised: list[BaseException] = []

    def body() -> None:
        try:
            result.append(context.run(function, *args))
        except BaseException as error:
            raised.append(error)
        try:
            loop.call_soon_threadsafe(finished.set_result, None)
        except RuntimeError:  # the loop has closed: nobody waits any more
            pass

    threading.Thread(target=body, name="aworld-task", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not finished.done():
        try:
            await asyncio.shield(finished)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    if raised:
        raise raised[0]
    return result[0]
