"""Token ids, log-probabilities and rewards, one row per sequence: for trainers that take tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aworld.core.sequences import TokenSequence, merged, sampled_calls, why_no_tokens
from aworld.exports.choosing import NO_MODEL_CALL, LeftOut
from aworld.exports.files import Columns, Row
from aworld.store.records import Rollout

NO_TOKENS = "rollouts without token ids: have the model's server return them"
NOTHING_SAMPLED = "rollouts in which nothing was sampled"
CALLS = "model calls with "


def rows(
    rollouts: Iterable[Rollout], left_out: LeftOut, *, agent: str | None = None
) -> Iterator[Row]:
    """agent: the path of an agent whose calls alone are wanted, as in 'team/solver'."""
    for rollout in rollouts:
        trajectory = rollout.response.trajectory
        steps = [
            step
            for step in (() if trajectory is None else trajectory.steps)
            if step.get("model_call") and agent in (None, step.get("agent"))
        ]
        calls = sampled_calls(steps)
        if not calls:
            left_out[NO_TOKENS if steps else NO_MODEL_CALL] += 1
            continue
        for step in steps:
            problem = why_no_tokens(step["model_call"])
            if problem:
                left_out[CALLS + problem] += 1
        sequences = merged(calls)
        if not sequences:
            left_out[NOTHING_SAMPLED] += 1
        for number, sequence in enumerate(sequences):
            yield _row(rollout, sequence, number, len(sequences))


def _row(rollout: Rollout, sequence: TokenSequence, number: int, count: int) -> Row:
    return {
        "task_id": rollout.task.id,
        "sample": rollout.sample,
        "status": rollout.response.status,
        "reward": rollout.reward,
        "agent": sequence.agent,
        "model": sequence.model,
        "prompt_ids": sequence.prompt_ids,
        "completion_ids": sequence.completion_ids,
        "loss_mask": sequence.loss_mask,
        "logprobs": sequence.logprobs,
        "policy_version": sequence.turns[0].policy_version,  # the oldest, if they differ
        "turns": [turn._asdict() for turn in sequence.turns],
        "sequence": number,
        "sequences": count,  # of this rollout: the reward is that of all of them together
    }


def columns() -> Columns:
    import pyarrow as pa

    turn = {
        "start": pa.int32(),
        "end": pa.int32(),
        "policy_version": pa.string(),
        "finish_reason": pa.string(),
        "reward": pa.float64(),
        "call": pa.int32(),
    }
    return {
        "task_id": pa.string(),
        "sample": pa.int32(),
        "status": pa.string(),
        "reward": pa.float64(),
        "agent": pa.string(),
        "model": pa.string(),
        "prompt_ids": pa.list_(pa.int32()),
        "completion_ids": pa.list_(pa.int32()),
        "loss_mask": pa.list_(pa.int8()),
        "logprobs": pa.list_(pa.float64()),
        "policy_version": pa.string(),
        "turns": pa.list_(pa.struct(turn)),
        "sequence": pa.int32(),
        "sequences": pa.int32(),
    }
