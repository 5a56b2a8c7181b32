"""Whole conversations for TRL's SFTTrainer: {messages, tools}."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aworld.exports.choosing import LeftOut, last_conversation
from aworld.exports.files import Columns, Row
from aworld.exports.wording import for_trl, tools_for_trl
from aworld.store.records import Rollout


def rows(
    rollouts: Iterable[Rollout], left_out: LeftOut, *, agent: str | None = None
) -> Iterator[Row]:
    """agent: the path of the agent whose conversation it is, as in 'team/solver'."""
    for rollout in rollouts:
        conversation = last_conversation(rollout, left_out, agent)
        if conversation is not None:
            yield {
                "messages": for_trl(conversation.messages),
                "tools": tools_for_trl(conversation.tools),
            }


def columns() -> Columns:
    import pyarrow as pa

    return {"messages": pa.list_(pa.json_()), "tools": pa.string()}
