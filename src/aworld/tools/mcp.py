"""The tools of an MCP server: a program that speaks over stdin and stdout, or a URL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aworld.config import check_seconds
from aworld.core.secret import bare_url
from aworld.errors import ConfigError, ToolError, unknown_name
from aworld.tools.base import Tool, as_tool_name
from aworld.tools.mcp_connection import connected, disconnect
from aworld.tools.schema import without_titles

RUNNERS = ("python", "node", "npx", "uv", "bun", "deno", "docker")


@dataclass(frozen=True, kw_only=True, eq=False)
class McpServer:
    """A source of tools for agents. It is only a description: it connects where a task runs.

    command           starts the server, as a list: ['npx', '-y', 'some-server']
    env, cwd          for that program; of our own environment it is given HOME, PATH, USER and such
    url, headers      of a server that runs already, over streamable HTTP
    name              how messages call it
    allow             the names of the tools on offer; None: all that the server has
    timeout           seconds for one call of a tool
    connect_timeout   seconds to start and to say what there is
    max_chars         longer results are cut in the middle
    """

    command: Iterable[str] | None = None
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # secrets are kept in these
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | Path | None = None
    name: str = ""
    allow: Iterable[str] | None = None
    timeout: float | None = 30.0
    connect_timeout: float = 30.0
    max_chars: int = 20_000

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ConfigError("an McpServer needs either a command or a url")
        if isinstance(self.command, str):
            raise ConfigError(f"command must be a list, such as {self.command.split()!r}")
        if isinstance(self.allow, str):
            raise ConfigError(f"allow must be a list of names, such as [{self.allow!r}]")
        if self.url is None and self.headers:
            raise ConfigError("headers are for a url; a command takes env")
        if self.command is None and (self.env or self.cwd):
            raise ConfigError("env and cwd are for a command; a url takes headers")
        if self.url is not None and urlsplit(self.url).scheme not in ("http", "https"):
            raise ConfigError("url must start with http:// or https://")
        check_seconds("timeout", self.timeout, or_none=True)
        check_seconds("connect_timeout", self.connect_timeout)
        command = None if self.command is None else tuple(str(part) for part in self.command)
        if command == ():
            raise ConfigError("command must name a program")
        if find_spec("mcp") is None:
            raise ConfigError("MCP servers need: pip install 'aworld[mcp]'")
        for attribute, value in {
            "command": command,
            "allow": None if self.allow is None else tuple(self.allow),
            "env": dict(self.env),
            "headers": dict(self.headers),
            "name": self.name or _name_of(command, self.url),
        }.items():
            object.__setattr__(self, attribute, value)

    def __repr__(self) -> str:
        # A URL can hold a key, too: in its query, or before an @.
        what = f"command={self.command!r}" if self.command else f"url={bare_url(self.url or '')!r}"
        return f"McpServer({what}, name={self.name!r})"

    async def tools(self) -> list[Tool]:
        """Connects if need be. ToolError says why there are none."""
        connection = await connected(self)
        offered = {offer.name: offer for offer in await connection.offers()}
        wanted = offered if self.allow is None else self.allow
        for name in wanted:
            if name not in offered:
                raise ConfigError(unknown_name(f"tool of {self.name!r}", name, offered))
        return [
            Tool(
                RemoteTool(self, name),
                name=as_tool_name(name),
                description=offered[name].description or "",
                parameters=without_titles(offered[name].input_schema),
                timeout=self.timeout,
                max_chars=self.max_chars,
            )
            for name in wanted
        ]

    async def close(self) -> None:
        """Ends this process's connection, if there is one; the next call makes a new one."""
        await disconnect(self)


@dataclass(frozen=True, eq=False)
class RemoteTool:
    """Calls one tool of a server. The server itself checks the arguments."""

    server: McpServer
    name: str

    async def __call__(self, /, **arguments: Any) -> Any:
        connection = await connected(self.server)
        result = await connection.call(self.name, arguments)
        text = "\n".join(_shown(block) for block in result.content)
        if result.is_error:
            raise ToolError(text or "the tool failed, and did not say why")
        return text if result.content else result.structured_content


def _shown(block: Any) -> str:
    match block.type:
        case "text":
            return block.text
        case "resource" if hasattr(block.resource, "text"):
            return block.resource.text
        case "resource":
            return f"(binary data: {block.resource.uri})"
        case "resource_link":
            return f"(see {block.uri})"
    return f"({block.type}, {block.mime_type}, {len(block.data) * 3 // 4} bytes)"


def _name_of(command: tuple[str, ...] | None, url: str | None) -> str:
    if command is None:
        return urlsplit(url or "").hostname or "mcp"
    program = Path(command[0]).stem
    scripts = [part for part in command[1:] if not part.startswith("-")]
    if scripts and program.startswith(RUNNERS):  # `python server.py` is called server
        return Path(scripts[0]).stem
    return program
