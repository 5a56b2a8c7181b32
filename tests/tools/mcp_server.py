"""A real MCP server for the tests: `python mcp_server.py` for stdio, with a port for HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

logging.disable(logging.CRITICAL)
server = MCPServer("tests")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def who() -> str:
    """Says which process this is, and what it was given."""
    return f"{os.getpid()} {os.environ.get('SERVER_KEY', '-')} {Path.cwd()}"


@server.tool()
def seen_variables() -> list[str]:
    """Says which environment variables it can see."""
    return sorted(os.environ)


@server.tool()
def fail() -> str:
    """Raises."""
    raise ValueError("the server's own words")


@server.tool()
def die() -> str:
    """Ends the server before it answers."""
    os._exit(1)


@server.tool(name="files.read")
def read() -> str:
    """Has a name that model servers refuse."""
    return "read"


@server.tool()
async def hang() -> str:
    """Never answers."""
    await asyncio.sleep(3600)
    return "never"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
