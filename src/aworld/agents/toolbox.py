"""The tools that an agent may use in one task, and what happens when it calls one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from aworld.agents.calling import agent_name, call_function
from aworld.agents.running import run_agent
from aworld.core.action import Observation
from aworld.core.context import TaskContext, seeds_apart
from aworld.core.failure import ErrorInfo, describe_error
from aworld.errors import ConfigError, unknown_name
from aworld.tools.base import Tool, ToolResult, ToolSource, as_tool_name, read_object
from aworld.tools.schema import BadArgumentsError

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
                    raise ConfigError(
                        f"two tools are called {tool.name!r}: rename one, or leave it out with "
                        "McpServer(allow=[...])"
                    )
                tools[tool.name] = tool
        if allowed:
            tools = {name: tool for name, tool in tools.items() if name in allowed}
        return cls(tools, approve)

    async def use(self, task: TaskContext, call: dict[str, Any], label: str) -> Used:
        """Whatever goes wrong in a tool becomes an observation: the model can do better.

        `label` tells this call from all others of the agent, whichever of them is faster.
        """
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        task.emit("tool_call", tool=name, arguments=arguments, id=call.get("id"))
        began = time.time()
        with seeds_apart(label):
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
        try:
            given = read_object(arguments, tool.parameters)
        except BadArgumentsError as fault:
            return tool.complaint(fault)
        refusal = None if self._approve is None else await self._refusal(name, given)
        if refusal is not None:
            return ToolResult(refusal, ErrorInfo("NotApproved", refusal))
        return await tool.run(given)

    async def _refusal(self, name: str, arguments: dict[str, Any]) -> str | None:
        assert self._approve is not None
        try:
            verdict = await call_function(self._approve, name, arguments)
        except Exception as error:
            verdict = describe_error(error).message
        if verdict is True:
            return None
        reason = f": {verdict}" if isinstance(verdict, str) and verdict else ""
        return f"the call was not approved{reason}"


class AgentTool(Tool):
    """Another agent, asked like any tool; what it does is recorded under both names."""

    def __init__(self, agent: Any):
        name = agent_name(agent)
        super().__init__(
            self.ask,
            name=as_tool_name(name),
            description=getattr(agent, "description", "") or f"Asks the agent {name!r}.",
            timeout=None,
        )
        self.agent = agent

    async def ask(self, input: str) -> Any:
        return await run_agent(self.agent, Observation(input), {})
