"""Makes a recorded run of a file of messages: it can be read and exported like any other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from aworld.config import check_text, is_number
from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.core.usage import Usage
from aworld.errors import ConfigError
from aworld.exports.lines import Line, Message, read_lines
from aworld.store.writer import Finished, RunWriter

IMPORTED = "imported"
AT_ONCE = 200  # rollouts that are written together
LARGEST_COUNT = 2**53


@dataclass(frozen=True)
class Imported:
    """What was made of a file."""

    folder: Path
    tasks: int
    samples: int  # of the task that has most
    rollouts: int


def import_messages(
    path: str | os.PathLike[str],
    run_dir: str | os.PathLike[str],
    *,
    reward: str | None = None,
    agent: str = IMPORTED,
) -> Imported:
    """A recorded run, in a new folder, of a JSONL file of messages.

    reward  the name of what gave the rewards that are in the file; else they are called 'imported'
    agent   the name of whoever said it, where the file does not tell

    Lines with the same task_id are samples of one task; a line without one is a task of its own,
    named after its number. All lines are read before anything is written. Scores that were given
    after a run are not taken over, only its rewards.
    """
    path, folder = Path(path), Path(run_dir)
    if not isinstance(agent, str) or not agent:
        raise ConfigError(f"agent must be a name, got {agent!r:.80}")
    check_text("agent", agent)
    places, scored = _places(path)
    if reward is None and scored:
        reward = IMPORTED
    if not places:
        raise ConfigError(f"{path} holds no conversation: each line is to be one")
    tasks = 1 + max(position for position, _ in places)
    samples = 1 + max(sample for _, sample in places)
    meta = {"samples": samples, "total": tasks, "reward": reward}
    source = {"path": str(path.absolute()), "reward": reward}
    config = {"run": {"samples": samples}, "import": source}
    writer = RunWriter.create(folder, meta, config)
    try:
        _write(writer, path, places, samples, agent)
    finally:
        writer.close()
    return Imported(folder, tasks, samples, len(places))


def _places(path: Path) -> tuple[list[tuple[int, int]], bool]:
    """The position of the task and the sample of each line, and whether any has a reward."""
    scored = False
    positions: dict[str, int] = {}
    taken: dict[tuple[int, int], int] = {}  # by place: the number of the line
    free: dict[int, int] = {}  # by position: no sample before this one is free
    for line in read_lines(path):
        if line.task_id not in positions:
            _check_task(line, path)
        position = positions.setdefault(line.task_id, len(positions))
        sample = line.sample
        if sample is None:
            sample = free.get(position, 0)
            while (position, sample) in taken:
                sample += 1
            free[position] = sample + 1
        if (position, sample) in taken:
            raise ConfigError(
                f"{path}:{line.number}: sample {sample} of task {line.task_id!r} is there already, "
                f"at line {taken[position, sample]}"
            )
        taken[position, sample] = line.number
        scored = scored or line.reward is not None
    return list(taken), scored


def _check_task(line: Line, path: Path) -> None:
    try:
        _task(line)
    except ConfigError as error:
        raise ConfigError(f"{path}:{line.number}: {error}") from None


def _write(
    writer: RunWriter, path: Path, places: list[tuple[int, int]], samples: int, agent: str
) -> None:
    digest = blake2b(f"imported {agent}".encode(), digest_size=16).hexdigest()
    number = writer.agent_number(agent, "", digest)
    known = -1
    batch: list[Finished] = []
    for line, (position, sample) in zip(read_lines(path), places, strict=True):
        if position > known:  # the first line of a task says what it is
            known = position
            writer.note_task(position, _task(line), number)
        slot = position * samples + sample
        batch.append(Finished(slot, _response(line, sample, samples, agent)))
        if len(batch) == AT_ONCE:
            writer.record(batch)
            batch = []
    writer.record(batch)


def _task(line: Line) -> Task:
    values = line.values
    asked: Any = line.messages[: line.given]
    if len(asked) == 1 and asked[0] == {"role": "user", "content": str(asked[0].get("content"))}:
        asked = asked[0]["content"]  # a plain question
    return Task(
        values.get("input", asked),
        id=line.task_id,
        ground_truth=values.get("ground_truth"),
        metadata=line.metadata,
    )


def _response(line: Line, sample: int, samples: int, agent: str) -> TaskResponse:
    values = line.values
    speaker = values["agent"] if isinstance(values.get("agent"), str) else agent
    steps = list(_steps(line, speaker))
    answer = values.get("answer")
    if "answer" not in values and line.status == "success" and steps:
        answer = steps[-1]["action"].get("content")
    usage = _usage(values)
    trajectory = Trajectory(
        task_id=line.task_id,
        agent_id=speaker.split("/")[0],
        steps=steps,
        final_result=answer,
        success=line.status == "success",
        reward=line.reward,
        token_count=usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
        execution_time=line.seconds,
        status=line.status,
    )
    return TaskResponse(
        id=line.task_id if samples == 1 else f"{line.task_id}#{sample}",
        answer=answer,
        status=line.status,
        error=line.error,
        time_cost=line.seconds,
        usage=usage,
        trajectory=trajectory,
        attempts=line.attempts,
        reward=line.reward,
        group_id=line.task_id,
        sample_index=sample,
    )


def _steps(line: Line, agent: str) -> Iterator[dict[str, Any]]:
    """One for each reply: what came before it was its prompt, what came after it was observed."""
    messages = line.messages
    replies = [
        place
        for place in range(line.given, len(messages))
        if messages[place]["role"] == "assistant"
    ]
    for number, place in enumerate(replies):
        end = replies[number + 1] if number + 1 < len(replies) else len(messages)
        reply, seen = messages[place], messages[place + 1 : end]
        yield {
            "step": number,
            "agent": agent,
            "action": reply,
            "model_call": _call(line, place),
            "tool_calls": _tool_calls(reply, seen),
            "observation": seen or None,
            "reward": None,
        }


def _call(line: Line, place: int) -> dict[str, Any]:
    """In the form in which models record theirs."""
    reply = line.messages[place]
    return {
        "model": str(line.values.get("model") or ""),
        "messages": line.messages[:place],
        "tools": line.tools,
        "settings": {},
        "reply": reply,
        "finish_reason": "tool_calls" if reply.get("tool_calls") else "stop",
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0},
        "began": 0.0,
        "ended": 0.0,
        "attempts": 1,
        "policy_version": None,
        "prompt_ids": None,
        "completion_ids": None,
        "logprobs": None,
    }


def _tool_calls(reply: Message, seen: list[Message]) -> list[dict[str, Any]]:
    results = {one.get("tool_call_id"): one.get("content") for one in seen if one["role"] == "tool"}
    return [
        {
            "id": call.get("id"),
            "tool": call["function"].get("name"),
            "arguments": call["function"].get("arguments"),
            "result": results.get(call.get("id")),
            "error": None,
            "began": 0.0,
            "ended": 0.0,
        }
        for call in reply.get("tool_calls") or ()
    ]


def _usage(values: dict[str, Any]) -> dict[str, Any]:
    found = values.get("usage")
    if not isinstance(found, dict):
        return {}
    return {
        name: found[name]
        for name in Usage._fields
        if is_number(found.get(name)) and 0 <= found[name] < LARGEST_COUNT
    }
