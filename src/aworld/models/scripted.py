"""A model that says what it was told to say: for tests, docs and first steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from aworld.errors import ConfigError, ModelError
from aworld.models.base import Model, ModelReply, ModelRequest, OnText

Line = str | dict[str, Any]
Script = Sequence[Line] | Callable[[list[dict[str, Any]]], Line]


class ScriptedModel(Model):
    """Answers turn by turn from a list, or by a function of the messages.

    A line is a text, an assistant message as a dict, or `call("tool", argument=...)`. Which line of
    a list comes next is told by how many replies are in the conversation already.
    """

    def __init__(self, script: Script, *, name: str = "scripted", **settings: Any):
        super().__init__(name, **settings)
        if isinstance(script, str) or not (callable(script) or len(script)):
            raise ConfigError("a script is a list of replies, or a function of the messages")
        self.script = script if callable(script) else list(script)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        if callable(self.script):
            line = self.script(request.messages)
        else:
            turn = sum(message["role"] == "assistant" for message in request.messages)
            if turn >= len(self.script):
                raise ModelError(f"the script has only {len(self.script)} replies")
            line = self.script[turn]
        if not isinstance(line, (str, dict)):
            kind = type(line).__name__
            raise ModelError(f"a line of a script is a str or a message, this one is a {kind}")
        message = {"role": "assistant", "content": line} if isinstance(line, str) else dict(line)
        message.setdefault("role", "assistant")
        text = message.get("content") or ""
        if on_text is not None and text:
            on_text(text)
        sent = {"messages": request.messages, "tools": request.tools, **request.settings}
        prompt = json.dumps(request.messages, default=str)
        return ModelReply(
            message,
            sent,
            "tool_calls" if message.get("tool_calls") else "stop",
            prompt_tokens=len(prompt.split()),
            completion_tokens=len(json.dumps(message, default=str).split()),
        )


def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
    """A reply that calls one tool."""
    return calls((tool, arguments))


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A reply that calls several tools at once."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(wanted)
        ],
    }
