"""One line of JSON per rollout: the conversation, and what there is to know about it.

This is the form that `import_messages` makes a run of again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from aworld.core.plain import plain
from aworld.exports.choosing import EARLIER, NOT_BY_AGENT, LeftOut, conversations_of
from aworld.exports.conversations import Conversation
from aworld.exports.files import Row
from aworld.rewards.base import Scored, has_answer, text_of
from aworld.store.records import Rollout


def rows(
    rollouts: Iterable[Rollout], left_out: LeftOut, *, agent: str | None = None
) -> Iterator[Row]:
    """agent: the path of the agent whose conversation it is, as in 'team/solver'."""
    for rollout in rollouts:
        row = row_of(rollout, left_out, agent)
        if row is not None:
            yield row


def row_of(rollout: Rollout, left_out: LeftOut, agent: str | None) -> Row | None:
    task, response = rollout.task, rollout.response
    found = conversations_of(rollout, agent)
    if not found and agent is not None:
        left_out[NOT_BY_AGENT] += 1
        return None
    left_out[EARLIER] += max(len(found) - 1, 0)
    said = _said(found[-1]) if found else _in_words(rollout)
    error = response.error
    return {
        "task_id": task.id,
        "sample": rollout.sample,
        "status": response.status,
        "reward": rollout.reward,
        "scores": {name: _as_data(scored) for name, scored in rollout.scores.items()},
        "input": task.input,
        "ground_truth": task.ground_truth,
        "answer": response.answer,
        **said,
        "error": None if error is None else {"kind": error.kind, "message": error.message},
        "usage": response.usage,
        "seconds": response.time_cost,
        "attempts": response.attempts,
        "metadata": task.metadata,
    }


def _as_data(scored: Scored) -> dict[str, Any]:
    said: dict[str, Any] = {"value": scored.value}
    if scored.parts:
        said["parts"] = scored.parts
    if scored.reason:
        said["reason"] = scored.reason
    if scored.error is not None:
        said["error"] = {"kind": scored.error.kind, "message": scored.error.message}
    return said


def _said(conversation: Conversation) -> Row:
    return {
        "messages": conversation.messages,
        "given": conversation.given,  # so many of them were there before the first reply
        "tools": conversation.tools,
        "agent": conversation.agent,
    }


def _in_words(rollout: Rollout) -> Row:
    """Of an agent that asked no model: what it was asked, and what it answered."""
    trajectory = rollout.response.trajectory
    messages = given = as_messages(rollout.task.input)
    answer = rollout.response.answer
    if answer is not None and trajectory is not None and has_answer(trajectory):
        messages = [*given, {"role": "assistant", "content": _text(answer)}]
    speaker = "" if trajectory is None else trajectory.agent_id
    return {"messages": messages, "given": len(given), "tools": [], "agent": speaker}


def as_messages(input: Any) -> list[dict[str, Any]]:
    """A task's input as a model would be asked."""
    if isinstance(input, list) and input and all(_is_message(part) for part in input):
        return input
    return [{"role": "user", "content": _text(input)}]


def _is_message(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("role"), str)


def _text(value: Any) -> str:
    return "" if value is None else text_of(plain(value))
