"""The tools that an agent may use in one task, and what happens when it calls one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from aworld.agents.calling import agent_name, call_agent, call_function
from aworld.core.action import Observation
from aworld.core.context import TaskContext, acting_as
from aworld.core.failure import ErrorInfo
from aworld.errors import ConfigError, unknown_name
from aworld.tools.base import Tool, ToolResult, ToolSource

Approve = Callable[[str, dict[str, Any]], Any]
Used = tuple[dict[str, Any], dict[str, Any]]  # the message for the model, and the record


class Toolbox:
    def __init__(self, tools: dict[str, Tool], approve: Approve | None):
        self._tools = tools
        self._approve = approve
        self.specs = [tool.spec() for tool in tools.values()]

    @classmethod
    async def open(
        cls, items: Iterable[Tool | ToolSource], allowed: list[str], approve: Approve | None
    ) -> Toolbox:
        """`allowed` is the task's list of names: if it is not empty, only those are on offer."""
        tools: dict[str, Tool] = {}
        for item in items:
            for tool in [item] if isinstance(item, Tool) else await item.tools():
                if tool.name in tools:
                    raise ConfigError(f"two tools are called {tool.name!r}: rename one of them")
                tools[tool.name] = tool
        for name in allowed:
            if name not in tools:
                raise ConfigError(unknown_name("tool of this agent", name, tools))
        if allowed:
            tools = {name: tool for name, tool in tools.items() if name in allowed}
        return cls(tools, approve)

    async def use(self, task: TaskContext, call: dict[str, Any]) -> Used:
        """Whatever goes wrong in a tool becomes an observation: the model can do better."""
        function = call.get("function") or {}
        name, arguments = str(function.get("name")), function.get("arguments") or "{}"
        task.emit("tool_call", tool=name, arguments=arguments, id=call.get("id"))
        began = time.time()
        result = await self._result(name, arguments)
        task.emit("tool_result", tool=name, text=result.text, id=call.get("id"))
        message = {"role": "tool", "tool_call_id": call.get("id"), "content": result.text}
        record = {
            "id": call.get("id"),
            "tool": name,
            "arguments": arguments,
            "result": result.text,
            "error": None if result.error is None else result.error.kind,
            "began": began,
            "ended": time.time(),
        }
        return message, record

    async def _result(self, name: str, arguments: Any) -> ToolResult:
        tool = self._tools.get(name)
        if tool is None:
            text = unknown_name("tool", name, self._tools)
            return ToolResult(text, ErrorInfo("UnknownTool", text))
        if self._approve is not None:
            refusal = await self._refusal(tool.name, arguments)
            if refusal is not None:
                return ToolResult(refusal, ErrorInfo("NotApproved", refusal))
        return await tool.run(arguments)

    async def _refusal(self, name: str, arguments: Any) -> str | None:
        assert self._approve is not None
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            return None  # the tool itself says what is wrong with them
        verdict = await call_function(self._approve, name, given)
        if verdict is True:
            return None
        reason = f": {verdict}" if isinstance(verdict, str) else ""
        return f"the call was not approved{reason}"


def agent_as_tool(agent: Any) -> Tool:
    """Another agent can be asked like any tool; what it does is recorded under both names."""
    name = agent_name(agent)

    async def ask(input: str) -> Any:
        with acting_as(name):
            actions = await call_agent(agent, Observation(input), {})
        return actions[0].policy_info if len(actions) == 1 else [a.policy_info for a in actions]

    tool_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
    description = getattr(agent, "description", "") or f"Asks the agent {name!r}."
    return Tool(ask, name=tool_name, description=description, timeout=None)
