"""Looks into agents that are made of others, before a task is run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aworld.agents.llm_agent import Agent
from aworld.agents.toolbox import AgentTool
from aworld.config import RunConfig
from aworld.core.task import Task
from aworld.errors import ConfigError, unknown_name
from aworld.tools.base import Tool


def check_agent(task: Task, conf: RunConfig) -> None:
    """Refuses what could only go wrong later, after something was spent."""
    agents = list(agents_in(task.agent))
    known = [item for agent in agents if isinstance(agent, Agent) for item in agent.tools]
    # what other frameworks' agents have, and what MCP servers offer, is not known beforehand
    if all(isinstance(a, Agent) for a in agents) and all(isinstance(i, Tool) for i in known):
        names = {item.name for item in known}
        for name in task.tools:
            if name not in names:
                raise ConfigError(unknown_name("tool of its agent", name, names))
    if conf.max_cost is not None:
        for agent in agents:
            if isinstance(agent, Agent) and agent.model.prices is None:
                raise ConfigError(f"max_cost needs to know what {agent.model!r} costs: set prices")


def check_embedded(agent: Any) -> None:
    """Refuses an embedded model that is not installed here: every task would fail by it."""
    from aworld.models.embedded import EmbeddedModel

    for one in agents_in(agent):
        if isinstance(one, Agent) and isinstance(one.model, EmbeddedModel):
            one.model.check_installed()


def agents_in(agent: Any) -> Iterator[Any]:
    """The agents that do the work: those that an agent is made of, or it itself."""
    parts = getattr(agent, "agents", None)
    if isinstance(parts, list):
        for part in parts:
            yield from agents_in(part)
        return
    yield agent
    if isinstance(agent, Agent):
        for item in agent.tools:
            if isinstance(item, AgentTool):
                yield from agents_in(item.agent)
