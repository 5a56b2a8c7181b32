"""Agents made of agents: side by side on the same input, or one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from aworld.agents.calling import agent_name, call_function, check_agent_name, why_no_agent
from aworld.agents.running import run_agent, run_together
from aworld.core.action import ActionModel, Observation
from aworld.core.failure import describe_error
from aworld.errors import AccessError, BudgetError, ConfigError

Results = dict[str, Any]
OnError = Literal["include", "raise", "drop"]


class ParallelizableAgent:
    """Runs all its agents at the same time on the same input.

    Without `aggregate_func` the answer is a dict from agent name to answer. An agent that failed is
    there with an `ErrorInfo` in place of its answer (on_error="include"), is left out ("drop"), or
    makes the whole fail ("raise").
    """

    def __init__(
        self,
        name: str = "parallel",
        *,
        agents: Iterable[Any],
        aggregate_func: Callable[[ParallelizableAgent, Results], Any] | None = None,
        on_error: OnError = "include",
    ):
        self.name = name
        self.agents = _checked(name, agents)
        if on_error not in ("include", "raise", "drop"):
            raise ConfigError(f"on_error must be 'include', 'raise' or 'drop', got {on_error!r}")
        if aggregate_func is not None and not callable(aggregate_func):
            raise ConfigError(
                f"aggregate_func must be a function of (agent, results), got {aggregate_func!r}"
            )
        self.aggregate_func = aggregate_func
        self.on_error: OnError = on_error

    async def async_policy(
        self, observation: Observation, info: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[ActionModel]:
        answers = await run_together(
            [self._answer(agent, observation, info or {}) for agent in self.agents]
        )
        results: Results = {}
        for agent, (answer, error) in zip(self.agents, answers, strict=True):
            if error is None:
                results[agent_name(agent)] = answer
            elif self.on_error == "include":
                results[agent_name(agent)] = describe_error(error)
        if self.aggregate_func is None:
            return [ActionModel(policy_info=results, agent_name=self.name)]
        action = await call_function(self.aggregate_func, self, results)
        return [action if isinstance(action, ActionModel) else ActionModel(policy_info=action)]

    async def _answer(
        self, agent: Any, observation: Observation, info: dict[str, Any]
    ) -> tuple[Any, Exception | None]:
        try:
            own = Observation(observation.content, dict(observation.info))
            return await run_agent(agent, own, dict(info)), None
        except (AccessError, BudgetError):  # not this agent's fault: it ends the task
            raise
        except Exception as error:
            if self.on_error == "raise":
                raise
            return None, error


class SerialAgent:
    """A chain: each agent works on the answer of the one before."""

    def __init__(self, name: str = "serial", *, agents: Iterable[Any]):
        self.name = name
        self.agents = _checked(name, agents)

    async def async_policy(
        self, observation: Observation, info: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[ActionModel]:
        content = observation.content
        for agent in self.agents:
            content = await run_agent(agent, Observation(content, observation.info), info or {})
        return [ActionModel(policy_info=content, agent_name=self.name)]


def _checked(name: str, agents: Iterable[Any]) -> list[Any]:
    check_agent_name(name)
    agents = list(agents)
    if not agents:
        raise ConfigError(f"{name!r} has no agents: give at least one")
    seen: set[str] = set()
    for position, agent in enumerate(agents):
        problem = why_no_agent(agent)
        if problem:
            raise ConfigError(f"{name!r}: the agent at {position} {problem}")
        if agent_name(agent) in seen:
            raise ConfigError(f"{name!r} has two agents called {agent_name(agent)!r}: rename one")
        seen.add(agent_name(agent))
    return agents
