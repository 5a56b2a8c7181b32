"""Puts a streamed chat completion together again."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Any


async def assembled(chunks: AsyncIterable[Any], on_text: Callable[[str], None]) -> dict[str, Any]:
    """The body that the server would have sent in one piece; `on_text` hears the text meanwhile."""
    body: dict[str, Any] = {"choices": []}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    choice: dict[str, Any] = {"message": message, "finish_reason": None}
    calls: dict[int, dict[str, Any]] = {}
    async for chunk in chunks:
        data = chunk.model_dump(exclude_none=True)
        for name in ("usage", "prompt_token_ids", "policy_version"):
            if name in data:
                body[name] = data[name]
        for part in data.get("choices", []):
            body["choices"] = [choice]
            choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]
            _extend(choice, part)
            delta = part.get("delta", {})
            for name, value in delta.items():
                if isinstance(value, str) and name != "role":  # content, refusal, reasoning, ...
                    message[name] = (message.get(name) or "") + value
            if delta.get("content"):
                on_text(delta["content"])
            for piece in delta.get("tool_calls", []):
                _add_call(calls, piece)
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return body


def _extend(choice: dict[str, Any], part: dict[str, Any]) -> None:
    for name in ("token_ids", "policy_versions"):
        if name in part:
            choice.setdefault(name, []).extend(part[name])
    entries = part.get("logprobs", {}).get("content")
    if entries:
        choice.setdefault("logprobs", {"content": []})["content"].extend(entries)


def _add_call(calls: dict[int, dict[str, Any]], piece: dict[str, Any]) -> None:
    empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    call = calls.setdefault(piece.get("index", len(calls)), empty)
    call["id"] = piece.get("id") or call["id"]
    function = piece.get("function", {})
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""
