"""The tasks of the soak: each waits a while, and has an answer that only it can have."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Iterator

from aworld import Task

WAIT_SECONDS = (0.01, 0.5)
ANSWER_LETTERS = (1_000, 20_000)


def task_id(number: int) -> str:
    """All are of the same length, so that a list of them is counted by its size."""
    return f"task-{number:07}"


def answer_of(id: str) -> str:
    letters = random.Random(f"answer {id}").randint(*ANSWER_LETTERS)
    return f"{id} {hashlib.shake_256(id.encode()).hexdigest(letters // 2)}"


async def answer(id: str) -> str:
    await asyncio.sleep(random.uniform(*WAIT_SECONDS))
    return answer_of(id)


def paced_tasks(count: int, *, began: float, seconds: float) -> Iterator[Task]:
    """The tasks come evenly over the time. What is due already comes at once."""
    for number in range(count):
        due = began + seconds * number / count
        while (wait := due - time.time()) > 0:
            time.sleep(min(wait, 1.0))
        name = task_id(number)
        yield Task(input=name, agent=answer, id=name)
