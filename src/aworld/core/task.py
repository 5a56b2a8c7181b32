"""A task, and what comes back for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aworld.config import check_seconds, check_text
from aworld.core.failure import ErrorInfo, Status
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError


@dataclass(init=False, slots=True)
class Task:
    """One piece of work: an input and the agent that is to answer it.

    `task_id` and `instruction` are other names of `id` and `input`.
    """

    input: Any
    agent: Any
    id: str
    tools: list[str]
    ground_truth: Any
    metadata: dict[str, Any]
    timeout: float | None
    has_given_id: bool = field(repr=False, compare=False)

    def __init__(
        self,
        input: Any = None,
        agent: Any = None,
        *,
        id: str | None = None,
        tools: Iterable[str] = (),
        ground_truth: Any = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        task_id: str | None = None,
        instruction: Any = None,
    ):
        given = _one_of("id", id, "task_id", task_id)
        if given is not None and (not isinstance(given, str) or not given):
            raise ConfigError(f"a task's id must be a non-empty str, got {given!r}")
        if given is not None and not given.isascii():
            check_text("a task's id", given)
        if isinstance(tools, str):
            raise ConfigError(f"a task's tools must be a list of names, got the str {tools!r}")
        tools = list(tools)
        if not all(isinstance(name, str) for name in tools):
            raise ConfigError(f"a task's tools must be names of tools, got {tools!r:.80}")
        check_seconds("timeout", timeout, or_none=True)
        self.input = _one_of("input", input, "instruction", instruction)
        self.agent = agent
        self.id = os.urandom(16).hex() if given is None else given
        self.has_given_id = given is not None
        self.tools = tools
        self.ground_truth = ground_truth
        self.metadata = dict(metadata or {})
        self.timeout = timeout

    @property
    def task_id(self) -> str:
        return self.id

    @property
    def instruction(self) -> Any:
        return self.input

    def to_prompt(self) -> str:
        """The task as text for a model."""
        if not self.tools:
            return f"Instruction: {self.input}"
        return f"Instruction: {self.input}\nAvailable tools: {', '.join(self.tools)}"


def _one_of(name: str, value: Any, alias: str, other: Any) -> Any:
    if value is not None and other is not None:
        raise ConfigError(f"{name} and {alias} name the same thing: give one of them")
    return other if value is None else value


@dataclass(slots=True)
class TaskResponse:
    """What came of one task. A falsy answer (0, "", None) of a successful task is its answer.

    Where a task has several samples, the responses are called `id#0`, `id#1`, ...
    """

    id: str
    answer: Any = None
    status: Status = "success"
    error: ErrorInfo | None = None
    time_cost: float = 0.0
    usage: dict[str, Any] = field(default_factory=dict)
    trajectory: Trajectory | None = field(default=None, repr=False)
    attempts: int = 1
    reward: float | None = None
    group_id: str = ""  # the id of the task that it is a sample of
    sample_index: int = 0
    worker: int | None = field(default=None, compare=False)  # that it ran on
    began: float | None = field(default=None, compare=False)  # when, by the clock of the driver

    @property
    def success(self) -> bool:
        return self.status == "success"

    @property
    def msg(self) -> str:
        """One line for a person: empty when all went well."""
        if self.error is None:
            return ""
        return f"{self.error.kind}: {self.error.message}" if self.error.message else self.error.kind
