"""Tools that run what a model wrote: Python and bash, in a sandbox."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from aworld.config import check_count, check_seconds
from aworld.errors import ConfigError, ToolError
from aworld.tools.base import Tool
from aworld.tools.sandbox import PYTHON_COMMAND, Ended, Limits, run_program

STARTING_AND_ENDING = 10.0  # seconds for all that is not the program itself

ABOUT_PYTHON = (
    "Runs a Python program and returns what it prints. Each call starts afresh, in an empty "
    "directory that is deleted afterwards. There is no network; chmod and chown are refused."
)
ABOUT_BASH = (
    "Runs a bash script and returns what it prints. Each call starts afresh, in an empty "
    "directory that is deleted afterwards. There is no network; chmod and chown are refused: "
    "run scripts as 'bash FILE'."
)


@dataclass(frozen=True)
class RunPython:
    limits: Limits
    unsandboxed: bool

    async def __call__(self, code: str) -> str:
        """
        Args:
            code: The program. Print what you want to see.
        """
        return await _run(PYTHON_COMMAND, code, self.limits, self.unsandboxed)


@dataclass(frozen=True)
class RunBash:
    limits: Limits
    unsandboxed: bool

    async def __call__(self, command: str) -> str:
        """
        Args:
            command: One line or a whole script.
        """
        bash = shutil.which("bash", path="/usr/local/bin:/usr/bin:/bin")
        if bash is None:
            raise ConfigError("there is no bash on this machine: install it")
        return await _run([bash], command, self.limits, self.unsandboxed)


def python_tool(
    *,
    unsandboxed: bool = False,
    timeout: float = 10.0,
    memory_mb: int = 1024,
    processes: int = 32,
    max_chars: int = 20_000,
    name: str = "python",
) -> Tool:
    """A tool that runs Python. `unsandboxed`: with all the rights of this process."""
    limits = _limits(timeout, memory_mb, processes, max_chars)
    return _tool(RunPython(limits, unsandboxed), name, ABOUT_PYTHON, max_chars)


def bash_tool(
    *,
    unsandboxed: bool = False,
    timeout: float = 10.0,
    memory_mb: int = 1024,
    processes: int = 32,
    max_chars: int = 20_000,
    name: str = "bash",
) -> Tool:
    """A tool that runs bash. `unsandboxed`: with all the rights of this process."""
    limits = _limits(timeout, memory_mb, processes, max_chars)
    return _tool(RunBash(limits, unsandboxed), name, ABOUT_BASH, max_chars)


def _limits(timeout: float, memory_mb: int, processes: int, max_chars: int) -> Limits:
    check_seconds("timeout", timeout)
    check_count("memory_mb", memory_mb, least=1)
    check_count("processes", processes, least=1)
    check_count("max_chars", max_chars, least=1)
    return Limits(
        seconds=timeout, memory_mb=memory_mb, processes=processes, output_bytes=2 * max_chars
    )


def _tool(run: RunPython | RunBash, name: str, description: str, max_chars: int) -> Tool:
    timeout = run.limits.seconds + STARTING_AND_ENDING
    return Tool(run, name=name, description=description, timeout=timeout, max_chars=max_chars)


async def _run(command: list[str], script: str, limits: Limits, unsandboxed: bool) -> str:
    return _told(await run_program(command, script, limits, unsandboxed=unsandboxed), limits)


def _told(ended: Ended, limits: Limits) -> str:
    output = ended.output.decode("utf-8", "replace").rstrip("\n")
    if ended.code == 0:
        return output or "(no output)"
    if ended.timed_out:
        end = f"it was stopped after {limits.seconds:g} s"
    elif ended.code is None:
        end = f"it was killed: it used more than {limits.memory_mb} MB, or crashed"
    else:
        end = f"exit code {ended.code}"
    raise ToolError(f"{output}\n({end})" if output else f"({end})")


python = python_tool()
"""Runs Python in a sandbox: what `python_tool()` gives without options."""

bash = bash_tool()
"""Runs bash in a sandbox: what `bash_tool()` gives without options."""
