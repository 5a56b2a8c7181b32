"""PyPI's `aworld`, as its example of parallel tasks shows it, with a small agent of its own."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Iterator

from aworld.core.agent.base import BaseAgent
from aworld.core.common import ActionModel
from sessions import session_for
from stub import PROCESSES, WORKERS, measured, wait_async, way_and_count

from aworld.config import RunConfig
from aworld.core.task import Task
from aworld.runner import Runners


class Waiting(BaseAgent):
    async def async_policy(self, observation, info=None, **kwargs):
        answer = await wait_async(int(observation.content))
        return [ActionModel(agent_name=self.id(), policy_info=answer)]


def main() -> None:
    way, count = way_and_count()
    # One process, as by default, has all tasks at once; in several, each has one.
    conf = RunConfig(
        engine_name="local" if way == "processes" else way,
        worker_num=min(PROCESSES, count) if way == "processes" else WORKERS,
        reuse_process=way != "processes",
    )

    def results() -> Iterator[str]:
        agent = Waiting(name="waiting")
        tasks = [Task(input=str(n), agent=agent, id=f"task{n}") for n in range(count)]
        responses = Runners.sync_run_task(tasks, conf)
        yield from (response.answer for response in responses.values() if response.success)

    with session_for(way):
        measured(count, results)


if __name__ == "__main__":
    main()
