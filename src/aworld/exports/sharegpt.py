"""Conversations in the words of ShareGPT, as messages."""

from __future__ import annotations

import json
from typing import Any

from aworld.errors import unknown_name

Message = dict[str, Any]

SPEAKERS = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}


def from_sharegpt(values: dict[str, Any]) -> list[Message]:
    """Raises a ValueError that says what is wrong."""
    entries = values["conversations"]
    if not isinstance(entries, list):
        raise ValueError(f"'conversations' must be a list, got {entries!r:.80}")
    system = values.get("system")
    messages = [{"role": "system", "content": system}] if isinstance(system, str) and system else []
    calls = 0
    for place, entry in enumerate(entries):
        if isinstance(entry, dict) and "role" in entry:
            messages.append(entry)
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("value"), str):
            raise ValueError(f"conversations[{place}] has no 'from' and 'value': {entry!r:.80}")
        speaker = str(entry.get("from")).lower()
        if speaker not in SPEAKERS:
            raise ValueError(unknown_name(f"'from' in conversations[{place}]", speaker, SPEAKERS))
        message: Message = {"role": SPEAKERS[speaker], "content": entry["value"]}
        if speaker == "function_call":
            calls += 1
            message = _call(entry["value"], f"call_{calls}")
        elif message["role"] == "tool" and calls:
            message["tool_call_id"] = f"call_{calls}"
        messages.append(message)
    return messages


def _call(text: str, id: str) -> Message:
    try:
        wanted = json.loads(text)
        arguments = wanted["arguments"]
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        function = {"name": wanted["name"], "arguments": arguments}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(
            f"a function_call is JSON of name and arguments, not {text!r:.80}"
        ) from None
    call = {"id": id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
