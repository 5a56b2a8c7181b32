"""Conversations to imitate, as episodes: what the assistant says in them is what is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.policies.messages import Tools
from aworld.train.episodes import Episode
from aworld.train.rows import TokenRow

Conversation = Mapping[str, Any]  # {"messages": [...], "tools": [...]}, as TRL has it


def episodes_of(
    policy: Policy, conversations: Sequence[Conversation | Episode], tools: Tools | None = None
) -> list[Episode]:
    """tools: for conversations that do not name theirs."""
    return [
        one if isinstance(one, Episode) else _episode(policy, place, one, tools)
        for place, one in enumerate(conversations)
    ]


def _episode(policy: Policy, place: int, one: Conversation, tools: Tools | None) -> Episode:
    messages = one.get("messages") if isinstance(one, Mapping) else None
    if not isinstance(messages, Sequence) or not all(isinstance(m, Mapping) for m in messages):
        raise ConfigError(
            f"demonstration {place} is no conversation: give {{'messages': [{{'role': ...}}, ...]}}"
        )
    offered = one.get("tools") or tools
    rows: list[TokenRow] = []
    for said, message in enumerate(messages):
        if message.get("role") == "assistant":
            before = policy.encode_chat([dict(m) for m in messages[:said]], offered)
            reply = policy.encode_reply(dict(message), offered)
            length, most = len(before) + len(reply), policy.context_tokens
            if length > most:
                raise ConfigError(
                    f"demonstration {place} has {length} tokens: the context of {policy.name!r} "
                    f"has {most}"
                )
            rows.append(TokenRow.of(before, reply, turn=len(rows)))
    if not rows:
        raise ConfigError(f"demonstration {place} has no message of an assistant: none to imitate")
    name = f"demonstration {place}"
    return Episode(name, name, 0, None, "success", tuple(rows), success=True)
