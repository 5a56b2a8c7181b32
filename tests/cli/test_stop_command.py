"""Ctrl-C and its like: the first lets what runs finish, the second stops it; nothing is lost."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import time

import pytest
from waiting import until

from aworld.store import open_run

WAITING = (
    *("run", "tasks.jsonl", "--agent", "agents.py:waits_for_a_sign"),
    *("--workers", "1", "--per-worker", "2", "--out", "runs/a"),
)


def recorded(shell):
    with open_run(shell.folder / "runs/a") as run:
        return sum(run.counts().values()), run.status


@pytest.mark.parametrize(
    ("number", "engine"),
    [(signal.SIGINT, "local"), (signal.SIGTERM, "local"), (signal.SIGTERM, "ray")],
)
def test_the_first_lets_what_runs_finish_and_begins_nothing_more(shell, number, engine):
    process = shell.start(*WAITING, "--engine", engine)
    assert process.stderr is not None
    until(lambda: shell.begun() == 2)
    process.send_signal(number)
    heard = ""
    while "Ctrl-C once more stops now" not in heard:  # it has heard
        heard += process.stderr.readline()
    time.sleep(0.2)  # time enough to begin something, if it wanted to
    (shell.folder / "sign").touch()
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "8 are owed; go on with: aworld resume runs/a" in said
    assert shell.begun() == 2
    assert recorded(shell) == (2, "unfinished")
    assert shell.json("resume", "runs/a", "--engine", "local")["done"] == 10
    assert shell.begun() == 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_stops_now_and_keeps_what_has_finished(shell, number):
    process = shell.start(*WAITING, "-q")
    until(lambda: shell.begun() == 2)
    (shell.folder / "sign-q0").touch()
    until(lambda: recorded(shell)[0] == 1 and shell.begun() == 3)
    assert process.stderr is not None
    process.send_signal(number)
    while "once more" not in process.stderr.readline():
        pass
    process.send_signal(number)
    begin = time.monotonic()
    _, said = process.communicate(timeout=40)
    assert time.monotonic() - begin < 20
    assert process.returncode == 130
    assert "stopping now" in said
    assert "go on with: aworld resume runs/a" in said
    assert recorded(shell) == (1, "unfinished")


def test_however_often_it_is_pressed_the_last_words_are_said(shell):
    process = shell.start(*WAITING, "-q")
    until(lambda: shell.begun() == 2)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, said = process.communicate(timeout=20)
    assert "10 are owed; go on with: aworld resume runs/a" in said
    assert recorded(shell) == (0, "unfinished")


def test_a_generator_that_goes_on_for_ever_can_be_stopped(shell):
    with (shell.folder / "agents.py").open("a") as file:
        file.write("\ndef endless():\n    import itertools\n    return questions(10**9)\n")
    process = shell.start("run", "agents.py:endless", *WAITING[2:])
    assert process.stderr is not None
    until(lambda: shell.begun() == 2)
    process.send_signal(signal.SIGINT)
    while "once more" not in process.stderr.readline():
        pass
    (shell.folder / "sign").touch()
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "some are owed; go on with: aworld resume runs/a" in said
    assert recorded(shell)[0] == 2


@pytest.mark.parametrize("now", [(), ("--now",)])
def test_cancel_asks_the_process_that_runs_it(shell, now):
    process = shell.start(*WAITING, "-q")
    until(lambda: shell.begun() == 2)
    told = shell.json("cancel", "a", *now)
    assert told["pid"] == process.pid
    assert told["ended"] is bool(now)
    (shell.folder / "sign").touch()
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert recorded(shell) == (0 if now else 2, "unfinished")


def test_cancel_says_when_nobody_runs_it(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:echo", "--out", "runs/a")
    assert "nobody runs runs/a" in shell("cancel", "runs/a", code=1).stderr


def test_cancel_says_on_which_machine_it_is_to_be_done(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:echo", "--out", "runs/a")
    with (shell.folder / "runs/a/run.lock").open("w") as lock:
        lock.write(json.dumps({"pid": 1, "host": "another-machine"}))
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = shell("cancel", "runs/a", code=1)
    assert "process 1 on another-machine runs runs/a: cancel it there" in done.stderr


def test_ctrl_c_while_the_commands_are_made_leaves_no_traceback(shell):
    code = (
        "import signal, sys, typer\n"
        "typer.main.get_command = lambda app: signal.raise_signal(signal.SIGINT)\n"
        "sys.argv = ['aworld', 'ls']\n"
        "from aworld.__main__ import main\n"
        "main()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=shell.folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")


def test_while_an_agent_is_loaded_nothing_has_begun(shell):
    slow = "open('begun', 'w').write('x\\n')\nimport time\ntime.sleep(60)\n"
    (shell.folder / "slow.py").write_text(slow)
    process = shell.start("run", "tasks.jsonl", "--agent", "slow.py:agent")
    until(lambda: shell.begun())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "")
