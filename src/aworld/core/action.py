"""What an agent sees and what it does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Observation:
    """What an agent is shown: the content, and facts about the task in `info`."""

    content: Any = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ActionModel:
    """One thing that an agent does: `policy_info` alone is an answer, `tool_name` a tool call."""

    tool_name: str | None = None
    action_name: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    agent_name: str | None = None
    policy_info: Any = None
