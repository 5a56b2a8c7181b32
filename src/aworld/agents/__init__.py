"""Who does the work in a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.agents.echo import EchoAgent
    from aworld.agents.llm_agent import Agent
    from aworld.agents.parallel_agent import ParallelizableAgent, SerialAgent

# Imported when first asked for: an agent that is a function needs none of them.
_HOMES = {
    "Agent": "aworld.agents.llm_agent",
    "EchoAgent": "aworld.agents.echo",
    "ParallelizableAgent": "aworld.agents.parallel_agent",
    "SerialAgent": "aworld.agents.parallel_agent",
}

__all__ = ["Agent", "EchoAgent", "ParallelizableAgent", "SerialAgent"]


__getattr__ = imported_on_demand(__name__, _HOMES)
