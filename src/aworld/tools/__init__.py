"""What an agent can do: typed functions, code in a sandbox, HTTP, and the tools of MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.errors import ToolError
    from aworld.tools.arithmetic import calculator
    from aworld.tools.base import Tool, ToolResult, ToolSource, as_tools, tool
    from aworld.tools.code import bash, bash_tool, python, python_tool
    from aworld.tools.http import http_get
    from aworld.tools.mcp import McpServer

# Imported when first asked for: an agent without tools needs none of them.
_HOMES = {
    "McpServer": "aworld.tools.mcp",
    "Tool": "aworld.tools.base",
    "ToolError": "aworld.errors",
    "ToolResult": "aworld.tools.base",
    "ToolSource": "aworld.tools.base",
    "as_tools": "aworld.tools.base",
    "bash": "aworld.tools.code",
    "bash_tool": "aworld.tools.code",
    "calculator": "aworld.tools.arithmetic",
    "http_get": "aworld.tools.http",
    "python": "aworld.tools.code",
    "python_tool": "aworld.tools.code",
    "tool": "aworld.tools.base",
}

__all__ = [
    "McpServer",
    "Tool",
    "ToolError",
    "ToolResult",
    "ToolSource",
    "as_tools",
    "bash",
    "bash_tool",
    "calculator",
    "http_get",
    "python",
    "python_tool",
    "tool",
]


__getattr__ = imported_on_demand(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
