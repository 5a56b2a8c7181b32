"""A run of conversations: tools, sub-agents, samples of a group, tokens, verdicts of a training."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from scenes import step_of

from aworld.core.failure import ErrorInfo
from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.store.writer import Finished, RunWriter

SYSTEM = (
    "You solve word problems. Think step by step, use the calculator for every sum, and end with a "
    "line that begins with ANSWER."
)
QUESTIONS = [
    ("A baker sells 14 loaves in the morning and 27 in the afternoon. How many is that?", 41),
    ("A train leaves with 240 people; 35 get off, 18 get on. How many are on it?", 223),
    ("Each of 12 boxes holds 18 pencils. How many pencils are there?", 216),
    ("Anna is 7 years younger than Ben, who is 31. How old is Anna?", 24),
    ("A tank of 90 litres loses 4 litres an hour. How much is left after 6 hours?", 66),
    ("Three friends share 87 euros equally. How much does each get?", 29),
]


def conversations(folder: Path, *, samples: int = 4, team: bool = True) -> Path:
    """Six word problems, each in several samples; the last one is solved by a team of agents."""
    luck = random.Random(7)
    reward = {"samples": samples, "reward": "numeric_match"}
    writer = RunWriter.create(folder, reward, _config(samples))
    agent = writer.agent_number("solver", "agents.py:solver", "talks")
    start, finished, verdicts = time.time() - 300, [], []
    for position, (question, answer) in enumerate(QUESTIONS):
        levels = {"level": 1 + position % 2, "tags": ["money" if "euros" in question else "count"]}
        task = Task(question, id=f"word-{position + 1}", ground_truth=answer, metadata=levels)
        writer.note_task(position, task, agent)
        for sample in range(samples):
            began = start + position * 5 + sample * 1.1
            in_team = team and position == len(QUESTIONS) - 1
            response = (_of_team if in_team else _of_one)(task, answer, sample, began, luck)
            response.worker, response.began = sample % 2, began
            finished.append(Finished(position * samples + sample, response))
            verdicts.append(_verdict(task.id, sample, response))
    writer.record(finished)
    writer.set_meta(total=len(QUESTIONS), created=start)
    writer.close()
    (folder / "verdicts.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in verdicts))
    return folder


def _of_one(
    task: Task, answer: int, sample: int, began: float, luck: random.Random
) -> TaskResponse:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task.input}]
    right = luck.random() < 0.7
    sums = _sum_of(answer)
    call = {"name": "calculator", "arguments": json.dumps({"expression": sums})}
    asks = {"role": "assistant", "content": "I need the sum of the two numbers.", "tool_calls": []}
    asks["tool_calls"] = [{"id": "c1", "type": "function", "function": call}]
    seen = [{"role": "tool", "tool_call_id": "c1", "content": str(answer)}]
    value = answer if right else answer + 10
    says = {"role": "assistant", "content": f"The calculator gives {value}.\nANSWER: {value}"}
    words = ["The", " calculator", " gives", f" {value}", ".", "\n", "ANSWER", ":", f" {value}"]
    first = step_of("solver", messages, asks, seen, began=began + 0.05, seconds=0.8)
    first["tool_calls"] = [
        {
            "id": "c1",
            "tool": "calculator",
            "arguments": call["arguments"],
            "result": answer,
            "error": None,
            "began": began + 0.86,
            "ended": began + 0.95,
        }
    ]
    later = [*messages, asks, *seen]
    second = step_of("solver", later, says, texts=words, began=began + 1.0, seconds=0.7)
    return _response(task, sample, [first, second], str(value), float(right), 1.75)


def _of_team(
    task: Task, answer: int, sample: int, began: float, luck: random.Random
) -> TaskResponse:
    steps = []
    for number, (name, words) in enumerate(
        [
            ("planner", "Divide the whole by the number of friends."),
            ("checker", f"3 x {answer} = 87"),
        ]
    ):
        messages = [
            {"role": "system", "content": f"You are the {name} of a team."},
            {"role": "user", "content": task.input},
        ]
        reply = {"role": "assistant", "content": words}
        offset = began + 0.1 + number * 0.2
        steps.append(step_of(f"team/{name}", messages, reply, began=offset, seconds=0.9))
    if sample == 2:
        response = _response(task, sample, steps, None, None, 1.9)
        response.status = "failed"
        trace = (
            'Traceback (most recent call last):\n  File "agents.py", line 40, in vote\n    raise'
        )
        response.error = ErrorInfo("ValueError", "the team could not agree", f"{trace} ValueError")
        return response
    messages = [{"role": "user", "content": f"Put it together: {task.input}"}]
    reply = {"role": "assistant", "content": f"ANSWER: {answer}"}
    steps.append(step_of("team", messages, reply, began=began + 1.4, seconds=0.5))
    return _response(task, sample, steps, f"ANSWER: {answer}", 1.0, 2.0)


def _response(
    task: Task,
    sample: int,
    steps: list[dict[str, Any]],
    answer: str | None,
    reward: float | None,
    seconds: float,
) -> TaskResponse:
    for number, step in enumerate(steps):
        step["step"] = number
    usage = {
        "model_calls": len(steps),
        "prompt_tokens": 60,
        "completion_tokens": 21,
        "cost": 0.0002,
    }
    scored = {"parts": {"right": reward, "short": 0.9}, "reason": "compared with the ground truth"}
    more = {} if reward is None else {"scored": scored}
    trajectory = Trajectory(task.id, "solver", steps, answer, token_count=81, metadata=more)
    return TaskResponse(
        f"{task.id}#{sample}", answer, "success", None, seconds, usage, trajectory, 1, reward
    )


def _verdict(task: str, sample: int, response: TaskResponse) -> dict[str, Any]:
    trained = response.reward is not None
    return {
        "step": 4,
        "task_id": task,
        "sample": sample,
        "trained": trained,
        "reason": "" if trained else "no reward",
        "reward": response.reward,
        "advantage": (response.reward - 0.7) if trained and response.reward is not None else None,
        "weight": 0.04 if trained else 0.0,
    }


def _sum_of(answer: int) -> str:
    return f"{answer - 13} + 13"


def _config(samples: int) -> dict[str, Any]:
    run = {"engine_name": "local", "worker_num": 2, "tasks_per_worker": 4, "samples": samples}
    command = {"tasks": "words.jsonl", "agent": "agents.py:solver", "reward": ["numeric_match"]}
    return {"run": run, "command": command}
