"""What a tool returns becomes text that a model can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from aworld.tools import tool


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
