"""Tool calls in the text of a model. A new way to write them is one function and one line here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from aworld.policies.messages import Tools, parameters


class Call(NamedTuple):
    """What is called, and the arguments as JSON text."""

    name: str
    arguments: str


class CallFormat(NamedTuple):
    """How calls are found; `marker` is what one begins with."""

    marker: str
    read: Callable[[str, Tools], tuple[str, list[Call]]]  # the text without them, and the calls


def read_calls(text: str, tools: Tools, format: str) -> tuple[str, list[Call]]:
    """What is no well-formed call stays in the text."""
    return CALL_FORMATS[format].read(text, tools)


def _hermes(text: str, tools: Tools) -> tuple[str, list[Call]]:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`: Hermes, Qwen, SmolLM and others.

    The arguments are kept letter for letter, so that the call can be written again as it was.
    """
    calls = []
    for found in HERMES.finditer(text):
        call = _named(found[1])
        if call is None:
            return text, []
        calls.append(call)
    return (HERMES.sub("", text).strip() if calls else text), calls


def _named(written: str) -> Call | None:
    try:
        given = json.loads(written)
        name, arguments = given["name"], given["arguments"]
        key = re.search(r'"arguments"\s*:\s*', written)
        if key is not None and isinstance(arguments, dict) and isinstance(name, str):
            _, end = json.JSONDecoder().raw_decode(written, key.end())
            return Call(name, written[key.end() : end])
    except (ValueError, LookupError, TypeError):
        pass
    return None


def _byte(text: str, tools: Tools) -> tuple[str, list[Call]]:
    """Lines like `@add(12,5)`: JSON values in the order of the tool's parameters."""
    names = parameters(tools)
    said, calls = [], []
    for line in text.split("\n"):
        found = BYTE.fullmatch(line)
        values = _json_list(found[2]) if found else None
        if found is None or values is None or len(values) > len(names.get(found[1], values)):
            said.append(line)
            continue
        keys = names.get(found[1]) or [f"argument{number}" for number in range(len(values))]
        arguments = dict(zip(keys, values, strict=False))
        calls.append(Call(found[1], json.dumps(arguments, ensure_ascii=False)))
    return "\n".join(said), calls


def _json_list(written: str) -> list[Any] | None:
    try:
        return json.loads(f"[{written}]")
    except ValueError:
        return None


HERMES = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
BYTE = re.compile(r"@([A-Za-z_][\w.-]*)\((.*)\)")

CALL_FORMATS = {
    "hermes": CallFormat("<tool_call>", _hermes),
    "byte": CallFormat("@", _byte),
}
