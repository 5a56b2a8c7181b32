"""`ParallelTaskExecutor`: a model's agent plays tasks in the workers of an executor."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Self, cast

from aworld.agents.checking import check_agent
from aworld.agents.llm_agent import Agent
from aworld.config import RunConfig, check_count, check_seconds
from aworld.core.failure import Status, describe_error
from aworld.core.seeds import seed_for
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.engines import pickling
from aworld.errors import ConfigError, EngineError, TaskError
from aworld.executor import DistributedExecutor
from aworld.node_executor import RemoteNodeExecutor
from aworld.policies.base import Policy
from aworld.rewards.base import Reward
from aworld.serve.server import PolicyServer
from aworld.train.binding import Served, with_model
from aworld.train.given import (
    TaskSource,
    agent_of,
    checked_reward,
    checked_tools,
    opened_policy,
    tasks_from,
)
from aworld.train.task_call import TaskCall, assignment_of, trajectory_of_report

Executor = DistributedExecutor | RemoteNodeExecutor

TIMEOUT = 60.0  # seconds for a task that does not say how long it may run


class ParallelTaskExecutor:
    """Runs tasks by the agent whose model is being trained, in the workers of an executor.

    agent_model           a Policy, or what `open_policy` takes; it is served from the first task on
    distributed_executor  a DistributedExecutor or a RemoteNodeExecutor: yours to shut down
    task_loader           what `distribute_tasks()` runs: tasks, what `load_tasks` takes, or a
                          function that gives either
    agent                 an Agent, which is given the model, or a function from the model to an
                          agent; left out, that of the tasks, or else one with these `tools`
    reward                a function of (task, trajectory) or a name; left out: whether the answer
                          is the ground truth, and where there is none, whether there is an answer
    temperature           of the sampling; `reply_tokens` is the longest reply
    host                  where the model is served; '0.0.0.0' for workers on other machines
    seed                  of the sampling: a task that is run again has other luck

    Use it in a `with` statement, or `close` it: that ends the server.
    """

    def __init__(
        self,
        agent_model: Policy | str,
        distributed_executor: Executor,
        task_loader: TaskSource,
        *,
        agent: Any = None,
        tools: Iterable[Any] = (),
        reward: Reward | str | None = None,
        temperature: float = 1.0,
        reply_tokens: int | None = None,
        host: str = "127.0.0.1",
        seed: int = 0,
    ):
        if not isinstance(distributed_executor, DistributedExecutor | RemoteNodeExecutor):
            raise ConfigError(
                "distributed_executor must be a DistributedExecutor or a RemoteNodeExecutor, got "
                f"{distributed_executor!r:.80}"
            )
        self.executor = distributed_executor
        self.task_loader = task_loader
        self.trajectories: list[Trajectory] = []  # of the last call, also where it broke off
        self.reward = checked_reward(reward)
        self.policy = opened_policy(agent_model)
        self._agent = agent
        self._tools = checked_tools(tools, agent)
        self._temperature = temperature
        self._reply_tokens = reply_tokens
        self._host = host
        self._seed = seed
        self._times: Counter[str] = Counter()  # that a task was run
        self._stack = ExitStack()
        self._served: Served | None = None

    def execute_single_task(
        self, task: Task, max_steps: int | None = None, timeout: float | None = None
    ) -> Trajectory:
        """Runs one task, in a worker.

        max_steps  how often the model may be asked; None: as the agent has it, which is 10 if it
                   does not say
        timeout    seconds; None: as the task has it, or else 60. An agent that blocks its worker is
                   ended by the timeout of the executor's RunConfig alone
        """
        if not isinstance(task, Task):
            raise ConfigError(f"a {type(task).__name__} is no task: give a Task")
        if max_steps is not None:
            check_count("max_steps", max_steps, least=1)
        check_seconds("timeout", timeout, or_none=True)
        return self._run([task], max_steps, timeout)[0]

    def distribute_tasks(self, tasks: TaskSource | None = None) -> list[Trajectory]:
        """Runs tasks, all at the same time: a trajectory for each, in their order, whatever became
        of it. Without tasks, those of the task_loader."""
        source = self.task_loader if tasks is None else tasks
        return self._run(tasks_from(source), None, None)

    def close(self) -> None:
        self._stack.close()
        self._served = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _run(
        self, tasks: list[Task], max_steps: int | None, timeout: float | None
    ) -> list[Trajectory]:
        agent = with_model(agent_of(tasks, self._agent, self._tools), self._model())
        if max_steps is not None:
            agent = _with_steps(agent, max_steps)
        for task in tasks:
            _check_tools(task, agent)
        play = TaskCall(agent, self.reward)
        try:
            pickling.dumps(play, "the call")
        except pickling.UnpicklableError as error:
            raise ConfigError(f"it cannot travel to a worker: {error}") from None
        self.trajectories = []
        calls = [self._call(task, timeout) for task in tasks]
        for task, outcome in zip(tasks, self._outcomes(play, calls), strict=True):
            if isinstance(outcome, EngineError):  # no task's fault: none would do better
                raise outcome
            sample = self._times[task.id] - 1
            self.trajectories.append(_trajectory(task, sample, outcome))
        return list(self.trajectories)

    def _call(self, task: Task, timeout: float | None) -> tuple[Any, ...]:
        sample = self._times[task.id]
        self._times[task.id] += 1
        if timeout is None:
            timeout = TIMEOUT if task.timeout is None else task.timeout
        seed = seed_for(self._seed, f"{task.id}\0{sample}", 1)
        return assignment_of(task, sample, timeout), seed, timeout

    def _outcomes(self, play: TaskCall, calls: list[tuple[Any, ...]]) -> Iterable[Any]:
        """What each call gave, or the exception that it ended with."""
        if isinstance(self.executor, RemoteNodeExecutor):
            with ThreadPoolExecutor(1) as thread:  # this one may have an event loop that runs
                return thread.submit(asyncio.run, _on_nodes(self.executor, play, calls)).result()
        futures = [self.executor.submit(play, *call) for call in calls]
        try:
            return [_outcome(future) for future in futures]
        finally:
            for future in futures:  # Ctrl-C: what has not begun does not begin
                future.cancel()

    def _model(self) -> Any:
        if self._served is None:
            server = self._stack.enter_context(PolicyServer(self.policy, host=self._host))
            self._served = Served(self.policy.name, server.url, server.key, self._reply_tokens)
        return self._served.model(self._temperature)


async def _on_nodes(
    executor: RemoteNodeExecutor, play: TaskCall, calls: list[tuple[Any, ...]]
) -> list[Any]:
    names = [await executor.submit_to_least_loaded(play, *call) for call in calls]
    return await asyncio.gather(*map(executor.result, names), return_exceptions=True)


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except (Exception, CancelledError) as error:
        return error


def _trajectory(task: Task, sample: int, outcome: Any) -> Trajectory:
    if not isinstance(outcome, BaseException):
        return trajectory_of_report(task, outcome)
    status: Status = "crashed"
    error = describe_error(outcome)
    if isinstance(outcome, TaskError):
        status = cast(Status, outcome.status)
        error = outcome.error
    elif isinstance(outcome, TimeoutError):
        status = "timeout"
    elif isinstance(outcome, CancelledError):
        status = "cancelled"
    facts = {"kind": error.kind, "message": error.message}
    metadata = {"group_id": task.id, "sample_index": sample, "error": facts}
    return Trajectory(task.id, "", status=status, metadata=metadata)


def _check_tools(task: Task, agent: Any) -> None:
    twin = copy.copy(task)
    twin.agent = agent
    try:
        check_agent(twin, RunConfig())
    except ConfigError as error:
        raise ConfigError(f"task {task.id!r}: {error}") from None


def _with_steps(agent: Any, max_steps: int) -> Any:
    if not isinstance(agent, Agent):
        raise ConfigError("max_steps can be set for an Agent only: leave it out")
    twin = copy.copy(agent)
    twin.max_steps = max_steps
    return twin
