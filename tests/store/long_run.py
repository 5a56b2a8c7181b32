"""A program that records a run, and goes on with it when it is started again. Tests kill it.

Arguments: the folder of the run, the file that notes which tasks are begun, the engine, how many
tasks. It prints the id of every response that it was given.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from aworld import RunConfig, Runners, Task

folder, begun, engine, count = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])


class Worker:
    """Notes that it has begun, works a little, and answers."""

    def __init__(self, begun: str):
        self.begun = begun

    async def __call__(self, value: int) -> int:
        note = os.open(self.begun, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(note, f"{value}\n".encode())
        os.close(note)
        await asyncio.sleep(0.01)
        return value * 2


def main() -> None:
    agent = Worker(begun)
    tasks = [Task(number, agent, id=f"task-{number}") for number in range(count)]
    conf = RunConfig(engine_name=engine, worker_num=2, tasks_per_worker=4, run_dir=folder)
    if (folder / "run.db").exists():
        stream = Runners.stream_owed(folder, tasks)
    else:
        stream = Runners.stream_tasks(tasks, conf)
    with stream:
        for response in stream:
            os.write(1, f"{response.id}\n".encode())
    print("done", flush=True)


main()
