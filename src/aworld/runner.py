"""`Runners`: hand over tasks, get every one of them back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterable
from typing import Any

from aworld.config import RunConfig, checked_run_conf
from aworld.core.task import Task, TaskResponse
from aworld.errors import ConfigError, DamagedError, RunError
from aworld.events import EventStream
from aworld.interrupt import ctrl_c_calls
from aworld.reception import Batch
from aworld.stream import TaskStream

Tasks = Task | Iterable[Task]
Responses = dict[str, TaskResponse]


class Runners:
    """The ways to run tasks. Each takes one task, a list, or any iterable of them."""

    @staticmethod
    def sync_run_task(task: Tasks, run_conf: RunConfig | None = None) -> Responses:
        """Runs the tasks; returns a response for each, by id, in the order of the input.

        After Ctrl-C the KeyboardInterrupt carries `responses`: what has finished, and the rest as
        `cancelled`.
        """
        return _run_to_its_end(lambda: Runners.stream_tasks(task, run_conf))

    @staticmethod
    async def run_task(task: Tasks, run_conf: RunConfig | None = None) -> Responses:
        """The same for async code: other coroutines go on meanwhile.

        When it is cancelled, the CancelledError carries `responses`, too.
        """
        collected: Batch = []
        async with Runners.stream_tasks(task, run_conf) as stream:
            try:
                while (batch := await stream.take_async()) is not None:
                    collected += batch
            except (asyncio.CancelledError, RunError) as error:
                if not isinstance(error, RunError):
                    stream.cancel()
                    _drain(stream, collected)
                error.responses = _in_order(collected)  # type: ignore[union-attr]
                raise
        return _in_order(collected)

    @staticmethod
    def stream_tasks(task: Tasks, run_conf: RunConfig | None = None) -> TaskStream:
        """Gives the responses as they finish, to `for` as well as to `async for`."""
        conf = checked_run_conf(run_conf)
        if conf.run_dir is None:
            return TaskStream(task, conf)
        from aworld.recorder import Recorder

        return TaskStream(task, conf, record_in=Recorder.create)

    @staticmethod
    def resume(
        run_dir: str | os.PathLike[str],
        tasks: Tasks | None = None,
        *,
        agent: Any = None,
        reward: Any = None,
        run_conf: RunConfig | None = None,
        retry: Collection[str] = (),
        accept_changes: bool = False,
    ) -> Responses:
        """Runs what a recorded run still owes; returns all responses, the earlier ones as recorded.

        tasks           the same as before; left out, they are those that were recorded
        agent           for the recorded tasks, where it cannot be imported by its name
        reward          where the run has one that cannot be found by its name
        run_conf        another engine, more workers; else as the run began
        retry           run those of these statuses again: 'failed', 'timeout', 'crashed', ...
        accept_changes  go on although a task or an agent has changed
        """
        from aworld.store.reader import open_run

        new = _run_to_its_end(
            lambda: Runners.stream_owed(
                run_dir,
                tasks,
                agent=agent,
                reward=reward,
                run_conf=run_conf,
                retry=retry,
                accept_changes=accept_changes,
            )
        )
        with open_run(run_dir) as run:
            run.scoring = run.scorings[0]  # of all by the reward of the run itself
            known = {rollout.response.id: rollout.response for rollout in run.rollouts()}
            responses = {name: new.get(name, response) for name, response in known.items()} | new
            if run.damage:
                error = DamagedError(
                    f"{len(run.damage)} records of {run_dir} are damaged: `aworld doctor {run_dir} "
                    "--repair` owes them again; resume it then"
                )
                error.responses = responses
                raise error
        return responses

    @staticmethod
    def stream_owed(run_dir: str | os.PathLike[str], *args: Any, **options: Any) -> TaskStream:
        """Takes what `resume` takes; gives only what was owed, as it finishes."""
        from aworld.resuming import stream_owed

        return stream_owed(run_dir, *args, **options)

    @staticmethod
    def stream_events(task: Task, run_conf: RunConfig | None = None) -> EventStream:
        """Gives what happens in one task while it runs: text, tool calls and results, the end."""
        if not isinstance(task, Task):
            raise ConfigError(f"events are those of one Task, got {task!r:.80}")
        return EventStream(task, checked_run_conf(run_conf))

    @staticmethod
    def sync_run(input: Any, agent: Any, run_conf: RunConfig | None = None) -> TaskResponse:
        """Asks one agent one question."""
        task = Task(input=input, agent=agent)
        return Runners.sync_run_task(task, run_conf)[task.id]

    @staticmethod
    async def run(input: Any, agent: Any, run_conf: RunConfig | None = None) -> TaskResponse:
        """Asks one agent one question, from async code."""
        task = Task(input=input, agent=agent)
        return (await Runners.run_task(task, run_conf))[task.id]


def _run_to_its_end(open_stream: Callable[[], TaskStream]) -> Responses:
    collected: Batch = []
    try:
        stream = open_stream()
        with ctrl_c_calls(stream.cancel) as pressed, stream:
            _drain(stream, collected)
        if pressed():
            raise KeyboardInterrupt
    except (KeyboardInterrupt, RunError) as error:
        error.responses = _in_order(collected)  # type: ignore[union-attr]
        raise
    return _in_order(collected)


def _drain(stream: TaskStream, collected: Batch) -> None:
    while (batch := stream.take()) is not None:
        collected += batch


def _in_order(collected: Batch) -> Responses:
    collected.sort(key=lambda pair: pair[0].slot)
    return {response.id: response for _, response in collected}
