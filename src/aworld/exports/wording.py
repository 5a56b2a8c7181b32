"""Messages in the words of those who read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from aworld.core.plain import plain

Message = dict[str, Any]

KEPT = ("name", "tool_call_id")
REASONING = ("reasoning_content", "reasoning", "thinking")  # chat templates know these names


def for_trl(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """As chat templates want them: arguments are objects, and no text is no reason to fail."""
    return [_for_template(message) for message in messages]


def tools_for_trl(tools: Any) -> str | None:
    """As JSON text, which TRL reads: a table would give every tool the fields of all others."""
    return json.dumps(plain(tools), ensure_ascii=False) if tools else None


def for_openai(messages: Iterable[Mapping[str, Any]], given: int) -> list[Message]:
    """Without what OpenAI's fine-tuning refuses. Replies that were given, as examples in the
    prompt, have the weight 0: they are not learned."""
    return [
        {**_for_server(message), "weight": 0}
        if place < given and message.get("role") == "assistant"
        else _for_server(message)
        for place, message in enumerate(messages)
    ]


def _for_template(message: Mapping[str, Any]) -> Message:
    kept = _kept(message, (*KEPT, *REASONING))
    calls = [
        {**call, "function": {**call["function"], "arguments": _object(call["function"])}}
        for call in _calls(message)
    ]
    content = message.get("content")
    said = {"role": message.get("role"), "content": "" if content is None else content}
    return {**said, **kept, "tool_calls": calls} if calls else {**said, **kept}


def _for_server(message: Mapping[str, Any]) -> Message:
    content, calls = message.get("content"), _calls(message)
    if content is None and not calls:
        content = ""
    said = {"role": message.get("role"), "content": content, **_kept(message, KEPT)}
    return {**said, "tool_calls": calls} if calls else said


def _kept(message: Mapping[str, Any], names: Iterable[str]) -> Message:
    return {name: message[name] for name in names if message.get(name)}


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of tools: id, type, name and arguments, nothing else."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps({} if arguments is None else plain(arguments))
        named = {"name": function.get("name"), "arguments": arguments}
        known = {"id": call["id"]} if call.get("id") else {}
        calls.append({**known, "type": "function", "function": named})
    return calls


def _object(function: Mapping[str, Any]) -> Any:
    """What a model wrote is not always JSON: then it stays as it was written."""
    try:
        read = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return function["arguments"]
    return read if isinstance(read, dict) else function["arguments"]
