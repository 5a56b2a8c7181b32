"""Runs a program that nobody trusts: without network, secrets or a way to files outside.

The sandbox is sandlock: Landlock and seccomp, part of the kernel; no root and no container needed.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from aworld.errors import ConfigError
from aworld.tools.limits import in_own_thread
from aworld.tools.workdir import private_directory

# Programs and what they need to start; no home, no /proc, nothing of /etc that says who we are.
READABLE = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
)
# Landlock does not guard these: they would reach any file that the user owns.
METADATA_CALLS = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
# Both outputs in one pipe, in the order of their making; limits that the kernel keeps.
PRELUDE = 'ulimit -t "$1"; ulimit -f "$2"; shift 2; exec "$@" 2>&1'
CHUNK = 64 * 1024
# -I: nothing of the environment or the user's own packages; -u: a kill loses no output
PYTHON_COMMAND = [sys.executable, "-I", "-u", "-X", "utf8"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a program may use. The file limit is for each file, the memory limit for all of it."""

    seconds: float = 10.0
    memory_mb: int = 1024
    processes: int = 32
    file_mb: int = 100
    output_bytes: int = 64 * 1024  # kept of the beginning, and of the end


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is None for a program that was killed."""

    output: bytes
    code: int | None
    timed_out: bool


async def run_program(
    command: list[str], script: str, limits: Limits, *, unsandboxed: bool = False
) -> Ended:
    """Kills it when whoever waits for it gives up: at a timeout, or because its task ends."""
    program = Program(command, script, limits, unsandboxed=unsandboxed)
    try:
        return await in_own_thread(program.run)
    except BaseException:
        program.kill()
        raise


class Program:
    """One program in a directory of its own, which is deleted with it."""

    def __init__(self, command: list[str], script: str, limits: Limits, *, unsandboxed: bool):
        self._command, self._script = command, script
        self._limits = limits
        self._unsandboxed = unsandboxed
        self._lock = threading.Lock()
        self._process: Any = None
        self._killed = False

    def run(self) -> Ended:
        """Blocks until the program and all that it started are gone."""
        launch = _launch_openly if self._unsandboxed else _launch_sandboxed()
        with private_directory() as home:
            script, work = home / "script", home / "work"
            script.write_text(self._script, "utf-8", "replace")
            work.mkdir()
            limits = (str(int(self._limits.seconds) + 1), str(self._limits.file_mb * 2048))
            command = ["/bin/sh", "-c", PRELUDE, "sh", *limits, *self._command, str(script)]
            with self._lock:
                if self._killed:
                    return Ended(b"", None, False)
                self._process = launch(command, script, work, self._limits)
            return self._finish(self._process)

    def kill(self) -> None:
        """From any thread, at any time."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def _finish(self, process: Any) -> Ended:
        with process:
            output = BoundedOutput(self._limits.output_bytes)
            reader = threading.Thread(target=output.drain, args=(process.stdout,), daemon=True)
            reader.start()
            code, timed_out = process.wait_for(self._limits.seconds)
            reader.join(2.0)  # the pipe has ended with its last writer
        return Ended(output.taken(), code, timed_out)


class BoundedOutput:
    """The beginning and the end of a stream; what is between them is only counted."""

    def __init__(self, size: int):
        self._size = size
        self._head, self._tail = bytearray(), bytearray()
        self._total = 0
        self._lock = threading.Lock()

    def drain(self, stream: IO[bytes]) -> None:
        try:
            while chunk := os.read(stream.fileno(), CHUNK):
                self.add(chunk)
        except (OSError, ValueError):  # closed by the one who waited
            pass

    def add(self, chunk: bytes) -> None:
        with self._lock:
            self._total += len(chunk)
            room = self._size - len(self._head)
            self._head += chunk[:room]
            self._tail += chunk[room:]
            del self._tail[: max(0, len(self._tail) - self._size)]

    def taken(self) -> bytes:
        """What was kept; between the two halves it says how many bytes are missing."""
        with self._lock:
            left_out = self._total - len(self._head) - len(self._tail)
            gap = f"\n... {left_out} bytes left out ...\n".encode() if left_out else b""
            return bytes(self._head + gap + self._tail)


class _Confined:
    """A process of sandlock."""

    def __init__(self, sandbox: Any, command: list[str]):
        from sandlock import StdioMode

        piped, null = StdioMode.PIPED, StdioMode.NULL
        self._process = sandbox.popen(command, stdin=null, stdout=piped, stderr=null)
        self.stdout = self._process.stdout
        self.kill = self._process.kill

    def wait_for(self, seconds: float) -> tuple[int | None, bool]:
        from sandlock import ExitReason

        result = self._process.wait(timeout=seconds)  # ends the whole tree, daemons as well
        code = result.exit_code if result.reason is ExitReason.EXITED else None
        return code, result.reason is ExitReason.TIMEOUT

    def __enter__(self) -> _Confined:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.__exit__(None, None, None)


class _Open:
    """A plain process, the leader of a group of its own."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self._process = process
        self.stdout = process.stdout

    def kill(self) -> None:
        if self._process.returncode is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait_for(self, seconds: float) -> tuple[int | None, bool]:
        timed_out = False
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # what it left behind in its group
        except (ProcessLookupError, PermissionError):
            pass
        code = self._process.wait()
        return (None if timed_out or code < 0 else code), timed_out

    def __enter__(self) -> _Open:
        return self

    def __exit__(self, *_: Any) -> None:
        assert self.stdout is not None
        self.stdout.close()


def _launch_openly(command: list[str], script: Path, work: Path, limits: Limits) -> _Open:
    process = subprocess.Popen(
        command,
        cwd=work,
        env=_environment(work),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return _Open(process)


@functools.cache
def _launch_sandboxed() -> Any:
    """Refuses where there is no sandbox, rather than running without."""
    advice = "or pass unsandboxed=True to run model-written code with all your rights"
    try:
        import sandlock
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"code runs in a sandbox only, and there is none ({error}): "
            f"on Linux, pip install 'aworld[sandbox]', {advice}"
        ) from error
    if sandlock.landlock_abi_version() < sandlock.min_landlock_abi():
        raise ConfigError(
            f"code runs in a sandbox only, and this kernel has no Landlock of version "
            f"{sandlock.min_landlock_abi()}: use Linux 6.12 or later, {advice}"
        )

    def launch(command: list[str], script: Path, work: Path, limits: Limits) -> _Confined:
        python = (sys.prefix, sys.base_prefix)
        readable = [path for path in (*READABLE, *python, str(script)) if os.path.exists(path)]
        sandbox = sandlock.Sandbox(
            fs_readable=readable,
            fs_writable=[str(work), "/dev/null"],
            extra_deny_syscalls=METADATA_CALLS,
            clean_env=True,
            env=_environment(work),
            cwd=str(work),
            max_memory=limits.memory_mb * 2**20,
            max_processes=limits.processes,
            max_open_files=256,
            no_coredump=True,
        )
        return _Confined(sandbox, command)

    return launch


def _environment(work: Path) -> dict[str, str]:
    """Nothing of ours: an environment is where keys are kept."""
    home = str(work)
    path = "/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "TERM": "dumb"}
