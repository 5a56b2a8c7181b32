"""A reward for answers in Python: the share of tests that the code passes, in the sandbox."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aworld.config import check_count, check_seconds
from aworld.core.plain import plain, printable
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError
from aworld.rewards.base import has_answer
from aworld.tools.sandbox import PYTHON_COMMAND, Limits, run_program

FENCED = re.compile(r"```[ \t]*+(?:python3?|py)?[ \t]*+\n(.*?)```", re.DOTALL | re.I)
STARTING = 5.0  # seconds for all that is not a test
MOST_TESTS = 10_000  # each prints two bytes of the output that is kept


@dataclass(frozen=True)
class CodeTests:
    """See `code_tests`."""

    tests: tuple[str, ...] | None
    timeout: float
    memory_mb: int
    key: str

    async def __call__(self, task: Task, trajectory: Trajectory) -> float | None:
        tests = self.tests
        if tests is None:
            tests = _checked(task.metadata.get(self.key) or (), f"metadata[{self.key!r}]")
        if not tests or not has_answer(trajectory):
            return None
        answer = plain(trajectory.final_result)
        if not isinstance(answer, str):
            return 0.0
        passed = await self._passed(code_in(answer), tests)
        return passed / len(tests)

    async def _passed(self, code: str, tests: tuple[str, ...]) -> int:
        limits = Limits(seconds=self.timeout + STARTING, memory_mb=self.memory_mb)
        harness = Path(__file__).with_name("code_harness.py").read_text("utf-8")
        # ASCII alone, whatever the answer holds
        given = f"{printable(code)!a}, {[printable(test) for test in tests]!a}, {self.timeout!r}"
        ended = await run_program(PYTHON_COMMAND, f"{harness}\n\nmain({given})\n", limits)
        if not ended.output.startswith(b"begun\n"):
            said = ended.output[-500:].decode("utf-8", "replace")
            raise RuntimeError(f"the tests did not start; try a larger memory_mb: {said}")
        return ended.output.count(b"+\n")


def code_tests(
    tests: str | Sequence[str] | None = None,
    *,
    timeout: float = 10.0,
    memory_mb: int = 1024,
    key: str = "tests",
) -> CodeTests:
    """The share of tests passed by the code in the answer: its last Markdown block, or all of it.

    A test is a piece of Python that raises if it fails (`assert add(1, 2) == 3`). Without `tests`
    they are those of the task, `task.metadata[key]`; a task that has none is not scored. Each runs
    in a process of its own, after the code; all of them together have `timeout` seconds, and what
    has not run by then has failed. It runs in a sandbox, or not at all.
    """
    check_seconds("timeout", timeout)
    check_count("memory_mb", memory_mb, least=1)
    if not isinstance(key, str):
        raise ConfigError(f"key must be a name in the task's metadata, got {key!r:.80}")
    checked = None if tests is None else _checked(tests, "tests")
    if checked == ():
        raise ConfigError("tests is empty: leave it out to take those of each task")
    return CodeTests(checked, timeout, memory_mb, key)


def code_in(answer: str) -> str:
    blocks = FENCED.findall(answer)
    return textwrap.dedent(blocks[-1]) if blocks else answer


def _checked(tests: Any, what: str) -> tuple[str, ...]:
    given = (tests,) if isinstance(tests, str) else tests
    if not isinstance(given, (list, tuple)) or not all(isinstance(test, str) for test in given):
        raise ConfigError(f"{what} must be a list of Python texts, got {tests!r:.80}")
    if len(given) > MOST_TESTS:
        raise ConfigError(f"{what} are {len(given)} tests: at most {MOST_TESTS} can be run")
    return tuple(given)
