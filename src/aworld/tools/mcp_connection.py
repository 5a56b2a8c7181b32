"""The connection to an MCP server: one per process and event loop, shared by all tasks in it."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
from contextlib import AsyncExitStack
from types import ModuleType
from typing import TYPE_CHECKING, Any

from aworld.core.failure import describe_error
from aworld.errors import ConfigError, ToolError
from aworld.tools.limits import in_own_thread

if TYPE_CHECKING:
    from aworld.tools.mcp import McpServer

Address = tuple[Any, ...]
MOST_PAGES = 100  # of a list of tools: a server that never ends it cannot hang a task

_connections: dict[asyncio.AbstractEventLoop, dict[Address, Connection]] = {}


async def connected(server: McpServer) -> Connection:
    """The connection that is there, or a new one if there is none or it has died."""
    here = _here()
    address = _address(server)
    connection = here.get(address)
    if connection is None or connection.is_lost:
        connection = here[address] = Connection(server)
    await connection.opened()
    return connection


async def disconnect(server: McpServer) -> None:
    connection = _here().pop(_address(server), None)
    if connection is not None:
        await connection.close()


class Connection:
    """One task owns it from its first to its last moment, as the client's scopes demand."""

    def __init__(self, server: McpServer):
        loop = asyncio.get_running_loop()
        self._server = server
        self._client: Any = None
        self._failed: Exception | None = None
        self._is_open: asyncio.Future[None] = loop.create_future()
        self._may_end = asyncio.Event()
        self._listing: asyncio.Task[list[Any]] | None = None
        # In a context of its own: it outlives the task that happened to come first.
        self._owner = loop.create_task(self._own(), context=contextvars.Context())

    @property
    def is_lost(self) -> bool:
        if self._owner.done() or self._may_end.is_set():
            return True
        if self._client is None:  # on its way
            return False
        # The client does not say publicly that the server has gone. Where this is not known, the
        # next call fails, and the one after it connects again.
        dispatcher = getattr(self._client.session, "_dispatcher", None)
        return bool(getattr(dispatcher, "_closed", False))

    async def opened(self) -> None:
        await asyncio.shield(self._is_open)  # others wait for it, too
        if isinstance(self._failed, ConfigError):
            raise ConfigError(*self._failed.args) from self._failed
        if self._failed is not None:
            raise ToolError(
                f"the MCP server {self._server.name!r} is not there: {_reason(self._failed)}"
            ) from self._failed

    async def offers(self) -> list[Any]:
        """What tools there are; asked once."""
        if self._listing is None:
            self._listing = asyncio.create_task(self._list(), context=contextvars.Context())
        try:
            return await asyncio.shield(self._listing)
        except Exception:  # the next one asks again
            self._listing = None
            raise

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._ask(self._client.call_tool(name, arguments))

    async def close(self) -> None:
        self._may_end.set()
        await asyncio.wait({self._owner})

    async def _list(self) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._server.connect_timeout):
                for _ in range(MOST_PAGES):
                    page = await self._ask(self._client.list_tools(cursor=cursor))
                    found += page.tools
                    cursor = page.next_cursor
                    if cursor is None:
                        break
        except TimeoutError:
            raise ToolError(
                f"the MCP server {self._server.name!r} did not list its tools in time"
            ) from None
        return found

    async def _ask(self, request: Any) -> Any:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        try:
            return await request
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                self._may_end.set()
                raise self._gone(error) from error
            raise ToolError(error.message) from error
        except (OSError, EOFError) as error:
            self._may_end.set()
            raise self._gone(error) from error

    def _gone(self, error: Exception) -> ToolError:
        return ToolError(
            f"the MCP server {self._server.name!r} has gone ({_reason(error)}); "
            f"the next call starts it again"
        )

    async def _own(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._server.connect_timeout):
                    package = await in_own_thread(_mcp)  # it takes a second to import
                    transport = await _transport(package, self._server, stack)
                    self._client = await stack.enter_async_context(package.Client(transport))
                self._is_open.set_result(None)
                await self._may_end.wait()
        except Exception as error:
            self._failed = error
        finally:
            self._may_end.set()
            if not self._is_open.done():
                self._failed = self._failed or ConnectionError("the event loop has ended")
                self._is_open.set_result(None)


def _mcp() -> ModuleType:
    try:
        import mcp
        from mcp import Client  # noqa: F401  from its version 2 on
    except ImportError as error:
        raise ConfigError("MCP servers need: pip install 'aworld[mcp]'") from error
    return mcp


async def _transport(package: Any, server: McpServer, stack: AsyncExitStack) -> Any:
    if server.url is not None:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(30.0, read=None)  # each call has its own
        client = httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout)
        await stack.enter_async_context(client)
        return streamable_http_client(server.url, http_client=client)
    program, *arguments = tuple(server.command or ())
    parameters = package.StdioServerParameters(
        command=program, args=arguments, env=dict(server.env), cwd=server.cwd
    )
    # Not sys.stderr, which need not be a file: in a notebook it is none.
    return package.stdio_client(parameters, errlog=sys.__stderr__ or subprocess.DEVNULL)


def _here() -> dict[Address, Connection]:
    for loop in [loop for loop in _connections if loop.is_closed()]:
        del _connections[loop]
    return _connections.setdefault(asyncio.get_running_loop(), {})


def _address(server: McpServer) -> Address:
    """Copies of a description share a connection: each task has a copy of its agent."""
    env, headers = sorted(server.env.items()), sorted(server.headers.items())
    return (server.command, server.url, str(server.cwd), tuple(env), tuple(headers))


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    info = describe_error(error)
    return info.message or info.kind
