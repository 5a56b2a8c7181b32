"""A reply in pieces, as server-sent events, while it is being made."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

from aworld.policies.base import Policy
from aworld.serve.calls import CALL_FORMATS
from aworld.serve.generation import Generation
from aworld.serve.replies import Body, chat_message, envelope, token_facts, usage
from aworld.serve.requests import ChatRequest, TextRequest, as_refused, error_body
from aworld.serve.text import GrowingText, cut_at, held_back


async def events(
    asked: ChatRequest | TextRequest,
    one: Generation,
    policy: Policy,
    next_news: Callable[[], Awaitable[None]],
) -> AsyncIterator[bytes]:
    """Put together, the pieces are what would have come as one."""
    is_chat = isinstance(asked, ChatRequest)
    head = envelope("chat.completion.chunk" if is_chat else "text_completion", policy)
    growing, told, sent = GrowingText(policy.decode), 0, ""
    start = {"prompt_token_ids": one.prompt} if asked.return_token_ids else {}
    if is_chat:
        delta = {"role": "assistant", "content": ""}
        yield _event({**head, "choices": [{"index": 0, "delta": delta}], **start})
        start = {}
    while not one.ended:
        await next_news()
        end = len(one.versions)  # the last that a token adds to
        if one.ended or end == told:
            continue
        visible = _visible(asked, growing.read(one.ids[:end]), policy)
        facts = token_facts(asked, one, policy, told, end)
        new, told, sent = visible[len(sent) :], end, visible
        choice = {"index": 0, **_said(asked, new), "finish_reason": None, **facts}
        yield _event({**head, "choices": [choice], **start, **_version(one)})
        start = {}
    if one.error is not None:
        yield _event(error_body(as_refused(one.error)))
        return
    choice = {"index": 0, **_rest(asked, one, policy, sent)}
    choice |= token_facts(asked, one, policy, told, len(one.ids))
    yield _event({**head, "choices": [choice], **start, **_version(one)})
    if asked.wants_usage:
        yield _event({**head, "choices": [], "usage": usage([one]), **_version(one)})
    yield b"data: [DONE]\n\n"


def _visible(asked: ChatRequest | TextRequest, text: str, policy: Policy) -> str:
    """What is surely said: no part of a stop string, nor of a call."""
    cut = cut_at(text, asked.stops)
    text = text[: len(text) - held_back(text, asked.stops)] if cut is None else cut
    if isinstance(asked, ChatRequest) and asked.offered_tools:
        marker = CALL_FORMATS[policy.call_format].marker
        before = cut_at(text, [marker])
        text = text[: len(text) - held_back(text, [marker])] if before is None else before
        text = text.rstrip()
    return text


def _said(asked: ChatRequest | TextRequest, text: str) -> Body:
    if isinstance(asked, ChatRequest):
        return {"delta": {"content": text} if text else {}}
    return {"text": text}


def _rest(asked: ChatRequest | TextRequest, one: Generation, policy: Policy, sent: str) -> Body:
    """What has not been said yet, calls of tools included."""
    if isinstance(asked, TextRequest):
        return {"text": one.text[len(sent) :], "finish_reason": one.finish_reason}
    message, finish_reason = chat_message(asked, one, policy)
    said = _said(asked, (message["content"] or "")[len(sent) :])
    if "tool_calls" in message:
        calls = enumerate(message["tool_calls"])
        said["delta"]["tool_calls"] = [{"index": index, **call} for index, call in calls]
    return {**said, "finish_reason": finish_reason}


def _version(one: Generation) -> Body:
    return {"policy_version": one.versions[0]} if one.versions else {}


def _event(body: Body) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"
