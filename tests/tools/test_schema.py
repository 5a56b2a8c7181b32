"""What a model is told about a function, and how its arguments reach the function."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from aworld.errors import ConfigError
from aworld.tools import tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Filter(BaseModel):
    field: str
    title: str = ""
    at_least: float = Field(default=0, description="the lowest value")


@dataclass
class Page:
    number: int
    size: int = 10


def test_every_kind_of_hint_is_described_and_converted(run):
    seen: list[Any] = []

    @tool
    def search(
        query: str,
        filters: list[Filter],
        page: Page,
        order: Literal["up", "down"] = "up",
        colour: Colour | None = None,
        weights: dict[str, float] | None = None,
        pair: tuple[int, int] = (0, 1),
        limit: Annotated[int, Field(description="how many", ge=1, le=100)] = 10,
        note: Annotated[str, "anything else"] = "",
    ) -> str:
        seen.append((query, filters, page, order, colour, weights, pair, limit, note))
        return "found"

    properties = search.parameters["properties"]
    assert search.parameters["required"] == ["query", "filters", "page"]
    assert search.parameters["additionalProperties"] is False
    assert properties["order"] == {"enum": ["up", "down"], "type": "string", "default": "up"}
    assert properties["limit"]["description"] == "how many"
    assert properties["limit"]["maximum"] == 100
    assert properties["note"]["description"] == "anything else"
    assert search.parameters["$defs"]["Colour"] == {"enum": ["red", "blue"], "type": "string"}
    shown = search.parameters["$defs"]["Filter"]["properties"]
    assert shown["title"] == {"type": "string", "default": ""}
    assert shown["at_least"]["description"] == "the lowest value"

    result = run(
        search,
        {
            "query": "q",
            "filters": [{"field": "f", "at_least": "1.5"}],
            "page": {"number": 2},
            "colour": "blue",
            "weights": {"a": 1},
            "pair": [3, 4],
        },
    )
    assert result.text == "found"
    filters = [Filter(field="f", at_least=1.5)]
    blue = Colour.BLUE
    assert seen == [("q", filters, Page(2), "up", blue, {"a": 1.0}, (3, 4), 10, "")]


def test_a_nested_fault_is_named_by_its_path(run):
    @tool
    def search(filters: list[Filter], limit: Annotated[int, Field(ge=1)] = 1) -> str:
        return "found"

    told = run(search, {"filters": [{"field": "f"}, {"field": 3}], "limit": 0}).text
    assert "filters.1.field: Input should be a valid string, got 3" in told
    assert "limit: Input should be greater than or equal to 1, got 0" in told


def test_google_docstrings_describe_the_parameters():
    @tool
    def move(source: str, target: str, force: bool = False) -> None:
        """Moves a file
        to another place.

        More about it, which the model need not know.

        Args:
            source (str): What to move,
                wherever it is.
            target: Where to: a directory.
            force: Whether to overwrite.

        Returns:
            Nothing: at all.
        """

    assert move.description == "Moves a file to another place."
    texts = {name: said["description"] for name, said in move.parameters["properties"].items()}
    assert texts == {
        "source": "What to move, wherever it is.",
        "target": "Where to: a directory.",
        "force": "Whether to overwrite.",
    }


def test_rest_docstrings_describe_the_parameters():
    @tool
    def move(source: str, target: str) -> None:
        """Moves a file.

        :param source: What to move,
            wherever it is.
        :param str target: Where to.
        :returns: nothing
        """

    assert move.description == "Moves a file."
    texts = {name: said["description"] for name, said in move.parameters["properties"].items()}
    assert texts == {"source": "What to move, wherever it is.", "target": "Where to."}


def test_without_parameters_the_schema_is_empty():
    @tool
    def now() -> str:
        return "now"

    assert now.description == ""
    assert now.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_names_that_pydantic_keeps_for_itself_can_be_parameters(run):
    @tool
    def odd(
        schema: int, copy: int, model_config: int, _hidden: int, title: int, /, self: int
    ) -> int:
        return schema + copy + model_config + _hidden + title + self

    names = ["schema", "copy", "model_config", "_hidden", "title", "self"]
    assert list(odd.parameters["properties"]) == names
    assert run(odd, dict.fromkeys(names, 1)).text == "6"


def test_what_the_model_leaves_out_is_the_functions_own_default(run):
    nothing = object()

    @tool
    def look(where: str | None = nothing) -> bool:  # type: ignore[assignment]
        return where is nothing

    assert "default" not in look.parameters["properties"]["where"]
    assert run(look).text == "true"
    assert run(look, where=None).text == "false"


class Unknown:
    pass


def no_hint(a, b: int): ...
def many(*values: int): ...
def named(**values: int): ...
def alien(a: int, thing: Unknown): ...
def unresolved(a: Nowhere): ...  # type: ignore[name-defined]  # noqa: F821


class Shop:
    def count(self, item: str) -> int: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (no_hint, "tool 'no_hint': give the parameter 'a' a type hint"),
        (many, "tool 'many': a model cannot be told what to give for '*values: 'int''"),
        (named, "tool 'named': a model cannot be told what to give for '**values: 'int''"),
        (alien, "tool 'alien': the type of 'thing' cannot be described as JSON schema"),
        (unresolved, "tool 'unresolved': the type hint 'Nowhere' of 'a' cannot be resolved"),
        (Shop.count, "write tool(the_object.count)"),
    ],
)
def test_what_cannot_be_described_is_refused_at_its_definition(function, told):
    with pytest.raises(ConfigError) as refused:
        tool(function)
    assert told in str(refused.value)
