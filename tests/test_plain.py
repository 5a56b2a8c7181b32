"""Values as plain data: what holds itself, or is nested very deep, costs only that part."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from aworld.core.plain import DEEPEST, plain
from aworld.store.blobs import Blobs
from aworld.store.encoding import decode, encode, json_of


@dataclass
class Node:
    name: str
    parent: Any = None
    children: list[Any] = field(default_factory=list)


class Model(BaseModel):
    name: str
    parent: Any = None
    children: list[Any] = []


def family(kind: type) -> Any:
    root = kind(name="root")
    root.children.append(kind(name="child", parent=root))
    return root


def ring(kind: type) -> Any:
    inner: list[Any] = [1]
    inner.append({"back": inner} if kind is dict else kind([inner]))
    return inner


def chain(length: int, width: int = 1) -> list[Any]:
    value: list[Any] = []
    for _ in range(length):
        value = [value] * width
    return value


def stored(tmp_path, value: Any) -> Any:
    """As a record gives it back, beside bytes and a text that have to stay as they are."""
    record = {"answer": value, "bytes": b"\xff", "text": "\ud800"}
    blobs = Blobs(tmp_path / "blobs")
    found = decode(encode(json_of(record), blobs), blobs)
    assert found.keys() == record.keys()
    assert (found["bytes"], found["text"]) == (b"\xff", "\ud800")
    return found["answer"]


CHILD = {"name": "child", "children": []}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (ring(dict), [1, {"back": "<list that holds itself>"}]),
        (ring(list), [1, ["<list that holds itself>"]]),
        (ring(tuple), [1, ["<list that holds itself>"]]),
        *(
            (
                family(kind),
                {
                    "name": "root",
                    "parent": None,
                    "children": [{**CHILD, "parent": f"<{kind.__name__} that holds itself>"}],
                },
            )
            for kind in (Node, Model)
        ),
    ],
)
def test_only_the_part_that_holds_itself_is_replaced(tmp_path, value, told):
    assert plain(value) == told
    assert stored(tmp_path, value) == told
    assert stored(tmp_path, [value, value]) == [told, told]


@pytest.mark.parametrize("length", [DEEPEST, 2000, 50_000])
def test_what_is_nested_very_deep_can_be_read_back(tmp_path, length):
    found, depth = stored(tmp_path, chain(length)), 0
    while isinstance(found, list) and found:
        found, depth = found[0], depth + 1
    assert depth >= DEEPEST - 2
    assert found == "<list that is nested too deep>"


def test_what_was_written_with_much_room_is_read_with_little(tmp_path):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        content = json_of({"answer": chain(3000), "bytes": b"\xff"})
    finally:
        sys.setrecursionlimit(limit)
    assert decode(content, Blobs(tmp_path))["bytes"] == b"\xff"


def test_a_net_is_told_at_once_though_it_has_very_many_ways(tmp_path):
    net: list[dict[str, Any]] = [{} for _ in range(30)]
    for node in net:
        node.update({str(number): other for number, other in enumerate(net)})
    for value in (net, chain(3000, width=2)):
        assert len(json.dumps(plain(value))) < 1_000_000
        stored(tmp_path, value)  # would never end, were each way told


def test_a_mark_in_an_object_of_ones_own_is_not_taken_for_one_of_ours(tmp_path):
    odd = {"$aworld": "text", "blob": "zz"}
    assert stored(tmp_path, Node("odd", odd))["parent"] == odd


def test_keys_and_numbers_without_a_form_in_json_are_texts(tmp_path):
    found = stored(tmp_path, {(1, 2): ring(list), "long": 10**6000})
    assert found == {"(1, 2)": [1, ["<list that holds itself>"]], "long": str(1) + "0" * 6000}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_holds_whatever_the_record_can_be_read(tmp_path_factory, data):
    kinds = (list, dict, Node, Model)
    parts = [
        kind(name="n") if kind in (Node, Model) else kind()
        for kind in data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=6))
    ]
    one = st.sampled_from(parts)
    for part in parts:
        for number, other in enumerate(data.draw(st.lists(one, max_size=3))):
            if isinstance(part, dict):
                part[number] = other
            else:
                (part if isinstance(part, list) else part.children).append(other)
    stored(tmp_path_factory.mktemp("net"), parts[0])
    json.dumps(plain(parts[0]), allow_nan=False)
