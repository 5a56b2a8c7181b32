"""An agent that answers with what it was asked: for tests, docs and first steps."""

from __future__ import annotations

import asyncio
from typing import Any

from aworld.core.action import ActionModel, Observation


class EchoAgent:
    """Answers with its input, after `delay` seconds of waiting."""

    def __init__(self, name: str = "echo", *, delay: float = 0.0):
        self.name = name
        self.delay = delay

    async def async_policy(
        self, observation: Observation, info: dict[str, Any], **kwargs: Any
    ) -> list[ActionModel]:
        if self.delay:
            await asyncio.sleep(self.delay)
        return [ActionModel(policy_info=observation.content, agent_name=self.name)]
