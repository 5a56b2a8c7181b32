"""What the pipeline and ParallelTaskExecutor are given: model, tasks, agent, reward, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from aworld.agents.llm_agent import Agent
from aworld.agents.playing import Player
from aworld.config import RunConfig
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.policies.opening import open_policy
from aworld.rewards.base import Reward
from aworld.rewards.catalog import the_reward
from aworld.train.binding import in_environment
from aworld.train.task_call import right_or_done
from aworld.train.tasks import listed_tasks, to_be_trained

TaskSource = Iterable[Task] | str | Path | Callable[[], Any]


def opened_policy(model: Any) -> Policy:
    if isinstance(model, Policy):
        return model
    if not isinstance(model, str | Path):
        raise ConfigError(
            f"agent_model must be a Policy, or what open_policy takes, got {model!r:.80}"
        )
    return open_policy(model)


def checked_reward(reward: Any) -> Reward:
    return RunConfig(reward=right_or_done if reward is None else the_reward(reward)).reward


def checked_tools(tools: Any, agent: Any) -> list[Any]:
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise ConfigError(f"tools must be a list, got {tools!r:.80}")
    found = list(tools)
    if found and agent is not None:
        raise ConfigError("the agent has tools of its own: leave out tools, or the agent")
    return found


def tasks_from(source: Any) -> list[Task]:
    """source: tasks, what `load_tasks` takes, or a function that gives either."""
    return listed_tasks(source() if callable(source) else source)


def agent_of(tasks: list[Task], agent: Any, tools: list[Any]) -> Any:
    """The one that was given, in the tasks' environment if they have one; that of the tasks, or one
    that has these tools."""
    own = {id(task.agent): task.agent for task in tasks}
    if agent is not None:
        if len(own) > 1 and any(isinstance(one, Player) for one in own.values()):
            raise ConfigError("the tasks have different environments: train on one of them")
        return in_environment(agent, next(iter(own.values())))
    if len(own) > 1:
        raise ConfigError("the tasks have different agents: say with agent=... which one is meant")
    (found,) = own.values()
    if isinstance(found, Player) and found.agents[0] is to_be_trained:
        return in_environment(lambda model: Agent(model=model, tools=tools), found)
    if found is None:
        return lambda model: Agent(model=model, tools=tools)
    if tools:
        raise ConfigError("the tasks have an agent with tools of its own: leave out tools")
    return found
