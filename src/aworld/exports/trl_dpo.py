"""Preferences for TRL's DPOTrainer: {prompt, chosen, rejected, tools}, from a task's samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, groupby
from typing import NamedTuple

from aworld.errors import ConfigError, unknown_name
from aworld.exports.choosing import LeftOut, scored_conversations
from aworld.exports.conversations import Conversation
from aworld.exports.files import Columns, Row
from aworld.exports.wording import for_trl, tools_for_trl
from aworld.store.records import Rollout

NO_CONTRAST = "tasks whose samples have no two different rewards"
OTHER_PROMPT = "pairs of samples that did not begin with the same messages"
PAIRS = ("best-worst", "all")


class Sample(NamedTuple):
    reward: float
    conversation: Conversation


def rows(
    rollouts: Iterable[Rollout],
    left_out: LeftOut,
    *,
    pairs: str = "best-worst",
    agent: str | None = None,
) -> Iterator[Row]:
    """pairs: 'best-worst' for one of each task, 'all' for each two with different rewards
    agent: the path of the agent whose conversation it is, as in 'team/solver'"""
    if pairs not in PAIRS:
        raise ConfigError(unknown_name("choice of pairs", str(pairs), PAIRS))
    for _, group in groupby(rollouts, key=lambda rollout: rollout.task.id):
        samples = [Sample(*pair) for pair in scored_conversations(group, left_out, agent)]
        samples.sort(key=lambda sample: sample.reward, reverse=True)
        if not samples or samples[0].reward == samples[-1].reward:
            left_out[NO_CONTRAST] += 1
            continue
        wanted = combinations(samples, 2) if pairs == "all" else [(samples[0], samples[-1])]
        for better, worse in wanted:
            if better.reward == worse.reward:
                continue
            row = _pair(better.conversation, worse.conversation)
            if row is None:
                left_out[OTHER_PROMPT] += 1
            else:
                yield row


def _pair(better: Conversation, worse: Conversation) -> Row | None:
    chosen, rejected = for_trl(better.messages), for_trl(worse.messages)
    prompt = chosen[: better.given]
    if prompt != rejected[: worse.given]:
        return None
    return {
        "prompt": prompt,
        "chosen": chosen[better.given :],
        "rejected": rejected[worse.given :],
        "tools": tools_for_trl(better.tools),
    }


def columns() -> Columns:
    import pyarrow as pa

    messages = pa.list_(pa.json_())
    return {"prompt": messages, "chosen": messages, "rejected": messages, "tools": pa.string()}
