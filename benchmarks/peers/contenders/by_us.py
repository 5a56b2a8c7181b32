"""This project, on each of its engines."""

from __future__ import annotations

from collections.abc import Iterator

from sessions import session_for
from stub import IN_FLIGHT, WORKERS, measured, wait_async, way_and_count

from aworld import RunConfig, Runners, Task


def main() -> None:
    engine, count = way_and_count()
    conf = RunConfig(engine_name=engine, worker_num=WORKERS, tasks_per_worker=IN_FLIGHT)

    def results() -> Iterator[str]:
        tasks = [Task(input=number, agent=wait_async) for number in range(count)]
        responses = Runners.sync_run_task(tasks, conf)
        yield from (response.answer for response in responses.values() if response.success)

    with session_for(engine):
        measured(count, results)


if __name__ == "__main__":
    main()
