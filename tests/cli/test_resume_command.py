"""`aworld resume`: a run that was killed, interrupted or has failures goes on where it stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter

from waiting import until

from aworld.store import open_run

SLOW = ("--agent", "agents.py:slow", "--workers", "1", "--per-worker", "2", "--out", "runs/a")


def recorded(shell, name="runs/a"):
    with open_run(shell.folder / name) as run:
        return {rollout.response.id: rollout.response.status for rollout in run.rollouts()}


def test_a_run_that_was_killed_goes_on_from_the_shell(shell):
    process = shell.start("run", "tasks.jsonl", *SLOW)
    until(lambda: shell.begun() > 4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = recorded(shell)
    assert 0 < len(done) < 10
    assert shell.json("ls")["runs"][0]["status"] == "unfinished"
    told = shell.json("resume", "a", "--per-worker", "16")
    assert (told["done"], told["total"], told["status"]) == (10, 10, "complete")
    begun = Counter((shell.folder / "begun").read_text().splitlines())
    assert all(begun[f"q{name[1:]}"] == 1 for name in done)  # what was recorded did not run again


GAME = """
class Game:
    action_space = None

    def reset(self, *, seed=None, options=None):
        return f"seed {seed}", {}

    def step(self, action):
        return "over", 1.0, True, False, {}

async def waits(messages):
    import asyncio, pathlib
    while "seed 1" in str(messages) and not pathlib.Path("sign").exists():
        pathlib.Path("waits").touch()
        await asyncio.sleep(0.01)
    return "go"
"""


def test_a_run_in_an_environment_of_a_file_goes_on(shell):
    (shell.folder / "games").mkdir()
    (shell.folder / "games" / "game.py").write_text(GAME)
    source = "env:games/game.py:Game?size=3"
    options = ("--agent", "games/game.py:waits", "--reward", "environment_return")
    process = shell.start("run", source, *options, "--workers", "1", "--out", "runs/a")
    until(lambda: (shell.folder / "waits").exists())
    until(lambda: len(recorded(shell)) == 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (shell.folder / "sign").touch()
    told = shell.json("resume", "runs/a")
    assert (told["done"], told["status"], told["reward"]) == (3, "complete", 1.0)
    (shell.folder / "games" / "game.py").rename(shell.folder / "moved.py")
    said = shell("resume", "runs/a", "--agent", "moved.py:waits", "--accept-changes").stderr
    assert f"env:{shell.folder}/games/game.py:Game?size=3 is not there any more" in said


def test_nothing_is_owed_by_a_complete_run(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:echo", "--out", "runs/a")
    assert "nothing is owed: all 10 results are recorded" in shell("resume", "runs/a").stderr


def test_failures_are_tried_again_and_the_earlier_attempt_is_kept(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:picky", "--out", "runs/a", code=1)
    agents = (shell.folder / "agents.py").read_text()
    (shell.folder / "agents.py").write_text(agents.replace('if "3" in question', "if False"))
    assert "the agent 'picky' of task 't0' has changed" in shell.refusal(
        "resume", "runs/a", "--retry", "failed,timeout"
    )
    done = shell("resume", "runs/a", "--retry", "failed,timeout", "--accept-changes")
    assert "10/10 done" in done.stderr
    assert recorded(shell)["t3"] == "success"
    shown = shell("show", "a", "t3").stdout
    assert "1 earlier, given up for this one: aworld show a t3 --attempt 1" in shown
    assert "ValueError: no threes" in shell("show", "a", "t3", "--attempt", "1").stdout
    assert shell.json("show", "a", "t3")["attempts"] == 2


def test_a_changed_dataset_is_said_and_not_mixed_in(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:picky", "--out", "runs/a", code=1)
    shell.write_tasks(10, extra="new")
    said = shell.refusal("resume", "runs/a", "--retry", "failed")
    assert "task 't0' (at 0) has changed since the run began" in said
    told = shell.json("resume", "runs/a", "--retry", "failed", "--recorded", code=1)
    assert told["counts"] == {"success": 9, "failed": 1}


def test_tasks_that_are_gone_are_taken_from_the_record(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:picky", "--out", "runs/a", code=1)
    (shell.folder / "tasks.jsonl").unlink()
    done = shell("resume", "runs/a", "--retry", "failed", code=1)
    assert "tasks.jsonl is not there any more" in done.stderr
    assert "1 failed (1 ValueError)" in done.stderr


def test_tasks_from_standard_input_are_taken_from_the_record(shell):
    lines = (shell.folder / "tasks.jsonl").read_text()
    shell("run", "-", "--agent", "agents.py:picky", "--out", "runs/a", code=1, input=lines)
    told = shell.json("resume", "runs/a", "--retry", "failed", code=1)
    assert told["counts"] == {"success": 9, "failed": 1}


def test_it_goes_on_from_another_folder(shell):
    shell("run", "agents:questions", "--agent", "agents:picky", "--out", "runs/a", code=1)
    (shell.folder / "elsewhere").mkdir()
    shell.folder = shell.folder / "elsewhere"
    told = shell.json("resume", "../runs/a", "--retry", "failed", code=1)
    assert told["total"] == 5


def test_a_second_process_is_refused_with_the_pid_of_the_first(shell):
    sign = ("--agent", "agents.py:waits_for_a_sign", "--workers", "1", "--out", "runs/a")
    process = shell.start("run", "tasks.jsonl", *sign)
    until(shell.begun)
    assert f"is in use by process {process.pid}" in shell.refusal("resume", "runs/a")
    assert "holds a run already" in shell.refusal("run", "tasks.jsonl", *sign)
    assert shell.json("ls")["runs"][0]["status"] == "running"
    (shell.folder / "sign").touch()
    assert process.wait(20) == 0
    process.communicate()


def test_a_run_that_a_program_began_goes_on_from_the_shell(shell):
    (shell.folder / "program.py").write_text(
        "from agents import picky\n"
        "from aworld import RunConfig, Runners, Task\n"
        "tasks = [Task(f'q{n}', picky, id=f't{n}') for n in range(10)]\n"
        "Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir='runs/a'))\n"
    )
    subprocess.run([sys.executable, "program.py"], cwd=shell.folder, check=True)
    told = shell.json("resume", "runs/a", "--retry", "failed", code=1)
    assert told["counts"] == {"success": 9, "failed": 1}
