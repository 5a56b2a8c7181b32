"""A recorded rollout as plain data, for programs; step by step, for those who show it to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from aworld.core.plain import plain
from aworld.store.records import Rollout


def as_data(rollout: Rollout) -> dict[str, Any]:
    """All that was recorded."""
    response, task = rollout.response, rollout.task
    error, trajectory = response.error, response.trajectory
    return {
        "task": {
            "id": task.id,
            "input": plain(task.input),
            "ground_truth": plain(task.ground_truth),
            "tools": task.tools,
            "metadata": plain(task.metadata),
        },
        "sample": rollout.sample,
        "status": response.status,
        "answer": plain(response.answer),
        "error": None if error is None else asdict(error),
        "reward": rollout.reward,
        "scores": {name: plain(asdict(one)) for name, one in rollout.scores.items()},
        "seconds": response.time_cost,
        "usage": plain(response.usage),
        "trajectory": None if trajectory is None else trajectory.to_dict(),
    }


class Told(NamedTuple):
    """A step, and of its conversation what no step before it has told."""

    step: Mapping[str, Any]
    agent: str
    call: Mapping[str, Any] | None = None  # None: no model was asked
    messages: Sequence[Any] = ()  # that came before the reply
    reply: Any = None
    results: Sequence[Any] = ()
    begins_anew: bool = False  # not where the agent's last call ended: all of it is told


def told_steps(rollout: Rollout) -> list[Told]:
    """In the order in which they happened. Each agent has a conversation of its own."""
    found: list[Told] = []
    known: dict[str, list[Any]] = {}  # by agent: its conversation, as far as it was told
    for step in rollout.trajectory.steps:
        if not isinstance(step, Mapping):
            continue
        call, agent = step.get("model_call"), str(step.get("agent") or "")
        if not isinstance(call, Mapping):
            found.append(Told(step, agent))
            continue
        messages, before = list(call.get("messages") or ()), known.get(agent, [])
        start = len(before) if messages[: len(before)] == before else 0
        reply, observed = call.get("reply") or {}, step.get("observation")
        results = observed if isinstance(observed, list) else [observed] if observed else []
        known[agent] = [*messages, reply, *results]
        anew = bool(before) and not start
        found.append(Told(step, agent, call, messages[start:], reply, results, anew))
    return found
