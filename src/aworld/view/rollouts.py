"""One rollout with all that is known of it, and the other samples of its group."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aworld.core.plain import plain
from aworld.errors import ConfigError, DamagedError, StoreError
from aworld.exports.conversations import conversations
from aworld.rewards.base import Scored
from aworld.store.folder import CONFIG
from aworld.store.reader import Run
from aworld.store.records import Rollout
from aworld.store.telling import as_data
from aworld.view.conversation import turns_of
from aworld.view.figures import rows_of
from aworld.view.verdicts import last_verdict_on
from aworld.view.wording import as_text

MOST_SAMPLES = 16  # of a group, side by side


def asked_for(run: Run, asked: Mapping[str, str]) -> tuple[int, int | None]:
    """The slot, and which of its attempts, by the words of a URL."""
    attempt = int(asked["attempt"]) if asked.get("attempt", "").isdecimal() else None
    slot, sample = asked.get("slot", ""), asked.get("sample") or "0"
    if slot.isdecimal() and len(slot) < 16:
        return int(slot), attempt
    if not sample.isdecimal() or int(sample) >= run.samples:
        raise ConfigError(f"there is no sample {sample!r:.40}: the run has {run.samples}")
    return run.position_of(asked.get("task", "")) * run.samples + int(sample), attempt


def found(run: Run, slot: int, attempt: int | None) -> tuple[Rollout, int]:
    """The rollout, and how many there are of it, those included that were given up for a later."""
    try:
        rollout = run.rollout_at(slot)
    except LookupError:
        raise ConfigError("there is no result of this task yet: it is owed, or runs now") from None
    earlier = run.earlier(rollout.task.id, rollout.sample) if rollout.round else []
    if attempt is not None and 1 <= attempt <= len(earlier):
        return earlier[attempt - 1], len(earlier) + 1
    return rollout, len(earlier) + 1


def whole(run: Run, slot: int, attempt: int | None = None) -> dict[str, Any]:
    """For the page of one rollout."""
    rollout, attempts = found(run, slot, attempt)
    response, task = rollout.response, rollout.task
    error = response.error
    worker, began = _place(run, slot)
    return {
        "slot": slot,
        "task": task.id,
        "sample": rollout.sample,
        "samples": run.samples,
        "status": response.status,
        "reward": rollout.reward,
        "scores": _scores(run, rollout),
        "seconds": response.time_cost,
        "began": rollout.ended - response.time_cost if began is None else began,
        "ended": rollout.ended,
        "worker": worker,
        "tries": response.attempts,
        "attempt": rollout.round + 1,
        "attempts": attempts,
        "usage": plain(response.usage),
        "input": as_text(task.input),
        "answer": None if response.answer is None else as_text(response.answer),
        "ground_truth": None if task.ground_truth is None else as_text(task.ground_truth),
        "metadata": plain(task.metadata),
        "error": None if error is None else asdict(error),
        "turns": turns_of(rollout),
        "verdict": last_verdict_on(run.folder, task.id, rollout.sample),
        "command": _command_of(run, rollout),
    }


def group_of(run: Run, slot: int) -> dict[str, Any]:
    """All samples of one task."""
    first = slot - slot % run.samples
    task = run.task_at(first // run.samples)
    samples = []
    for place in range(first, first + min(run.samples, MOST_SAMPLES)):
        try:
            samples.append(whole(run, place))
        except (ConfigError, DamagedError) as error:
            samples.append({"slot": place, "sample": place - first, "missing": str(error)})
    return {"task": task.id, "input": as_text(task.input), "samples": samples, "of": run.samples}


def as_json(run: Run, slot: int, attempt: int | None = None) -> dict[str, Any]:
    """All that was recorded."""
    rollout, _ = found(run, slot, attempt)
    return as_data(rollout)


def as_messages(run: Run, slot: int, attempt: int | None = None) -> list[dict[str, Any]]:
    """Each conversation of the rollout, from its first message to its last."""
    rollout, _ = found(run, slot, attempt)
    trajectory = rollout.response.trajectory
    told = [] if trajectory is None else conversations(trajectory.steps)
    return [{"agent": one.agent, "messages": plain(one.messages)} for one in told]


def _command_of(run: Run, rollout: Rollout) -> str:
    """What runs this one task again, from the shell; empty where the run was not made there."""
    try:
        asked = run.config.get("command", {})
    except StoreError:
        return ""
    if not asked.get("tasks") or asked["tasks"] == "-":
        return ""
    words = ["aworld", "run", "--config", str(run.folder / CONFIG), "--only", rollout.task.id]
    if run.samples > 1:
        words += ["--samples", "1"]
    return shlex.join(words)


def _place(run: Run, slot: int) -> tuple[int | None, float | None]:
    """The worker, and when it began."""
    query = f"select worker, began from ({rows_of(run)}) where slot = ?"
    return run.connection.execute(query, (slot,)).fetchone() or (None, None)


def _scores(run: Run, rollout: Rollout) -> list[dict[str, Any]]:
    """Those of the run itself first."""
    scores = [_score(name, scored) for name, scored in rollout.scores.items()]
    in_run = run.scorings[0]
    trajectory = rollout.response.trajectory
    if in_run.name:
        more = {} if trajectory is None else trajectory.metadata.get("scored") or {}
        query = "select reward from results where slot = ?"
        row = run.connection.execute(query, (rollout.slot,)).fetchone()
        value = rollout.reward if run.scoring.number == 0 else (row[0] if row else None)
        error = more.get("error") or {}
        scores.insert(
            0,
            {
                "name": in_run.name,
                "value": value,
                "parts": plain(more.get("parts") or {}),
                "reason": as_text(more.get("reason")),
                "error": as_text(error.get("message")) if isinstance(error, Mapping) else "",
            },
        )
    return scores


def _score(name: str, scored: Scored) -> dict[str, Any]:
    error = "" if scored.error is None else f"{scored.error.kind}: {scored.error.message}"
    parts = {"name": name, "value": scored.value, "parts": plain(scored.parts)}
    return {**parts, "reason": scored.reason, "error": error}
