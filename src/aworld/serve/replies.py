"""What the server answers, in OpenAI's words, with vLLM's for token ids and our policy version."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Any

from aworld.policies.base import Policy
from aworld.serve.calls import read_calls
from aworld.serve.generation import Generation
from aworld.serve.requests import ChatRequest, TextRequest

Body = dict[str, Any]


def envelope(kind: str, policy: Policy) -> Body:
    start = "chatcmpl" if kind.startswith("chat") else "cmpl"
    return {
        "id": f"{start}-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": policy.name,
    }


def reply(asked: ChatRequest | TextRequest, made: list[Generation], policy: Policy) -> Body:
    """`policy_version` is that of the oldest token: how stale the reply may be."""
    is_chat = isinstance(asked, ChatRequest)
    body = envelope("chat.completion" if is_chat else "text_completion", policy)
    body["choices"] = [
        _chat_choice(asked, one, index, policy)
        if isinstance(asked, ChatRequest)
        else _text_choice(asked, one, index, policy)
        for index, one in enumerate(made)
    ]
    body["usage"] = usage(made)
    if asked.return_token_ids:
        body["prompt_token_ids"] = made[0].prompt
    body["policy_version"] = min(one.versions[0] for one in made)
    return body


def usage(made: list[Generation]) -> Body:
    prompt, completion = len(made[0].prompt), sum(len(one.ids) for one in made)
    total = prompt + completion
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}


def _chat_choice(asked: ChatRequest, one: Generation, index: int, policy: Policy) -> Body:
    message, finish_reason = chat_message(asked, one, policy)
    choice = {"index": index, "message": message, "finish_reason": finish_reason}
    return choice | token_facts(asked, one, policy, 0, len(one.ids))


def _text_choice(asked: TextRequest, one: Generation, index: int, policy: Policy) -> Body:
    choice = {"index": index, "text": one.text, "finish_reason": one.finish_reason}
    return choice | token_facts(asked, one, policy, 0, len(one.ids))


def chat_message(asked: ChatRequest, one: Generation, policy: Policy) -> tuple[Body, str]:
    """The message that a text means, and why it ended."""
    message: Body = {"role": "assistant", "content": one.text}
    if not asked.offered_tools:
        return message, str(one.finish_reason)
    text, calls = read_calls(one.text, asked.offered_tools, policy.call_format)
    if not calls:
        return message, str(one.finish_reason)
    message["content"] = text or None
    message["tool_calls"] = [
        {
            "id": f"call_{_digest(one, number)}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for number, call in enumerate(calls)
    ]
    return message, "tool_calls" if one.finish_reason == "stop" else str(one.finish_reason)


def token_facts(
    asked: ChatRequest | TextRequest, one: Generation, policy: Policy, start: int, end: int
) -> Body:
    """Of the tokens from `start` to `end`: with which version, how likely, which ids."""
    ids, logprobs = one.ids[start:end], one.logprobs[start:end]
    facts: Body = {"policy_versions": one.versions[start:end], "logprobs": None}
    if isinstance(asked, ChatRequest) and asked.logprobs:
        pairs = zip(ids, logprobs, strict=True)
        facts["logprobs"] = {
            "content": [
                {
                    "token": policy.piece(token),
                    "logprob": logprob,
                    "bytes": None,
                    "top_logprobs": [],
                }
                for token, logprob in pairs
            ]
        }
    elif isinstance(asked, TextRequest) and asked.logprobs is not None:
        tokens = [policy.piece(token) for token in ids]
        facts["logprobs"] = {"tokens": tokens, "token_logprobs": logprobs}
    if asked.return_token_ids:
        facts["token_ids"] = ids
    return facts


def _digest(one: Generation, number: int) -> str:
    """The same for the same call, another one for the next call in the conversation."""
    made = repr((one.prompt, one.ids, number)).encode()
    return hashlib.blake2b(made, digest_size=6).hexdigest()
