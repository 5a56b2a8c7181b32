"""A tool: whatever a model sends and whatever the function does, text comes back."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import json
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld.errors import ConfigError
from aworld.tools import Tool, ToolError, as_tools, tool


@tool
def add(a: int, b: int = 2) -> int:
    """Adds."""
    return a + b


def test_a_model_calls_it_with_json_and_people_call_it_like_the_function(run):
    assert run(add, '{"a": 1, "b": 4}').text == "5"
    assert run(add, {"a": 1}).text == "3"
    assert add(1, b=4) == 5
    assert repr(add) == "Tool('add')"


def test_its_spec_is_what_the_openai_api_expects():
    assert add.spec() == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
                "required": ["a"],
                "additionalProperties": False,
            },
        },
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"a": 1', "they are no valid JSON"),
        ('{"a": 1', 'send one JSON object with the keys "a", "b"'),
        ("[1, 2]", "they must be a JSON object, not a list"),
        (17, "they must be a JSON object, not a int"),
        ("{}", "a: is missing"),
        ("", "a: is missing"),
        ('{"a": "one"}', "a: Input should be a valid integer"),
        ('{"a": "one"}', "got 'one'"),
        ('{"a": 1, "c": 2}', "c: there is no such parameter (known: a, b)"),
        ('{"a": ' + "9" * 5000 + "}", "no valid JSON"),
        ("[" * 100_000, "no valid JSON"),
        (json.dumps({"a": "x" * 10**6}), "a: Input should be a valid integer"),
    ],
)
def test_wrong_arguments_are_explained_to_the_model(run, arguments, told):
    result = run(add, arguments)
    assert result.error.kind == "BadArguments"
    assert told in result.text
    assert len(result.text) < 2_100


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@tool
def anything(a: int, b: list[str] = [], c: dict[str, float] | None = None) -> str:  # noqa: B006
    return "ok"


@given(json_values | st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), json_values))
def test_no_json_value_makes_it_raise(value):
    result = asyncio.run(anything.run(json.dumps(value)))
    assert result.text == "ok" or result.error.kind == "BadArguments"
    result.text.encode()


@given(st.text())
def test_no_text_makes_it_raise(text):
    result = asyncio.run(anything.run(text))
    assert result.error.kind == "BadArguments"
    result.text.encode()


def test_an_exception_becomes_an_observation(run):
    @tool
    def broken(key: str) -> str:
        return {}[key]

    result = run(broken, key="missing")
    assert result.text == "KeyError: 'missing'"
    assert result.error.kind == "KeyError"
    assert "broken" in result.error.traceback


def test_a_tool_error_speaks_in_its_own_words(run):
    @tool
    def picky() -> str:
        raise ToolError("ask for something else")

    result = run(picky)
    assert result.text == "ask for something else"
    assert result.error.kind == "ToolError"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_thread_that_wants_to_end_the_program_ends_only_the_call(run, error):
    @tool
    def rude() -> str:
        raise error

    assert type(error).__name__ in run(rude).text


def test_an_async_tool_that_exits_or_cancels_itself_ends_only_the_call(run):
    @tool
    async def leave() -> str:
        sys.exit(3)

    @tool
    async def give_up() -> str:
        raise asyncio.CancelledError

    assert "it raised SystemExit(3), which would end the worker" in run(leave).text
    assert "CancelledError" in run(give_up).text


def test_a_tool_that_hangs_is_stopped_and_the_model_is_told(run):
    release = threading.Event()

    @tool(timeout=0.1)
    def hang() -> str:
        release.wait(60)
        return "late"

    began = time.monotonic()
    result = run(hang)
    release.set()
    assert result.text == "the tool was stopped after 0.1 s"
    assert result.error.kind == "Timeout"
    assert 0.1 <= result.seconds <= time.monotonic() - began < 5


def test_an_async_tool_is_cancelled_at_its_timeout(run):
    cleaned_up = []

    @tool(timeout=0.1)
    async def hang() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned_up.append(True)
        return "late"

    assert run(hang).error.kind == "Timeout"
    assert cleaned_up == [True]


def test_an_async_tool_that_ignores_its_cancellation_is_left_behind():
    async def scenario() -> Any:
        release = asyncio.Event()

        @tool(timeout=0.05)
        async def stubborn() -> str:
            while not release.is_set():
                try:
                    await asyncio.wait_for(release.wait(), 60)
                except asyncio.CancelledError:
                    pass
            return "late"

        result = await stubborn.run({})
        release.set()
        return result

    began = time.monotonic()
    assert asyncio.run(scenario()).error.kind == "Timeout"
    assert time.monotonic() - began < 5


def test_a_cancelled_task_does_not_wait_for_its_tool():
    release = threading.Event()

    @tool(timeout=None)
    def hang() -> None:
        release.wait(60)

    async def scenario() -> None:
        task = asyncio.create_task(hang.run({}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(scenario())
    assert time.monotonic() - began < 5
    release.set()


def test_a_coroutine_from_a_plain_function_is_awaited_within_the_same_time(run):
    async def slow() -> None:
        await asyncio.sleep(60)

    @tool(timeout=0.1)
    def hand_out() -> Any:
        return slow()

    assert run(hand_out).error.kind == "Timeout"


def test_a_thread_sees_the_context_of_its_task():
    who = contextvars.ContextVar("who", default="nobody")

    @tool
    def ask() -> str:
        seen = who.get()
        who.set("the thread")
        return seen

    async def scenario() -> tuple[str, str]:
        who.set("the task")
        return (await ask.run({})).text, who.get()

    assert asyncio.run(scenario()) == ("the task", "the task")


@dataclass
class Point:
    x: int
    y: int


class Person(pydantic.BaseModel):
    name: str


class Opaque:
    def __str__(self) -> str:
        return "opaque"


class Unshowable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("grün", "grün"),
        (None, "null"),
        ({"a": [1, 2.5, "ü"]}, '{"a":[1,2.5,"ü"]}'),
        (Point(1, 2), '{"x":1,"y":2}'),
        ([Person(name="Ada")], '[{"name":"Ada"}]'),
        ({"one": {2}}, '{"one":[2]}'),
        (b"bytes\xff", "bytes\ufffd"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (Opaque(), '"opaque"'),
        ("a\ud800b", "a?b"),
        (["\ud800"], '["?"]'),
    ],
)
def test_what_it_returns_becomes_text(run, value, text):
    @tool
    def give() -> Any:
        return value

    @tool
    async def give_later() -> Any:
        return value

    assert run(give).text == text
    assert run(give_later).text == text


def test_a_result_that_cannot_be_shown_is_an_error(run):
    @tool
    def give() -> Any:
        return Unshowable()

    assert run(give).text == "RuntimeError: no"


def test_a_circle_is_shown_somehow(run):
    @tool
    def give() -> Any:
        circle: list[Any] = []
        circle.append(circle)
        return circle

    assert run(give).text == "[[...]]"


def test_a_long_result_keeps_its_head_and_tail(run):
    @tool(max_chars=10)
    def give() -> str:
        return "HEAD-" + "x" * 990 + "-TAIL"

    assert run(give).text == "HEAD-\n... 990 characters left out ...\n-TAIL"


def test_a_huge_result_costs_no_second_copy_of_it(run):
    import tracemalloc

    huge = "x" * 100_000_000

    @tool
    def give() -> str:
        return huge

    tracemalloc.start()
    try:
        result = run(give)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert len(result.text) < 20_100


def test_a_bound_method_a_partial_and_a_callable_object_are_tools(run):
    class Shop:
        """A shop."""

        def __init__(self, stock: dict[str, int]):
            self.stock = stock

        def count(self, item: str) -> int:
            """Counts items."""
            return self.stock[item]

        def __call__(self, item: str) -> bool:
            """Says whether there is any."""
            return item in self.stock

    shop = Shop({"tea": 3})
    count = tool(shop.count)
    assert (count.name, count.description, run(count, item="tea").text) == (
        "count",
        "Counts items.",
        "3",
    )
    has = Tool(shop, name="has")
    assert (has.description, run(has, item="tea").text) == ("Says whether there is any.", "true")

    def power(base: int, exponent: int) -> int:
        return base**exponent

    square = tool(functools.partial(power, exponent=2))
    assert list(square.parameters["properties"]) == ["base"]
    assert run(square, base=5).text == "25"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: tool(lambda x: x), "'<lambda>' cannot be the name of a tool"),
        (lambda: tool(name="two words")(add.function), "'two words' cannot be the name"),
        (lambda: tool(42), "a tool is made of a function, got 42"),
        (lambda: tool(Point), "a tool is made of a function"),
        (lambda: tool(add), "a tool is made of a function"),
        (lambda: tool(functools.partial(add.function), timeout=0), "timeout must be"),
        (lambda: as_tools([add, add]), "items 0 and 1 of the tools are both called 'add'"),
        (lambda: as_tools([add, "add"]), "item 1 of the tools is no tool: 'add'"),
        (lambda: as_tools([Point]), "item 0 of the tools is no tool"),
    ],
)
def test_what_is_no_tool_is_refused(make, told):
    with pytest.raises(ConfigError) as refused:
        make()
    assert told in str(refused.value)


def test_a_generator_is_refused():
    with pytest.raises(ConfigError, match="is a generator: let it return a list"):

        @tool
        def count() -> Any:
            yield 1


def test_functions_tools_and_sources_make_one_list():
    class Source:
        name = "source"

        async def tools(self) -> list[Tool]:
            return [add]

    def other() -> None: ...

    source = Source()
    made = as_tools([add, other, source])
    assert [item.name for item in made] == ["add", "other", "source"]
    assert made[0] is add
    assert made[2] is source


def test_a_call_that_is_given_up_before_it_begins_leaves_nothing_behind():
    async def go():
        from aworld.tools.limits import call_within

        work = asyncio.ensure_future(call_within(5.0, print, "never"))
        await asyncio.sleep(0)  # it has made its task, which has not run yet
        for task in asyncio.all_tasks() - {asyncio.current_task()}:  # as a worker does that leaves
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await asyncio.sleep(0)
        gc.collect()  # "was never awaited" would be an error

    asyncio.run(go())
