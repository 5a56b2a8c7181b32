"""`aworld train`: a TOML file in, a better model out; it can be stopped and resumed."""

from __future__ import annotations

import fcntl
import json
import re
import shlex
import signal
import sys
from pathlib import Path

import psutil
import pytest
from shell import Shell
from test_terminal import Terminal
from tiny_lesson import told_by, write_lesson

from aworld.policies import open_policy
from aworld.train.journal import read_journal


def steps_in(folder: Path) -> list[int]:
    """Those of which there are figures."""
    return [line["step"] for line in read_journal(folder / "metrics.jsonl") if "loss" in line]


def read_until(stream, pattern: str) -> str:
    seen = ""
    while not re.search(pattern, seen):
        line = stream.readline()
        assert line, seen
        seen += line
    return seen


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A shell in which a lesson was trained, and what was said meanwhile."""
    shell = Shell(tmp_path_factory.mktemp("trained"))
    engine = {"worker_num": 1, "timeout": 60}
    write_lesson(shell.folder / "lessons", held_out="held.jsonl", engine=engine)
    return shell, shell("train", "lessons/lesson.toml")  # its run_dir is here, all else there


def test_it_shows_each_step(trained):
    said = trained[1].stderr.splitlines()
    assert re.match(r"before the first step: pass@1 \d\.\d+", said[0])
    for step in (1, 2):
        expected = rf"step {step}/2: reward 0\.\d+, success \d+%, loss .*entropy .*kl .* tokens/s"
        assert re.match(expected, said[step])
    assert re.search(r"pass@1 \d\.\d+", said[2])
    assert len(said) == 3


def test_it_says_at_the_end_where_everything_is_and_what_to_do_next(trained):
    shell, done = trained
    assert re.search(r"2 steps in \d+:\d\d: reward", done.stdout)
    assert "pass@1 on the held-out tasks: 0." in done.stdout
    assert "aworld show runs/lesson" in done.stdout
    assert "aworld why runs/lesson" in done.stdout
    served = re.search(r"aworld serve (\S+)", done.stdout)
    assert served is not None
    assert open_policy(shell.folder / served[1]).version == 2
    assert steps_in(shell.folder / "runs/lesson")[:2] == [1, 2]


def test_what_was_trained_is_not_written_over(trained, capsys, monkeypatch):
    monkeypatch.chdir(trained[0].folder)
    said = told_by(capsys, "train", "lessons/lesson.toml", code=2)[1]
    assert "runs/lesson holds a training already" in said
    assert "`aworld train lessons/lesson.toml --resume`" in said


def test_what_another_process_trains_is_left_alone(trained, capsys, monkeypatch):
    monkeypatch.chdir(trained[0].folder)
    with Path("runs/lesson/run.lock").open("w") as lock:
        lock.write(json.dumps({"pid": 1, "host": "another-machine"}))
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = told_by(capsys, "train", "lessons/lesson.toml", "--resume", code=2)[1]
    assert "process 1 on another-machine trains in runs/lesson: wait for it" in said


def test_more_steps_can_be_asked_for_when_all_are_trained(trained, capsys, monkeypatch):
    monkeypatch.chdir(trained[0].folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    told, said = told_by(capsys, "train", "lessons/lesson.toml", "--resume")
    assert said == "all 2 steps are trained already; --steps asks for more\n"
    assert told.startswith("2 steps: reward")
    write_lesson(trained[0].folder / "lessons", "more.toml", steps=9)
    more = trained[0].json("train", "lessons/more.toml", "--resume", "--steps", "3", "-q")
    assert (more["steps"], more["stopped"], more["resume"]) == (3, False, None)
    assert list(more["evaluations"]) == ["0", "2"]
    assert steps_in(Path("runs/lesson")) == [1, 2, 3]


def test_ctrl_c_stops_it_cleanly_and_the_line_that_it_says_goes_on(shell):
    write_lesson(shell.folder, steps=6, engine={"worker_num": 1, "timeout": 60})
    process = shell.start("train", "lesson.toml", "--seed", "8")
    assert process.stderr is not None
    read_until(process.stderr, "step 2/6")
    (shell.folder / "hold").touch()
    workers = psutil.Process(process.pid).children(recursive=True)
    assert workers
    process.send_signal(signal.SIGINT)
    told, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert told == ""
    assert "stopping: what is under way is given up, the last checkpoint is kept" in said
    assert "Traceback" not in said
    assert not any(worker.is_running() for worker in workers)
    found = re.search(r"(\d) of 6 steps are saved; go on with: (.+)", said)
    assert found is not None
    assert found[2] == "aworld train lesson.toml --seed 8 --resume"
    (shell.folder / "hold").unlink()
    done = shell(*shlex.split(found[2])[1:])
    assert f"step {int(found[1]) + 1}/6" in done.stderr
    assert f"step {found[1]}/6" not in done.stderr
    assert steps_in(shell.folder / "runs/lesson") == [1, 2, 3, 4, 5, 6]


def test_at_a_terminal_a_bar_tells_how_far_it_is_and_sigterm_is_as_good_as_ctrl_c(shell):
    write_lesson(shell.folder, steps=6)
    terminal = Terminal(shell, "train", "lesson.toml")
    terminal.read_until(r"step 1/6: reward")
    (shell.folder / "hold").touch()
    seen = terminal.read_until(r"step \d/6 for 0:\d\d, 0:\d\d left")
    assert "━" in seen
    psutil.Process(terminal._pid).send_signal(signal.SIGTERM)
    assert terminal.end() == 130
    assert "go on with: aworld train lesson.toml --resume" in terminal.seen


def test_a_training_that_cannot_go_on_ends_with_one_line_and_exit_code_1(shell):
    write_lesson(shell.folder, reward="school.py:none")
    done = shell("train", "lesson.toml", code=1)
    error, advice = done.stderr.splitlines()
    assert error.startswith("aworld: step 1: the reward is None for all 8 rollouts of this step")
    assert "the last checkpoint is runs/lesson/checkpoints/step-000000" in error
    assert advice.endswith("go on with: aworld train lesson.toml --resume")


def test_where_nothing_is_left_to_learn_nothing_is_left_to_do(shell):
    write_lesson(shell.folder, reward="school.py:always", steps=9, patience=2)
    done = shell("train", "lesson.toml")
    assert "every task was solved 2 steps in a row" in done.stderr
    assert "--resume" not in done.stderr
    assert steps_in(shell.folder / "runs/lesson") == [1, 2]


def test_resume_says_how_a_training_goes_on(trained, capsys, monkeypatch):
    monkeypatch.chdir(trained[0].folder)
    said = told_by(capsys, "resume", "runs/lesson", code=2)[1]
    assert "runs/lesson is a training: go on with it by `aworld train CONFIG --resume`" in said
    said = told_by(capsys, "run", "tasks.jsonl", "--out", "runs/lesson", code=2)[1]
    assert "`aworld train CONFIG --resume`" in said


def test_cancel_stops_a_training_and_says_how_it_goes_on(shell):
    write_lesson(shell.folder, steps=6, engine={"worker_num": 1, "timeout": 60})
    process = shell.start("train", "lesson.toml")
    assert process.stderr is not None
    read_until(process.stderr, "step 1/6")
    (shell.folder / "hold").touch()
    said = shell("cancel", "runs/lesson").stderr
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"process {process.pid} has ended; go on with: aworld train CONFIG --resume" in said


GAMES = """
class Game:
    action_space = None

    def reset(self, *, seed=None, options=None):
        return f"{seed}", {}

    def step(self, action):
        return "over", float(len(action) % 2), True, False, {}
"""


def test_an_environment_can_be_trained_in(shell):
    lessons = shell.folder / "lessons"
    write_lesson(
        lessons,
        agent="school.py:ready",
        tasks="env:games.py:Game?size=4",
        held_out="env:games.py:Game?size=2&seed=9",
        reward="environment_return",
    )
    (lessons / "games.py").write_text(GAMES)
    told = shell.json("train", "lessons/lesson.toml", "-q")
    assert (told["steps"], list(told["evaluations"])) == (2, ["0", "2"])
    assert told["last"]["episodes"] == 8
    episodes = shell.json("why", "runs/lesson", "games.py:Game-1")["episodes"]
    assert {one["reward"] for one in episodes} <= {0.0, 1.0, None}
