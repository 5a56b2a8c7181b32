"""Questions for verl's trainers, one row per task: what is asked, and what the right answer is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from aworld.config import check_text
from aworld.core.plain import plain
from aworld.errors import ConfigError
from aworld.exports.choosing import LeftOut, conversations_of
from aworld.exports.files import Columns, Row, json_text
from aworld.exports.messages import as_messages
from aworld.rewards.base import text_of
from aworld.store.records import Rollout

NO_TRUTH = "tasks without a ground truth"
NO_TEXT = "tasks whose prompt is more than text: images, or calls of tools"


def rows(
    rollouts: Iterable[Rollout],
    left_out: LeftOut,
    *,
    data_source: str = "aworld",
    ability: str = "agent",
    split: str = "train",
    agent: str | None = None,
) -> Iterator[Row]:
    """data_source, ability: as verl's reward functions know them; a task's metadata of the same
    names goes before
    split: what the rows are for
    agent: the path of the agent that is asked, as in 'team/solver'"""
    for name, text in (("data_source", data_source), ("ability", ability), ("split", split)):
        if not isinstance(text, str) or not text:
            raise ConfigError(f"{name} must be a text, got {text!r:.80}")
        check_text(name, text)
    index = 0
    for _, group in groupby(rollouts, key=lambda rollout: rollout.task.id):
        samples = list(group)
        task, prompt = samples[0].task, _prompt(samples, agent)
        if task.ground_truth is None:
            left_out[NO_TRUTH] += 1
        elif prompt is None:
            left_out[NO_TEXT] += 1
        else:
            info = {"split": split, "index": index, "task_id": task.id}
            yield {
                "data_source": str(task.metadata.get("data_source") or data_source),
                "prompt": prompt,
                "ability": str(task.metadata.get("ability") or ability),
                "reward_model": {
                    "style": "rule",
                    "ground_truth": text_of(plain(task.ground_truth)),
                },
                "extra_info": {**info, "metadata": json_text(task.metadata)},
            }
            index += 1


def columns() -> Columns:
    import pyarrow as pa

    text = pa.string()
    return {
        "data_source": text,
        "prompt": pa.list_(pa.struct({"role": text, "content": text})),
        "ability": text,
        "reward_model": pa.struct({"style": text, "ground_truth": text}),
        "extra_info": pa.struct(
            {"split": text, "index": pa.int64(), "task_id": text, "metadata": text}
        ),
    }


def _prompt(samples: list[Rollout], agent: str | None) -> list[dict[str, str]] | None:
    """What the model was asked first, in any sample; the task's input if it never was."""
    asked: list[dict[str, Any]] = as_messages(samples[0].task.input)
    for sample in samples:
        found = conversations_of(sample, agent)
        if found:
            asked = found[0].messages[: found[0].given]
            break
    if any(not isinstance(m.get("content"), str) or m.get("tool_calls") for m in asked):
        return None
    return [{"role": message["role"], "content": message["content"]} for message in asked]
