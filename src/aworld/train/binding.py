"""Gives an agent the model that is being trained."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from aworld.agents.calling import why_no_agent
from aworld.agents.llm_agent import Agent
from aworld.agents.playing import Player
from aworld.agents.toolbox import Toolbox
from aworld.core.secret import Secret
from aworld.errors import ConfigError
from aworld.models.base import Model
from aworld.models.openai_model import OpenAIModel

RETRIES = 4
CONNECT_SECONDS = 5.0  # the server is ours: when it cannot be reached, it is gone


@dataclass(frozen=True)
class Served:
    """Where the policy answers, and under which name."""

    name: str
    url: str
    key: str | Secret | None
    reply_tokens: int | None = None  # the longest reply
    failure: Callable[[], str] = lambda: ""  # why it does not answer any more, if it is ours

    def model(self, temperature: float) -> OpenAIModel:
        """With the ids and log-probabilities of what it samples."""
        settings: dict[str, Any] = {"temperature": float(temperature)}
        if self.reply_tokens is not None:
            settings["max_tokens"] = self.reply_tokens
        return OpenAIModel(
            self.name,
            base_url=f"{self.url}/v1",
            api_key=self.key,
            token_ids=True,
            retries=RETRIES,
            connect_seconds=CONNECT_SECONDS,
            **settings,
        )


def with_model(agent: Any, model: Model) -> Any:
    """agent: an Agent, which gets this model in the place of its own, a Player whose agent gets it,
    or a function that takes the model and gives an agent of any kind."""
    if isinstance(agent, Player):
        return in_environment(with_model(agent.agents[0], model), agent)
    if isinstance(agent, Agent):
        twin = copy.copy(agent)
        twin.model = model
        return twin
    if not callable(agent):
        raise ConfigError(
            f"agent must be an Agent, or a function of the model that gives one, got {agent!r:.80}"
        )
    made = agent(model)
    problem = why_no_agent(made)
    if problem:
        raise ConfigError(f"agent(model) gave what is no agent: it {problem}")
    return made


def in_environment(agent: Any, own: Any) -> Any:
    """Who runs a task: this agent, in the environment of the task's `own` one if that is a Player
    of it, and the agent none."""
    if not isinstance(own, Player) or isinstance(agent, Player):
        return agent
    twin = copy.copy(own)
    twin.agents = [agent]
    return twin


def tools_of(agent: Any) -> list[dict[str, Any]] | None:
    """What the model is told of its tools; None where the agent does not say."""
    if isinstance(agent, Player):
        return tools_of(agent.agents[0])
    if not isinstance(agent, Agent):
        return None
    with ThreadPoolExecutor(1) as thread:  # this one may have an event loop that runs
        opened = thread.submit(asyncio.run, Toolbox.open(agent.tools, [], None))
        return list(opened.result().specs)
