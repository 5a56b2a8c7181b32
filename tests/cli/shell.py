"""The real command, in a process of its own, as a person would call it from a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "aworld"]
SECONDS = 60

AGENTS = '''
import asyncio
import os
from pathlib import Path

async def echo(question):
    return question

async def picky(question):
    if "3" in question:
        raise ValueError("no threes")
    return question

async def slow(question):
    """Notes that it has begun."""
    with open("begun", "a") as file:
        file.write(f"{question}\\n")
    await asyncio.sleep(0.3)
    return question

async def waits_for_a_sign(question):
    """Ends when there is a file called `sign`, or one for this question alone."""
    with open("begun", "a") as file:
        file.write(f"{question}\\n")
    while not (Path("sign").exists() or Path(f"sign-{question}").exists()):
        await asyncio.sleep(0.01)
    return question

class Shouting:
    async def async_policy(self, observation, info):
        from aworld import ActionModel
        return [ActionModel(policy_info=observation.content.upper())]

def questions(count=5):
    for number in range(count):
        yield {"id": f"g{number}", "input": f"q{number}", "answer": f"q{number}"}

def half(task, trajectory):
    return 0.5

def none(task, trajectory):
    return None

def broken(task, trajectory):
    return 1 / 0

def some(task, trajectory):
    if task.id == "t4":
        raise ValueError
    return 1.0
'''


@dataclass
class Shell:
    """A folder with tasks and agents in it, in which commands are given."""

    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "agents.py").write_text(AGENTS)
        self.write_tasks(10)

    def write_tasks(self, count: int, name: str = "tasks.jsonl", **more: Any) -> None:
        rows = [
            {"id": f"t{n}", "question": f"q{n}", "answer": f"q{n}", **more} for n in range(count)
        ]
        (self.folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def __call__(
        self, *arguments: str, code: int | None = 0, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """Checks the exit code, unless it is None."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            **more,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *arguments: str, code: int = 0, **more: Any) -> Any:
        return json.loads(self(*arguments, "--json", code=code, **more).stdout)

    def refusal(self, *arguments: str, **more: Any) -> str:
        """What is said of bad input: one line."""
        done = self(*arguments, code=2, **more)
        assert done.stdout == ""
        lines = done.stderr.splitlines()
        assert len(lines) == 1, done.stderr
        return lines[0]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begun(self) -> int:
        """How many tasks of an agent that notes it have begun."""
        notes = self.folder / "begun"
        return len(notes.read_text().splitlines()) if notes.exists() else 0


def environment() -> dict[str, str]:
    """Without a model, and without what would make rich believe in a terminal."""
    hidden = ("LLM_", "OPENAI_", "FORCE_COLOR", "TTY_", "COLUMNS")
    return {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
