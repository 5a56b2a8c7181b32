"""One row per rollout, in columns whose types are always the same.

What is nested (messages, tools, scores, metadata) is JSON text: every reader of Parquet takes it,
whatever models have put into their messages. Answers and ground truths are texts as they are, and
JSON if they were no texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from aworld.core.plain import plain
from aworld.exports.choosing import LeftOut
from aworld.exports.files import Columns, Row, json_text
from aworld.exports.messages import row_of
from aworld.rewards.base import text_of
from aworld.store.records import Rollout

NESTED = ("scores", "messages", "tools", "metadata")
IN_WORDS = ("input", "ground_truth", "answer")
COUNTED = ("model_calls", "prompt_tokens", "completion_tokens", "cost")


def rows(
    rollouts: Iterable[Rollout], left_out: LeftOut, *, agent: str | None = None
) -> Iterator[Row]:
    """agent: the path of the agent whose conversation it is, as in 'team/solver'."""
    for rollout in rollouts:
        row = row_of(rollout, left_out, agent)
        if row is None:
            continue
        usage, error = row.pop("usage"), row.pop("error")
        yield {
            **row,
            **{name: json_text(row[name]) for name in NESTED},
            **{name: _in_words(row[name]) for name in IN_WORDS},
            **{name: usage.get(name, 0) for name in COUNTED},
            "error": None if error is None else f"{error['kind']}: {error['message']}",
        }


def columns() -> Columns:
    import pyarrow as pa

    return {
        "task_id": pa.string(),
        "sample": pa.int32(),
        "status": pa.string(),
        "reward": pa.float64(),
        "scores": pa.string(),
        "input": pa.string(),
        "ground_truth": pa.string(),
        "answer": pa.string(),
        "messages": pa.string(),
        "given": pa.int32(),
        "tools": pa.string(),
        "agent": pa.string(),
        "error": pa.string(),
        "model_calls": pa.int64(),
        "prompt_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
        "cost": pa.float64(),
        "seconds": pa.float64(),
        "attempts": pa.int32(),
        "metadata": pa.string(),
    }


def _in_words(value: Any) -> str | None:
    return None if value is None else text_of(plain(value))
