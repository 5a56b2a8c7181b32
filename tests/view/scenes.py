"""Runs to be looked at: written by the store's own writer, so that they are what real ones are."""

from __future__ import annotations

import json
import math
import random
import time
from pathlib import Path
from typing import Any

from aworld.core.failure import ErrorInfo
from aworld.core.plain import printable
from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.store.writer import Finished, RunWriter
from aworld.train.folders import CONFIG
from aworld.train.journal import METRICS

WORKERS, SLOTS = 4, 8
TRACEBACK = """Traceback (most recent call last):
  File "agents.py", line 31, in solve
    return parse(reply)
  File "agents.py", line 12, in parse
    raise ValueError(f"no number in {text!r}")
ValueError: no number in 'I would rather not say'
"""


def many_tasks(folder: Path, count: int, *, seed: int = 1) -> Path:
    """A finished run of `count` synthetic tasks, on 4 workers of 8 slots."""
    luck = random.Random(seed)
    meta = {"samples": 1, "reward": "exact_match"}
    config = {"run": {"engine_name": "local", "worker_num": WORKERS, "tasks_per_worker": SLOTS}}
    writer = RunWriter.create(folder, meta, config)
    agent = writer.agent_number("solver", "", "synthetic")
    free = [(float(place % 7) / 50, place) for place in range(WORKERS * SLOTS)]
    start = time.time() - 3_600
    finished: list[Finished] = []
    for position in range(count):
        tags = ["easy", "arithmetic"] if position % 3 else ["hard"]
        task = Task(f"question {position}: {position} + 1 = ?", id=f"q{position}", ground_truth=0)
        task.metadata = {"tags": tags, "level": position % 3}
        writer.note_task(position, task, agent)
        free.sort()
        began, lane = free.pop(0)
        seconds = luck.lognormvariate(-1.0, 0.6)
        free.append((began + seconds + luck.random() / 50, lane))
        response = _answered(position, luck, seconds)
        response.worker, response.began = lane // SLOTS, start + began
        finished.append(Finished(position, response))
    for start_of_batch in range(0, count, 2_000):
        writer.record(finished[start_of_batch : start_of_batch + 2_000])
    _with_real_times(writer, finished)
    writer.set_meta(total=count, created=start)
    writer.close()
    return folder


def at_times(
    folder: Path, times: list[tuple[int, float, float, str]], *, slots: int = 2, total: int = 0
) -> Path:
    """A run of tasks that ran then and there: worker, beginning, seconds and status of each."""
    config = {"run": {"engine_name": "local", "worker_num": 1, "tasks_per_worker": slots}}
    writer = RunWriter.create(folder, {"samples": 1, "reward": "exact_match"}, config)
    agent, finished = writer.agent_number("solver", "", "synthetic"), []
    start = time.time() - 3_600
    for position, (worker, began, seconds, status) in enumerate(times):
        writer.note_task(position, Task(str(position), id=f"q{position}"), agent)
        response = TaskResponse(f"q{position}", "1", status, time_cost=seconds, worker=worker)
        response.began = start + began
        response.reward = 1.0 if status == "success" else None
        finished.append(Finished(position, response))
    writer.record(finished)
    _with_real_times(writer, finished)
    writer.set_meta(total=total or len(times), created=start)
    writer.close()
    return folder


def _answered(position: int, luck: random.Random, seconds: float) -> TaskResponse:
    right = luck.random() < 0.6 + 0.3 * min(position / 20_000, 1.0)
    status: Any = luck.choices(("success", "failed", "timeout", "truncated"), (94, 3, 2, 1))[0]
    step = {"step": 0, "agent": "solver", "action": str(position + 1), "reward": None}
    response = TaskResponse(f"q{position}", str(position + right), status, time_cost=seconds)
    response.trajectory = Trajectory(response.id, "solver", [step], token_count=40 + position % 90)
    response.reward = float(right) if status == "success" else None
    if status != "success":
        response.answer = None
        kind = {"failed": "ValueError", "timeout": "TimeoutError", "truncated": "TruncatedError"}
        response.error = ErrorInfo(kind[status], "it did not work out", TRACEBACK)
    return response


def _with_real_times(writer: RunWriter, finished: list[Finished]) -> None:
    """As if each had been recorded when it ended."""
    from aworld.store.records import RESULT_COLUMNS, ResultRow

    run = writer._connection
    query = f"select {RESULT_COLUMNS} from results order by slot"
    rows = [ResultRow(*row) for row in run.execute(query).fetchall()]
    changed = []
    for row, (_, response, _) in zip(rows, finished, strict=True):
        new = row._replace(ended=(response.began or 0.0) + response.time_cost)
        changed.append((new.ended, new.crc, new.slot))
    run.execute("begin")
    run.executemany("update results set ended = ?, crc = ? where slot = ?", changed)
    run.execute("commit")


def functions(folder: Path, ids: list[str], *, status: Any = "success") -> None:
    """A run of an agent without a model, five at a time, from the shell."""
    config = {"run": {"worker_num": 1, "tasks_per_worker": 5}, "command": {"tasks": "t.jsonl"}}
    writer = RunWriter.create(folder, {"samples": 1, "reward": "exact_match"}, config)
    agent, finished, start = writer.agent_number("double", "", "function"), [], time.time() - 60
    for position, name in enumerate(ids):
        writer.note_task(position, Task(str(position), id=name, ground_truth=2), agent)
        response = TaskResponse(name, "2", status, time_cost=1.0, worker=0)
        response.began = start + 1.1 * (position // 5)
        step = {"step": 0, "agent": "double", "action": "2", "reward": None}
        if status != "success":
            response.answer = None
            response.error = ErrorInfo("ValueError", "no number", TRACEBACK)
            step = {"step": 0, "agent": "double", "error": "ValueError: no number"}
        response.reward = 1.0 if status == "success" else 0.0
        response.trajectory = Trajectory(name, "double", [step])
        finished.append(Finished(position, response))
    writer.record(finished)
    writer.set_meta(total=len(finished))
    writer.close()


def odd_texts(folder: Path, texts: list[str]) -> Path:
    """A run in which each text stands wherever a model or a tool can write one."""
    writer = RunWriter.create(folder, {"samples": 1, "reward": "contains"}, {"run": {}})
    finished = []
    for position, text in enumerate(texts):
        task = Task(
            text,
            id=f"{printable(text[:40])} {position}",
            ground_truth=text,
            metadata={"tags": [text]},
        )
        writer.note_task(position, task, writer.agent_number(text, "", "odd"))
        function = {"name": text, "arguments": json.dumps({text: text})}
        call = {"id": "1", "type": "function", "function": function}
        reply = {"role": "assistant", "content": text, "reasoning_content": text}
        reply |= {"tool_calls": [call]}
        seen = [{"role": "tool", "tool_call_id": "1", "content": text, "name": text}]
        messages = [{"role": "system", "content": text}, {"role": "user", "content": text}]
        step = step_of(text, messages, reply, seen, texts=[text], model=text)
        response = TaskResponse(task.id, text, "failed", time_cost=0.1, worker=0, began=time.time())
        response.error = ErrorInfo(text[:80] or "E", text, text)
        response.trajectory = Trajectory(
            task.id, text, [step], metadata={"scored": {"reason": text}}
        )
        finished.append(Finished(position, response))
    writer.record(finished)
    writer.set_meta(total=len(texts))
    writer.close()
    return folder


def step_of(
    agent: str,
    messages: list[dict[str, Any]],
    reply: dict[str, Any],
    seen: list[dict[str, Any]] | None = None,
    *,
    texts: list[str] | None = None,
    model: str = "tiny",
    began: float = 0.0,
    seconds: float = 0.4,
) -> dict[str, Any]:
    """A model call as it is recorded, with log-probabilities where there are texts of tokens."""
    usage = {"prompt_tokens": 30, "completion_tokens": len(texts or ()) or 12, "cost": 0.0001}
    call = {
        "model": model,
        "messages": messages,
        "tools": [],
        "settings": {"temperature": 1.0},
        "reply": reply,
        "finish_reason": "tool_calls" if reply.get("tool_calls") else "stop",
        "usage": usage,
        "began": began,
        "ended": began + seconds,
        "attempts": 1,
        "policy_version": "3",
        "prompt_ids": [1] * 30 if texts else None,
        "completion_ids": list(range(len(texts))) if texts else None,
        "logprobs": [-0.02 - (7 * n % 23) ** 2 / 90 for n in range(len(texts))] if texts else None,
        "completion_texts": texts,
    }
    step = {"step": 0, "agent": agent, "action": reply, "model_call": call, "reward": None}
    return {**step, "observation": seen}


def training(folder: Path, *, steps: int = 60, seed: int = 3) -> Path:
    """The figures of a training, with evaluations every ten steps."""
    luck = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for step in range(steps + 1):
        done = 1 - math.exp(-step / 18)
        line: dict[str, float] = {"step": step}
        if step:
            line |= {
                "loss": 0.4 * (1 - done) + luck.gauss(0, 0.02),
                "reward": 0.25 + 0.65 * done + luck.gauss(0, 0.04),
                "success": min(1.0, 0.2 + 0.72 * done + luck.gauss(0, 0.04)),
                "kl": 0.002 + 0.03 * done + abs(luck.gauss(0, 0.003)),
                "entropy": 1.4 - 0.7 * done + luck.gauss(0, 0.03),
                "sampled_tokens": 64 + 40 * done + luck.gauss(0, 3),
                "wait_seconds": 1.6 + luck.gauss(0, 0.1),
                "train_seconds": 0.9 + luck.gauss(0, 0.05),
                "seconds": 2.6 + luck.gauss(0, 0.1),
                "tokens_per_second": 2_400 + 300 * done + luck.gauss(0, 80),
            }
        if step % 10 == 0:
            better = done + luck.gauss(0, 0.03)
            line |= {"pass@1": 0.26 + 0.66 * better, "eval_reward": 0.3 + 0.62 * better}
        lines.append(json.dumps(line))
    (folder / CONFIG).write_text("{}\n")
    (folder / METRICS).write_text("".join(f"{line}\n" for line in lines))
    return folder
