"""Single judgements for TRL's KTOTrainer: {prompt, completion, label, tools}."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aworld.config import is_number
from aworld.errors import ConfigError
from aworld.exports.choosing import LeftOut, scored_conversations
from aworld.exports.files import Columns, Row
from aworld.exports.wording import for_trl, tools_for_trl
from aworld.store.records import Rollout


def rows(
    rollouts: Iterable[Rollout],
    left_out: LeftOut,
    *,
    threshold: float = 0.5,
    agent: str | None = None,
) -> Iterator[Row]:
    """threshold: the least reward that makes a completion a good one
    agent: the path of the agent whose conversation it is, as in 'team/solver'"""
    if not is_number(threshold):
        raise ConfigError(f"threshold must be a number, got {threshold!r:.80}")
    for reward, conversation in scored_conversations(rollouts, left_out, agent):
        messages = for_trl(conversation.messages)
        yield {
            "prompt": messages[: conversation.given],
            "completion": messages[conversation.given :],
            "label": reward >= threshold,
            "tools": tools_for_trl(conversation.tools),
        }


def columns() -> Columns:
    import pyarrow as pa

    messages = pa.list_(pa.json_())
    return {"prompt": messages, "completion": messages, "label": pa.bool_(), "tools": pa.string()}
