"""Whole conversations for OpenAI's fine-tuning: {messages, tools}."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aworld.exports.choosing import LeftOut, last_conversation
from aworld.exports.files import Row
from aworld.exports.wording import for_openai
from aworld.store.records import Rollout


def rows(
    rollouts: Iterable[Rollout], left_out: LeftOut, *, agent: str | None = None
) -> Iterator[Row]:
    """agent: the path of the agent whose conversation it is, as in 'team/solver'."""
    for rollout in rollouts:
        conversation = last_conversation(rollout, left_out, agent)
        if conversation is None:
            continue
        row: Row = {"messages": for_openai(conversation.messages, conversation.given)}
        if conversation.tools:  # an empty list is refused
            row["tools"] = conversation.tools
        yield row
