"""How a conversation looks to the byte model: bytes, a token for each role, calls as short text.

A call of a tool is a line like `@add(12,5)`: its arguments are JSON values in the order of the
tool's parameters. What a user or a tool writes is bytes only, and can never end its own turn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from aworld.policies.messages import Message, Tools, parameters, text_of

SYSTEM, USER, ASSISTANT, TOOL, TOOLS, END = range(256, 262)
VOCAB_SIZE = 264  # a multiple of 8
ROLES = {"system": SYSTEM, "developer": SYSTEM, "user": USER, "tool": TOOL, "function": TOOL}


def encode_chat(messages: list[Message], tools: Tools | None) -> list[int]:
    """Each turn is the token of its role, its text and the token that ends it."""
    ids = []
    if tools:
        offered = " ".join(f"{name}({','.join(of)})" for name, of in parameters(tools).items())
        ids += [TOOLS, *offered.encode(), END]
    for message in messages:
        role = message.get("role")
        if role == "assistant":
            ids += [ASSISTANT, *encode_reply(message, tools)]
        elif role in ROLES:
            ids += [ROLES[role], *text_of(message.get("content")).encode(), END]
        else:
            raise ValueError(f"no role {role!r}: known are {', '.join([*ROLES, 'assistant'])}")
    return [*ids, ASSISTANT]


def encode_reply(message: Message, tools: Tools | None) -> list[int]:
    names = parameters(tools or [])
    text = text_of(message.get("content"))
    lines = [text] if text else []
    lines += [_written(call["function"], names) for call in message.get("tool_calls") or ()]
    return [*"\n".join(lines).encode(), END]


def decode(ids: Sequence[int]) -> str:
    return bytes(token for token in ids if token < 256).decode(errors="replace")


def _written(function: dict[str, Any], names: dict[str, list[str]]) -> str:
    raw = function.get("arguments") or "{}"
    try:
        given = json.loads(raw) if isinstance(raw, str) else raw
        assert isinstance(given, dict)
    except (ValueError, AssertionError):
        return f"@{function['name']}({raw})"  # as it was, wrong as it is
    order = [name for name in names.get(function["name"], given) if name in given]
    order += [name for name in given if name not in order]
    values = (json.dumps(given[name], separators=(",", ":"), ensure_ascii=False) for name in order)
    return f"@{function['name']}({','.join(values)})"
