"""OpenAI's chat completions, read and written where no server is in between."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any, NamedTuple

from aworld.models.base import Model, ModelReply, ModelRequest

PATH = "/chat/completions"
LIMITS = ("max_tokens", "max_completion_tokens")  # two names of the same

Body = dict[str, Any]


class Refused(Exception):  # noqa: N818 - an answer, with the status that it has
    def __init__(self, message: str, status: int = 400):
        super().__init__(message)
        self.status = status


class Asked(NamedTuple):
    """A request, and in which form the reply is wanted."""

    request: ModelRequest
    streams: bool
    wants_usage: bool  # at the end of a stream


def read(model: Model, path: str, content: bytes) -> Asked:
    """What the caller leaves open is as the model has it."""
    if not path.endswith(PATH):
        raise Refused(
            f"a recorded client asks for {PATH} only, not for {path}: choose the chat completions "
            "of your framework (OpenAIChatCompletionsModel, OpenAIChatModel, ...)",
            404,
        )
    body = {name: value for name, value in json.loads(content).items() if value is not None}
    name = body.pop("model", None)
    if name != model.name:
        raise Refused(
            f"this client asks the model {model.name!r}, and {name!r} was wanted: another model "
            "needs a client of its own",
            404,
        )
    if body.pop("n", 1) != 1:
        raise Refused("n: a recorded client gets one choice for each call")
    if body.get("logprobs"):
        raise Refused("logprobs: a recorded client keeps them, in the record; leave it out")
    messages, tools = body.pop("messages", []), body.pop("tools", [])
    streams, options = body.pop("stream", False), body.pop("stream_options", {})
    for own, other in (LIMITS, LIMITS[::-1]):
        if own in model.settings and other in body:  # a server takes one of them
            body[own] = body.pop(other)
    request = ModelRequest(messages, tools, settings=body)
    return Asked(request, bool(streams), bool(options.get("include_usage")))


def written(name: str, reply: ModelReply, asked: Asked) -> bytes:
    """The reply in one piece, also where it was to be a stream."""
    usage = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": name}
    message, reason = reply.message, reply.finish_reason
    if not asked.streams:
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        body = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return json.dumps(body).encode()
    delta = dict(message)
    if delta.get("tool_calls"):
        calls = enumerate(delta["tool_calls"])
        delta["tool_calls"] = [{"index": index, **call} for index, call in calls]
    parts: list[Body] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
    ]
    if asked.wants_usage:
        parts.append({"choices": [], "usage": usage})
    chunks = [json.dumps({**head, "object": "chat.completion.chunk", **part}) for part in parts]
    return "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]).encode()


def written_error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "model_error"}}).encode()
