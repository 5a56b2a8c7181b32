"""200 tasks at once on this machine: a live progress line, then a summary.

    python examples/01_parallel_tasks.py

Some of the tasks misbehave on purpose: they raise, run too long, or kill their worker process.
Every one of them comes back all the same, and nobody else's result is lost.
"""

import asyncio
import os
import random
import time

from rich.console import Console

from aworld import RunConfig, Runners, Task
from aworld.progress import summary, with_progress


async def my_agent(question: str) -> str:
    """Stands in for an agent that waits for a model most of the time."""
    number = int(question.split()[-1])
    await asyncio.sleep(random.uniform(0.1, 0.6))
    if number % 50 == 7:
        raise ValueError(f"I do not know about {number}")
    if number % 100 == 42:
        await asyncio.sleep(60)  # far past its timeout
    if number == 123:
        os._exit(1)  # takes the whole worker process down
    return f"{number} squared is {number**2}"


tasks = [
    Task(input=f"what is the square of {n}", agent=my_agent, id=f"task{n}") for n in range(200)
]
run_conf = RunConfig(worker_num=2, tasks_per_worker=16, timeout=2, max_attempts=2)

begin = time.perf_counter()
stream = Runners.stream_tasks(tasks, run_conf)
responses = {response.id: response for response in with_progress(stream)}
seconds = time.perf_counter() - begin

console = Console()
console.print(summary(responses.values(), title=f"{len(responses)} tasks in {seconds:.1f} s"))
console.print(f"task12: {responses['task12'].answer}")
console.print(f"task123: {responses['task123'].msg}")
assert len(responses) == len(tasks)
