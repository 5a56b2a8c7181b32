"""Runs one task inside a worker. It never raises."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from aworld.agents.calling import agent_name
from aworld.agents.running import run_agent
from aworld.core.action import Observation
from aworld.core.context import Line, TaskContext, in_task
from aworld.core.failure import ErrorInfo, Status, describe_error
from aworld.core.plain import plain
from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.core.usage import Usage
from aworld.errors import BudgetError, TruncatedError

if TYPE_CHECKING:
    from aworld.rewards.base import Reward

TO_REPORT = 0.2  # seconds of a task's timeout that its reward leaves


class Assignment(NamedTuple):
    """A task as it travels: without its agent, which travels once per worker."""

    task_id: str
    input: Any
    tools: list[str]
    metadata: dict[str, Any]
    previous_answer: tuple[Any, ...] = ()  # empty for the first task of a sequence
    wants_events: bool = False  # somebody watches it
    sample: int | None = None  # which of the task's group, where it has one
    run_id: str = ""  # of a run that is recorded
    scoring: tuple[Any, ...] = ()  # where it is to be scored: ground truth and timeout


class Crew(NamedTuple):
    """What travels once per worker where tasks are scored: who works, and who judges."""

    agent: Any
    reward: Reward


class Report(NamedTuple):
    """A response as it travels: what is in it twice, or known to the driver, stays behind."""

    answer: Any
    status: Status
    error: ErrorInfo | None
    seconds: float
    attempt: int
    agent_id: str
    steps: list[dict[str, Any]]
    metadata: dict[str, Any]
    spent: tuple[Any, ...] | None  # the fields of a Usage, where a model was asked
    reward: float | None

    def response(self, task_id: str) -> TaskResponse:
        answer, status, error, seconds, attempt, agent_id, steps, metadata, spent, reward = self
        success = status == "success"
        tokens = _tokens_in(steps)
        trajectory = Trajectory(
            task_id, agent_id, steps, answer, success, reward, tokens, seconds, status, metadata
        )
        usage = {} if spent is None else Usage._make(spent)._asdict()
        return TaskResponse(
            task_id, answer, status, error, seconds, usage, trajectory, attempt, reward, task_id
        )


def _tokens_in(steps: list[dict[str, Any]]) -> int:
    """Of all replies, also of those that came from a cache and cost nothing."""
    used = [step["model_call"]["usage"] for step in steps if "model_call" in step]
    return sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in used)


class Call(Line, Protocol):
    """What a rollout needs to know of the engine's call."""

    attempt: int

    @property
    def seed(self) -> int: ...
    def fresh(self) -> Any:
        """A new copy of the agent."""


async def rollout(fields: tuple[Any, ...], call: Call) -> tuple[Any, ...]:
    """Takes the fields of an Assignment, gives those of a Report."""
    assignment = Assignment._make(fields)
    answer = error = None
    status: Status = "success"
    agent_id = ""
    seed = call.seed
    metadata: dict[str, Any] = {"attempt": call.attempt, "seed": seed}
    if assignment.sample is not None:
        metadata |= {"group_id": assignment.task_id, "sample_index": assignment.sample}
    task = TaskContext(
        assignment.task_id,
        seed,
        sample=assignment.sample,
        run_id=assignment.run_id,
        attempt=call.attempt,
        tools=assignment.tools,
        line=call,
        wants_events=assignment.wants_events,
    )
    reward: Reward | None = None
    given_up = False
    begin = time.perf_counter()
    try:
        if task.stopped_because is not None:
            raise BudgetError(task.stopped_because)
        agent = call.fresh()
        if assignment.scoring:
            agent, reward = agent
        agent_id = agent_name(agent)
        observation = _observation(assignment, metadata)
        with in_task(task):
            answer = await run_agent(agent, observation, observation.info)
    except TruncatedError as raised:
        status, error, answer = "truncated", describe_error(raised), raised.answer
    except BudgetError as raised:
        status = "truncated" if task.usage.model_calls else "skipped"
        error = describe_error(raised)
    except BaseException as raised:  # cancelled at its timeout, too: the engine knows, and says so
        status, error = "failed", describe_error(raised)
        given_up = isinstance(raised, asyncio.CancelledError)
    seconds = time.perf_counter() - begin
    attempt = call.attempt
    report = [answer, status, error, seconds, attempt, agent_id, task.steps, metadata, None, None]
    if reward is not None and not given_up:
        report[-1] = await _scored(reward, assignment, Report(*report), task)
    if task.usage.model_calls:
        report[-2] = tuple(task.usage)
    return tuple(report)


async def _scored(
    reward: Reward, assignment: Assignment, report: Report, task: TaskContext
) -> float | None:
    """What the reward says; what it says besides is added to the metadata."""
    from aworld.rewards.scoring import score  # most workers score nothing

    ground_truth, timeout = assignment.scoring
    question = Task(
        assignment.input,
        id=assignment.task_id,
        tools=assignment.tools,
        ground_truth=ground_truth,
        metadata=assignment.metadata,
    )
    trajectory = report.response(assignment.task_id).trajectory
    assert trajectory is not None
    left = None if timeout is None else max(timeout - report.seconds - TO_REPORT, 0.01)
    begin = time.perf_counter()
    try:
        with in_task(task):
            scored = await score(reward, question, trajectory, timeout=left)
    except asyncio.CancelledError:  # the engine has waited long enough: without a score, then
        return None
    said = {"parts": scored.parts, "error": scored.error, "reason": scored.reason}
    told = {name: plain(part) for name, part in said.items() if part}
    report.metadata["scored"] = {**told, "seconds": round(time.perf_counter() - begin, 6)}
    return scored.value


def _observation(assignment: Assignment, metadata: dict[str, Any]) -> Observation:
    info: dict[str, Any] = {
        "task_id": assignment.task_id,
        "tools": assignment.tools,
        "metadata": assignment.metadata,
        **metadata,
    }
    content = assignment.input
    if assignment.previous_answer:
        info["previous_answer"] = assignment.previous_answer[0]
        content = info["previous_answer"] if content is None else content
    return Observation(content, info)
