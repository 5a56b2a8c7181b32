"""A training so small that the command ends within seconds: a tiny model, tasks of one call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tomli_w

from aworld.cli.main import Wishes, _code_of

WORDS = ["one", "two", "three", "four", "five", "six"]

SCHOOL = '''
import asyncio
from pathlib import Path

from aworld import ActionModel, Agent
from aworld.core.context import current_task
from aworld.models.base import ModelRequest

ready = Agent("ready", max_steps=1)

class Answering:
    """Asks once; while there is a file called `hold`, it waits first."""

    name = "answering"

    def __init__(self, model):
        self.model = model

    async def async_policy(self, observation, info=None, **_):
        while Path("hold").exists():
            await asyncio.sleep(0.01)
        request = ModelRequest([{"role": "user", "content": observation.content}])
        reply, record = await self.model.ask(request)
        current_task().record({"action": reply.message, "model_call": record})
        return [ActionModel(policy_info=reply.text, agent_name=self.name)]

def low_bytes(task, trajectory):
    ids = trajectory.steps[0]["model_call"]["completion_ids"]
    return sum(token < 64 for token in ids) / len(ids)

def some(task, trajectory):
    return 0.5 if task.id.startswith("one@") else low_bytes(task, trajectory)

def always(task, trajectory):
    return 1.0

def none(task, trajectory):
    return None

def no_agent(model):
    return 3

def broken(model):
    raise KeyError("no such tool")

def without_model():
    return 3

def endless():
    raise ValueError("no questions")
    yield
'''

LESSON: dict[str, Any] = {
    "model": "byte",
    "agent": "school.py:Answering",
    "tasks": "words.jsonl",
    "reward": "school.py:low_bytes",
    "threads": 1,
    "run_dir": "runs/lesson",
    "steps": 2,
    "tasks_per_step": 2,
    "samples": 4,
    "learning_rate": 3e-3,
    "reply_tokens": 6,
    "checkpoint_every": 1,
    "seed": 7,
    "model_options": {"width": 32, "layers": 1, "heads": 2, "inner": 64, "context_tokens": 64},
    "engine": {"worker_num": 0, "timeout": 60},
}


def write_lesson(folder: Path, name: str = "lesson.toml", **changes: Any) -> Path:
    """The TOML file, beside it all that it names; a change to None leaves a setting out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "school.py").write_text(SCHOOL)
    rows = [{"id": word, "question": word, "answer": word} for word in WORDS]
    (folder / "words.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "held.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows[:2]))
    settings = {key: value for key, value in (LESSON | changes).items() if value is not None}
    (folder / name).write_text(tomli_w.dumps(settings))
    return folder / name


def told_by(capsys: Any, *arguments: str, code: int = 0) -> tuple[str, str]:
    """The command in this process, where torch is imported already; nothing may run in it."""
    found = _code_of(list(arguments), Wishes())
    said = capsys.readouterr()
    assert found == code, said
    return said.out, said.err
