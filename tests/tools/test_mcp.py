"""Tools of real MCP servers: a program of ours over stdio, and over HTTP on this machine."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from aworld.errors import ConfigError
from aworld.tools import McpServer, Tool, ToolError, as_tools
from aworld.tools.mcp_connection import connected

SERVER = str(Path(__file__).parent / "mcp_server.py")
NAMES = ["add", "who", "seen_variables", "fail", "die", "files_read", "hang"]


def stdio(**settings: Any) -> McpServer:
    return McpServer(command=[sys.executable, SERVER], **settings)


def with_tools(server: McpServer, scenario: Callable[..., Awaitable[Any]]) -> Any:
    """Runs the scenario with the server's tools by name, and closes the server."""

    async def main() -> Any:
        try:
            return await scenario({tool.name: tool for tool in await server.tools()})
        finally:
            await server.close()

    return asyncio.run(main())


# It answers the first question for its tools with nonsense, all others as it should.
MUMBLING = """
import json, sys

answers = iter([7])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        said = {"protocolVersion": version, "capabilities": {"tools": {}}}
        answer["result"] = {**said, "serverInfo": {"name": "mumbling", "version": "1"}}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": next(answers, [])}
    else:
        answer["error"] = {"code": -32601, "message": "not known"}
    print(json.dumps(answer), flush=True)
"""


async def text(tool: Tool, **arguments: Any) -> str:
    return (await tool.run(arguments)).text


def test_the_tools_of_a_program_can_be_used(tmp_path):
    async def scenario(tools: dict[str, Tool]) -> None:
        assert list(tools) == NAMES
        assert tools["add"].spec()["function"] == {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        }
        assert await text(tools["add"], a=1, b=2) == "3"
        assert await text(tools["files_read"]) == "read"
        assert (await text(tools["who"])).split()[1:] == ["k3y", str(tmp_path)]
        sums = await asyncio.gather(*(text(tools["add"], a=n, b=n) for n in range(50)))
        assert sums == [str(2 * n) for n in range(50)]

    with_tools(stdio(env={"SERVER_KEY": "k3y"}, cwd=tmp_path), scenario)


def test_what_goes_wrong_in_the_server_is_an_observation():
    async def scenario(tools: dict[str, Tool]) -> None:
        wrong = await tools["add"].run('{"a": "x", "b": 2}')
        assert "valid integer" in wrong.text
        assert wrong.error is not None
        assert wrong.error.kind == "ToolError"
        assert "Error executing tool fail" in await text(tools["fail"])
        assert "no valid JSON" in (await tools["add"].run("{")).text

    with_tools(stdio(), scenario)


def test_a_listing_that_failed_is_asked_for_again():
    server = McpServer(command=[sys.executable, "-c", MUMBLING])

    async def main() -> None:
        try:
            with pytest.raises(ValueError, match="valid list"):
                await server.tools()
            assert await server.tools() == []
        finally:
            await server.close()

    asyncio.run(main())


def test_our_secrets_do_not_reach_the_program(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")

    async def scenario(tools: dict[str, Tool]) -> str:
        return await text(tools["seen_variables"])

    assert "OPENAI_API_KEY" not in with_tools(stdio(), scenario)


def test_a_server_that_dies_in_a_call_is_started_again_by_the_next():
    async def scenario(tools: dict[str, Tool]) -> None:
        before = await text(tools["who"])
        waiting = asyncio.create_task(tools["hang"].run({}))
        died = await tools["die"].run({})
        assert "the MCP server 'mcp_server' has gone" in died.text
        assert died.error is not None
        assert "has gone" in (await waiting).text
        assert await text(tools["who"]) not in (before, died.text)
        assert await text(tools["add"], a=1, b=2) == "3"

    with_tools(stdio(), scenario)


def test_a_server_that_died_between_calls_is_started_again_at_once():
    server = stdio()

    async def scenario(tools: dict[str, Tool]) -> None:
        pid = int((await text(tools["who"])).split()[0])
        connection = await connected(server)
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(10):
            while not connection.is_lost:
                await asyncio.sleep(0.01)
        assert int((await text(tools["who"])).split()[0]) != pid

    with_tools(server, scenario)


def test_a_call_that_hangs_is_stopped_and_the_others_go_on():
    async def scenario(tools: dict[str, Tool]) -> None:
        before = await text(tools["who"])
        hung = await tools["hang"].run({})
        assert hung.text == "the tool was stopped after 0.3 s"
        assert await text(tools["who"]) == before

    with_tools(stdio(timeout=0.3), scenario)


def test_copies_of_a_server_share_one_connection():
    server = stdio()

    async def scenario(tools: dict[str, Tool]) -> None:
        copies = [pickle.loads(pickle.dumps(server)) for _ in range(3)]
        listed = await asyncio.gather(*(copy.tools() for copy in copies))
        travelled = pickle.loads(pickle.dumps(tools["who"]))
        said = {await text(travelled), await text(tools["who"])}
        said |= {await text(tool) for tools in listed for tool in tools if tool.name == "who"}
        assert len(said) == 1

    with_tools(server, scenario)


def test_the_program_ends_with_the_event_loop():
    async def main() -> int:
        tools = {tool.name: tool for tool in await stdio().tools()}
        return int((await text(tools["who"])).split()[0])

    pid = asyncio.run(main())
    assert not psutil.pid_exists(pid)


def test_the_program_ends_with_a_killed_worker():
    code = f"""
import asyncio, sys
from aworld.tools import McpServer
async def main():
    await McpServer(command=[sys.executable, {SERVER!r}]).tools()
    print("ready", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        programs = psutil.Process(worker.pid).children()
        assert programs
        worker.kill()
    _, alive = psutil.wait_procs(programs, timeout=10)
    assert not alive


def test_only_what_is_allowed_is_on_offer():
    async def scenario(tools: dict[str, Tool]) -> list[str]:
        return list(tools)

    assert with_tools(stdio(allow=["who", "add"]), scenario) == ["who", "add"]
    with pytest.raises(ConfigError, match="no tool of 'mcp_server' named 'ad'; did you mean 'add'"):
        with_tools(stdio(allow=["ad"]), scenario)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["/no/such/program"], "'program' is not there: .*No such file"),
        (["/bin/true"], "'true' is not there: Connection closed"),
        (["/bin/sleep", "600"], "'sleep' is not there: it did not answer in time"),
    ],
)
def test_a_server_that_does_not_start_says_why(command, told):
    async def scenario(tools: dict[str, Tool]) -> None: ...

    with pytest.raises(ToolError, match=told):
        with_tools(McpServer(command=command, connect_timeout=1), scenario)
    assert not psutil.Process().children()


def test_without_the_package_it_is_refused_when_it_is_made(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ConfigError, match=r"MCP servers need: pip install 'aworld\[mcp\]'"):
        stdio()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "either a command or a url"),
        ({"command": ["x"], "url": "http://x"}, "either a command or a url"),
        ({"command": "python server.py"}, r"a list, such as \['python', 'server.py'\]"),
        ({"command": []}, "must name a program"),
        ({"command": ["x"], "headers": {"a": "b"}}, "headers are for a url"),
        ({"url": "http://x", "env": {"a": "b"}}, "env and cwd are for a command"),
        ({"url": "ftp://x"}, "must start with http"),
        ({"command": ["x"], "allow": "add"}, "allow must be a list of names"),
        ({"command": ["x"], "timeout": 0}, "^timeout must be"),
        ({"command": ["x"], "connect_timeout": 0}, "^connect_timeout must be"),
    ],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        McpServer(**settings)


def test_secrets_are_not_shown():
    program = McpServer(command=["server"], env={"KEY": "s3cret"})
    remote = McpServer(
        url="https://me:s3cret@example.org/mcp?key=s3cret", headers={"Authorization": "s3cret"}
    )
    assert repr(program) == "McpServer(command=('server',), name='server')"
    assert repr(remote) == "McpServer(url='https://example.org/mcp', name='example.org')"


def test_it_stands_in_a_list_of_tools():
    server = stdio()
    assert as_tools([server]) == [server]


@pytest.fixture
def serve():
    """Starts an HTTP server at a port, and waits until it answers."""
    started: list[subprocess.Popen[bytes]] = []

    def start(port: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, SERVER, str(port)]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.02)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_server_over_http_can_be_used_and_come_back(serve):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    process = serve(port)

    async def scenario(tools: dict[str, Tool]) -> None:
        assert list(tools) == NAMES
        assert await text(tools["add"], a=1, b=2) == "3"
        assert "has gone" in await text(tools["die"])
        process.wait()
        assert "is not there" in await text(tools["add"], a=1, b=2)
        serve(port)
        assert await text(tools["add"], a=2, b=2) == "4"

    with_tools(McpServer(url=url, headers={"Authorization": "Bearer s3cret"}), scenario)
