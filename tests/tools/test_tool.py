"""A tool: whatever a model sends and whatever the function does, text comes back."""

from __future__ import annotations

import asyncio
import functools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld.errors import ConfigError
from aworld.tools import Tool, as_tools, tool


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
        (lambda: tool(dict), "a tool is made of a function"),
        (lambda: tool(add), "a tool is made of a function"),
        (lambda: tool(functools.partial(add.function), timeout=0), "timeout must be"),
        (lambda: as_tools([add, add]), "items 0 and 1 of the tools are both called 'add'"),
        (lambda: as_tools([add, "add"]), "item 1 of the tools is no tool: 'add'"),
        (lambda: as_tools([dict]), "item 0 of the tools is no tool"),
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
