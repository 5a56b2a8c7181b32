"""`Runners`: hand over tasks, get every one of them back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from aworld.config import RunConfig
from aworld.core.task import Task, TaskResponse
from aworld.errors import EngineError, InputError, Interrupted
from aworld.interrupt import ctrl_c_calls
from aworld.stream import Batch, TaskStream

Tasks = Task | Iterable[Task]
Responses = dict[str, TaskResponse]


class RunCancelled(asyncio.CancelledError):
    """The coroutine that awaited a run was cancelled. `responses` holds what had finished."""

    def __init__(self, responses: Mapping[str, TaskResponse]):
        super().__init__("the run was cancelled; see .responses")
        self.responses = responses


class Runners:
    """The ways to run tasks. Each takes one task, a list, or any iterable of them."""

    @staticmethod
    def sync_run_task(task: Tasks, run_conf: RunConfig | None = None) -> Responses:
        """Runs the tasks; returns a response for each, by id, in the order of the input."""
        collected: Batch = []
        stream = Runners.stream_tasks(task, run_conf)
        with stream, ctrl_c_calls(stream.cancel) as interrupted:
            try:
                _drain(stream, collected)
            except KeyboardInterrupt:
                stream.cancel()
                _drain(stream, collected)
                raise Interrupted(_in_order(collected)) from None
            except (InputError, EngineError) as error:
                error.responses = _in_order(collected)
                raise
            if interrupted():
                raise Interrupted(_in_order(collected))
        return _in_order(collected)

    @staticmethod
    async def run_task(task: Tasks, run_conf: RunConfig | None = None) -> Responses:
        """The same for async code: other coroutines go on meanwhile."""
        collected: Batch = []
        async with Runners.stream_tasks(task, run_conf) as stream:
            try:
                while (batch := await stream.take_async()) is not None:
                    collected += batch
            except asyncio.CancelledError:
                stream.cancel()
                _drain(stream, collected)
                raise RunCancelled(_in_order(collected)) from None
            except (InputError, EngineError) as error:
                error.responses = _in_order(collected)
                raise
        return _in_order(collected)

    @staticmethod
    def stream_tasks(task: Tasks, run_conf: RunConfig | None = None) -> TaskStream:
        """Gives the responses as they finish, to `for` as well as to `async for`."""
        return TaskStream(task, run_conf or RunConfig())

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


def _drain(stream: TaskStream, collected: Batch) -> None:
    while (batch := stream.take()) is not None:
        collected += batch


def _in_order(collected: Batch) -> Responses:
    collected.sort(key=lambda pair: pair[0])
    return {response.id: response for _, response in collected}
