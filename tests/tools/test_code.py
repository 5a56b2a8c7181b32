"""Code that a model wrote runs where it can do no harm: each promise is tried for real."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest
import sandlock

from aworld.errors import ConfigError
from aworld.tools import bash, bash_tool, python, python_tool
from aworld.tools.sandbox import BoundedOutput, _launch_sandboxed
from aworld.tools.workdir import PREFIX, private_directory, remove_leftovers


def why_no_sandbox() -> str | None:
    try:
        _launch_sandboxed()
    except ConfigError as error:
        return str(error)
    return None


sandboxed = pytest.mark.skipif(bool(why_no_sandbox()), reason=why_no_sandbox() or "")


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


@pytest.fixture
def secret(tmp_path):
    """A file that the sandbox must neither read nor change; in $HOME, as keys are."""
    path = Path.home() / f".aworld-test-{os.getpid()}"
    path.write_text("s3cret")
    path.chmod(0o600)
    yield path
    path.unlink()


@sandboxed
def test_it_returns_what_the_program_prints(run):
    assert run(python, code="print(6 * 7)").text == "42"
    assert run(bash, command="echo one; echo two >&2").text == "one\ntwo"
    assert run(python, code="pass").text == "(no output)"


@sandboxed
def test_a_program_that_fails_shows_its_traceback_and_exit_code(run):
    result = run(python, code="print('before')\n1 / 0")
    assert result.text.startswith("before\nTraceback")
    assert "ZeroDivisionError: division by zero" in result.text
    assert result.text.endswith("(exit code 1)")
    assert result.error.kind == "ToolError"


@sandboxed
def test_packages_of_this_environment_can_be_imported(run):
    assert run(python, code="import pydantic; print('yes')").text == "yes"


@sandboxed
def test_files_outside_can_neither_be_read_nor_changed(run, secret):
    code = f"""
    import os
    from pathlib import Path
    secret = Path({str(secret)!r})
    for attempt in (
        secret.read_text,
        lambda: secret.write_text("gone"),
        lambda: os.truncate(secret, 0),
        secret.unlink,
        lambda: secret.rename("mine"),
        lambda: os.link(secret, "mine"),
        lambda: secret.chmod(0o777),
        lambda: os.chown(secret, 1, 1),
        lambda: os.setxattr(secret, "user.x", b"x"),
        lambda: os.fchmod(os.open("/usr/bin/env", os.O_RDONLY), 0o777),
        lambda: os.listdir(secret.parent),
        lambda: Path("/etc/shadow").read_text(),
        lambda: Path("/etc/passwd").read_text(),
        lambda: os.listdir("/proc"),
        lambda: Path("/proc/self/environ").read_bytes(),
        lambda: Path(f"/proc/{{os.getppid()}}/environ").read_bytes(),
        lambda: Path("/tmp/aworld-test").write_text("x"),
        lambda: Path("/usr/aworld-test").write_text("x"),
        lambda: Path("/dev/shm/aworld-test").write_text("x"),
        lambda: os.kill(os.getppid(), 0),
    ):
        try:
            print("DONE", attempt())
        except OSError:
            print("refused")
    os.symlink(secret, "link")
    try:
        print(open("link").read())
    except OSError:
        print("refused")
    """
    result = run(python, code=textwrap.dedent(code))
    assert result.text.split() == ["refused"] * 21
    assert secret.read_text() == "s3cret"
    assert secret.stat().st_mode & 0o777 == 0o600


@sandboxed
def test_there_is_no_network(run, tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        unix.bind(str(tmp_path / "s"))
        unix.listen()
        udp.bind(("127.0.0.1", 0))
        code = f"""
        import socket
        def tcp():
            socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]}), 5)
        def unix():
            socket.socket(socket.AF_UNIX).connect({str(tmp_path / "s")!r})
        def udp():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.sendto(b"x", ("127.0.0.1", {udp.getsockname()[1]}))
        def serve():
            socket.create_server(("127.0.0.1", 0))
        for attempt in (tcp, unix, udp, serve):
            try:
                attempt()
                print("DONE", attempt)
            except OSError:
                print("refused")
        """
        assert run(python, code=textwrap.dedent(code)).text.split() == ["refused"] * 4


@pytest.mark.parametrize("unsandboxed", [pytest.param(False, marks=sandboxed), True])
def test_the_environment_is_clean(run, monkeypatch, unsandboxed):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    made = bash_tool(unsandboxed=unsandboxed)
    seen = {line.partition("=")[0] for line in run(made, command="env").text.splitlines()}
    assert seen <= {"PATH", "HOME", "TMPDIR", "LANG", "TERM", "PWD", "SHLVL", "OLDPWD", "_"}


@pytest.mark.parametrize("unsandboxed", [pytest.param(False, marks=sandboxed), True])
def test_its_directory_is_private_and_deleted_afterwards(run, unsandboxed):
    made = bash_tool(unsandboxed=unsandboxed)
    one = run(made, command="touch mine; ls; pwd").text.split()
    two = run(made, command="ls; pwd").text.split()
    assert one[0] == "mine"
    assert len(two) == 1
    assert two[0] != one[1]
    assert not Path(one[1]).parent.exists()


def test_what_a_killed_process_left_behind_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned, lockless, other = (tmp_path / f"{PREFIX}{n}" for n in "abc")
    for path in (abandoned, lockless, other):
        path.mkdir()
    (abandoned / "lock").touch()
    with private_directory() as used:
        for path in (abandoned, lockless, used):
            os.utime(path, (0, 0))
        (other / "lock").touch()  # a moment old: its owner may be about to lock it
        remove_leftovers.cache_clear()
        remove_leftovers()
        assert {*tmp_path.iterdir()} == {lockless, other, used}
    assert {*tmp_path.iterdir()} == {lockless, other}


@pytest.mark.parametrize("unsandboxed", [pytest.param(False, marks=sandboxed), True])
def test_an_endless_loop_is_stopped_and_what_it_printed_is_kept(run, unsandboxed):
    made = python_tool(timeout=0.5, unsandboxed=unsandboxed)
    result = run(made, code="print('started')\nwhile True: pass")
    assert result.text == "started\n(it was stopped after 0.5 s)"
    assert result.seconds < 5
    assert not children()


@sandboxed
def test_a_fork_bomb_ends(run):
    code = """
    import os
    while True:
        try:
            os.fork()
        except OSError:
            pass
    """
    result = run(python_tool(timeout=1, processes=8), code=textwrap.dedent(code))
    assert "(it was stopped after 1 s)" in result.text
    assert not children()


@sandboxed
def test_a_daemon_that_left_its_group_ends_with_the_program(run):
    code = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    print("parent")
    """
    result = run(python, code=textwrap.dedent(code))
    assert result.text == "parent"
    assert result.seconds < 5
    assert not children()


@sandboxed
def test_memory_is_limited(run):
    result = run(python_tool(memory_mb=100), code="x = bytearray(500 * 2**20)")
    assert "it used more than 100 MB" in result.text


@sandboxed
def test_a_large_file_is_refused(run):
    result = run(bash, command="head -c 200000000 /dev/zero > large")
    assert "File too large" in result.text


@pytest.mark.parametrize("unsandboxed", [pytest.param(False, marks=sandboxed), True])
def test_100_mb_of_output_take_little_memory(run, unsandboxed):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = "print('HEAD'); print('x' * 10**8); print('TAIL')"
    result = run(python_tool(unsandboxed=unsandboxed), code=code)
    assert result.text.startswith("HEAD")
    assert result.text.endswith("TAIL")
    assert "left out" in result.text
    assert len(result.text) < 21_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


@pytest.mark.parametrize("unsandboxed", [pytest.param(False, marks=sandboxed), True])
def test_a_cancelled_task_takes_its_program_with_it(unsandboxed):
    made = python_tool(timeout=60, unsandboxed=unsandboxed)

    async def scenario() -> None:
        task = asyncio.create_task(made.run({"code": "while True: pass"}))
        while not children():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    deadline = time.monotonic() + 10
    while children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not children()


@sandboxed
def test_a_killed_worker_takes_its_programs_with_it():
    code = """
    import asyncio
    from aworld.tools import python
    asyncio.run(python.run({"code": "while True: pass"}))
    """
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    watched = psutil.Process(worker.pid)
    deadline = time.monotonic() + 20
    while not watched.children() and time.monotonic() < deadline:
        time.sleep(0.01)
    programs = watched.children(recursive=True)
    assert programs
    worker.kill()
    worker.wait()
    _, alive = psutil.wait_procs(programs, timeout=10)
    assert not alive


@sandboxed
def test_many_run_at_once():
    async def scenario() -> list[str]:
        calls = [python.run({"code": f"print({n})"}) for n in range(12)]
        return [result.text for result in await asyncio.gather(*calls)]

    assert asyncio.run(scenario()) == [str(n) for n in range(12)]


def test_without_a_sandbox_it_refuses_and_says_what_to_do(run, monkeypatch, tmp_path):
    _launch_sandboxed.cache_clear()
    monkeypatch.setitem(sys.modules, "sandlock", None)
    result = run(python, code=f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.undo()
    _launch_sandboxed.cache_clear()
    assert result.error.kind == "ConfigError"
    assert "pip install 'aworld[sandbox]'" in result.text
    assert "unsandboxed=True" in result.text
    assert "\n" not in result.text
    assert not (tmp_path / "ran").exists()


def test_an_old_kernel_is_refused_too(run, monkeypatch):
    _launch_sandboxed.cache_clear()
    monkeypatch.setattr(sandlock, "landlock_abi_version", lambda: -1)
    result = run(bash, command="true")
    monkeypatch.undo()
    _launch_sandboxed.cache_clear()
    assert "this kernel has no Landlock" in result.text


def test_unsandboxed_it_has_all_rights(run, secret):
    made = python_tool(unsandboxed=True)
    assert run(made, code=f"print(open({str(secret)!r}).read())").text == "s3cret"


@pytest.mark.parametrize("setting", [{"timeout": None}, {"timeout": 0}, {"memory_mb": 0}])
def test_wrong_limits_are_refused(setting):
    with pytest.raises(ConfigError):
        python_tool(**setting)


def test_the_middle_of_a_long_stream_is_only_counted():
    output = BoundedOutput(4)
    read, write = os.pipe()
    with os.fdopen(read, "rb") as stream:
        reader = threading.Thread(target=output.drain, args=(stream,))
        reader.start()
        with os.fdopen(write, "wb") as sink:
            sink.write(b"abcd" + b"-" * 1000 + b"wxyz")
        reader.join()
    assert output.taken() == b"abcd\n... 1000 bytes left out ...\nwxyz"
