"""Tools travel to other processes, wherever they were defined."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import cloudpickle
import pytest
import toolshed
from lazy_names import seen_by_type_checkers

from aworld.tools import McpServer, Tool, bash, calculator, http_get, python

HERE = Path(__file__).parent


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
@pytest.mark.parametrize(
    ("made", "arguments", "text"),
    [
        (toolshed.forecast, {"city": "Ulm", "unit": "f"}, '{"city":"Ulm","degrees":68.9}'),
        (toolshed.twice, {"number": 4}, "8"),
        (Tool(toolshed.plain), {"number": 4}, "5"),
        (Tool(partial(toolshed.plain)), {"number": 4}, "5"),
        (Tool(toolshed.Shelf(["tea", "toe"]).find), {"start": "te"}, '["tea"]'),
        (calculator, {"expression": "6 * 7"}, "42"),
    ],
)
def test_a_tool_works_after_two_journeys(pickler, made, arguments, text):
    for _ in range(2):
        assert asyncio.run(made.run(arguments)).text == text
        data = pickler.dumps(made)
        assert b"pydantic" not in data
        travelled = pickle.loads(data)
        assert travelled.spec() == made.spec()
        assert travelled.timeout == made.timeout
        made = travelled
    assert asyncio.run(made.run(arguments)).text == text


def test_the_ready_tools_travel():
    server = McpServer(command=["server"], env={"KEY": "k"})
    for made in (python, bash, http_get(["example.org"])):
        assert pickle.loads(pickle.dumps(made)).spec() == made.spec()
    assert pickle.loads(pickle.dumps(server)).env == {"KEY": "k"}


FROM_MAIN = """
from __future__ import annotations
import cloudpickle, pickle, sys
from enum import Enum
from aworld.tools import tool

class Size(Enum):
    SMALL = "s"

@tool
def weigh(size: Size, count: int = 1) -> str:
    return f"{size.name} {count}"

def make():
    @tool
    def inner(size: Size) -> str:
        return weigh(size)
    return inner

assert pickle.loads(pickle.dumps(weigh)).function is weigh.function
sys.stdout.buffer.write(cloudpickle.dumps([weigh, make()]))
"""


def test_a_tool_of_main_works_where_main_is_another():
    made = subprocess.run([sys.executable, "-c", FROM_MAIN], capture_output=True, check=True)
    for travelled in pickle.loads(made.stdout):
        assert asyncio.run(travelled.run({"size": "s"})).text == "SMALL 1"
        again = pickle.loads(cloudpickle.dumps(travelled))
        assert asyncio.run(again.run({"size": "s"})).text == "SMALL 1"
        assert "size" in asyncio.run(again.run({"size": "x"})).text


def test_importing_the_room_is_light():
    code = "import sys, aworld.tools; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    heavy = {"pydantic", "mcp", "sandlock", "httpx2", "asyncio", "urllib.request"}
    assert not heavy & set(done.stdout.split())


def test_the_public_names_are_these_and_no_others():
    import aworld.tools

    assert dir(aworld.tools) == sorted(aworld.tools._HOMES) == sorted(aworld.tools.__all__)
    assert seen_by_type_checkers(aworld.tools) == aworld.tools._HOMES
    for name in aworld.tools.__all__:
        assert getattr(aworld.tools, name).__name__ == name
    assert not hasattr(aworld.tools, "Nothing")
