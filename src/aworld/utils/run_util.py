"""`exec_tasks`, under the name that the first programs of this kind import it by."""

from __future__ import annotations

from collections.abc import Iterable

from aworld.config import RunConfig
from aworld.core.task import Task, TaskResponse
from aworld.runner import Runners


def exec_tasks(
    tasks: Task | Iterable[Task], run_conf: RunConfig | None = None
) -> dict[str, TaskResponse]:
    """Runs the tasks and returns a response for each, by id, in the order of the input."""
    return Runners.sync_run_task(tasks, run_conf)
