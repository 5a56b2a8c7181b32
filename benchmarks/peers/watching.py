"""Runs a script in a fresh process: times it, watches its memory, kills one of its workers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

SCRIPTS = Path(__file__).parent / "contenders"
MARK = "PEERS_RUN"  # every process of a run inherits it, and is known by it
GOODBYE_SECONDS = 5.0  # for what a script has left behind to end by itself


@dataclass
class Family:
    """All processes that a run has started, wherever they are by now in the tree."""

    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    _known: dict[psutil.Process, bool] = field(default_factory=dict)

    def members(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._is_member(process)]

    def _is_member(self, process: psutil.Process) -> bool:
        if process not in self._known:
            try:
                self._known[process] = process.environ().get(MARK) == self.mark
            except (psutil.Error, OSError):  # it has ended, or is somebody else's
                self._known[process] = False
        return self._known[process] and process.is_running()

    def kill(self, pid: int) -> bool:
        """Whether it was there to be killed."""
        try:
            process = psutil.Process(pid)
            if not self._is_member(process):
                return False
            process.kill()
        except psutil.Error:
            return False
        return True

    def memory(self) -> int:
        """Proportional memory in bytes: pages that processes share count once."""
        total = 0
        for process in self.members():
            try:
                total += process.memory_full_info().pss
            except psutil.Error:  # it has ended
                pass
        return total

    def end(self) -> None:
        """Nothing of it may disturb the next run."""
        patience = time.monotonic() + GOODBYE_SECONDS
        while (members := self.members()) and time.monotonic() < patience:
            time.sleep(0.05)
        for process in members:
            try:
                process.kill()
            except psutil.Error:
                pass
        psutil.wait_procs(members, timeout=GOODBYE_SECONDS)


def run(
    python: Path,
    script: str,
    arguments: Sequence[str],
    *,
    limit: float,
    watch: bool = False,
    kill_after: int | None = None,
) -> dict[str, Any]:
    """What came of it. `kill_after`: so many tasks have begun when a worker is killed."""
    family = Family()
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        started, told = folder / "started", folder / "report.json"
        started.mkdir()
        here = {MARK: family.mark, "PEERS_REPORT": str(told), "PYTHONPATH": str(SCRIPTS)}
        if kill_after is not None:
            here["PEERS_STARTED"] = str(started)
        # Ray would join any cluster that it finds, and some peers leave files where they stand.
        here |= {"RAY_ADDRESS": "local", "RAY_TMPDIR": name, "TMPDIR": name}
        command = [str(python), str(SCRIPTS / f"{script}.py"), *arguments]
        with (folder / "said").open("wb") as said:
            begin = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=name, env=os.environ | here, stdout=said, stderr=said
            )
            try:
                found: dict[str, Any] = {}
                if kill_after is not None:
                    found["killed"] = kill_one(process, family, started, kill_after, begin + limit)
                if watch:
                    found["memory_mb"] = watched(process, family, begin + limit) / 2**20
                found["hangs"] = not ended(process, begin + limit)
                found["seconds"] = time.perf_counter() - begin
            finally:
                process.kill()
                process.wait()
                family.end()
        report = json.loads(told.read_text()) if told.exists() else {"good": 0, "error": ""}
        if not told.exists() and not found["hangs"]:
            report["error"] = last_words(folder / "said", process.returncode)
        return found | report


def ended(process: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        process.wait(max(0.0, deadline - time.perf_counter()))
    except subprocess.TimeoutExpired:
        return False
    return True


def watched(process: subprocess.Popen[bytes], family: Family, deadline: float) -> int:
    """The peak. It takes a tenth of a core at most, or what is measured would be the watching."""
    peak = 0
    while process.poll() is None and time.perf_counter() < deadline:
        begin = time.perf_counter()
        peak = max(peak, family.memory())
        cost = time.perf_counter() - begin
        time.sleep(max(0.05, 9 * cost))
    return peak


def kill_one(
    process: subprocess.Popen[bytes], family: Family, started: Path, after: int, deadline: float
) -> bool:
    """Kills the process that began a task last; not the program itself."""
    while process.poll() is None and time.perf_counter() < deadline:
        files = [(file.stat(), int(file.name)) for file in started.iterdir()]
        if sum(stat.st_size for stat, _ in files) >= after:
            workers = [(stat.st_mtime_ns, pid) for stat, pid in files if pid != process.pid]
            if not workers:
                return False  # the tasks are in the program itself
            return family.kill(max(workers)[1])
        time.sleep(0.002)
    return False


def last_words(said: Path, code: int) -> str:
    lines = [line for line in said.read_text(errors="replace").splitlines() if line.strip()]
    return f"exit code {code}: {lines[-1][:200] if lines else ''}"
