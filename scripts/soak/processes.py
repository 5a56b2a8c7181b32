"""Starts processes, finds those of a run, weighs them and ends them, each by its id."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

MEGABYTE = 1 << 20


def start(
    command: list[str], log: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C reaches the soak alone, which then ends all in order."""
    with log.open("ab") as said:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )


def tree_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The process and all below it; nothing where it has ended."""
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """psutil looks first whether a number still means the same process."""
    found = list(processes)
    for process in found:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            pass
    psutil.wait_procs(found, timeout=10)


def end(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None:
        kill_all(tree_of(process))
        process.wait()


def workers_of(job: str) -> list[psutil.Process]:
    """aworld's worker processes, wherever an engine has put them."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if job in command and any(part.startswith("aworld-worker-") for part in command):
            found.append(process)
    return found


def described(process: psutil.Process) -> str:
    try:
        return f"{process.name()} ({process.status()}): {' '.join(process.cmdline())[-80:]}"
    except psutil.Error:
        return "one that has just ended"


def megabytes(processes: Iterable[psutil.Process]) -> float:
    """Proportional: pages that processes share count once. Of those that live."""
    total = 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            pass
    return total / MEGABYTE
