"""`aworld why`: whether an episode trained, how much it counted, and if it did not, why not."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shell import Shell
from tiny_lesson import told_by, write_lesson

STEPS = 6  # of two tasks each: all six are chosen twice


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A training in which the task `one` never teaches anything."""
    shell = Shell(tmp_path_factory.mktemp("why"))
    write_lesson(shell.folder, steps=STEPS, reward="school.py:some")
    shell("train", "lesson.toml", "-q")
    return shell


@pytest.fixture
def folder(shell, tmp_path, monkeypatch):
    """A copy of it that can be spoilt, as `lesson` in the folder that commands are given in."""
    shutil.copytree(shell.folder / "runs/lesson", tmp_path / "lesson")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "lesson"


def verdicts(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]


def write(folder: Path, lines: list[dict]) -> None:
    (folder / "verdicts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_of_a_sample_that_trained_it_says_step_advantage_and_weight(folder, capsys):
    line = next(line for line in verdicts(folder) if line["trained"])
    task, sample = line["task_id"], line["sample"]
    for asked in ((task, "--sample", str(sample)), (f"{task}#{sample}",)):
        told, _ = told_by(capsys, "why", "lesson", *asked)
        first, only = told.splitlines()
        assert "chosen once, 1 of 1 episode trained" in first
        assert f"step {line['step']}: {task} #{sample} (success, reward" in only
        assert f"trained, advantage {line['advantage']:+.4g}, {line['weight']:.2%} of the" in only


def test_a_task_stands_for_each_time_that_it_was_chosen(folder, capsys):
    task = verdicts(folder)[-1]["task_id"].partition("@")[0]
    chosen = {line["task_id"] for line in verdicts(folder) if line["task_id"].startswith(task)}
    told, _ = told_by(capsys, "why", "lesson", task)
    assert set(re.findall(rf"{task}@\d+", told)) == chosen
    assert told.startswith(f"{task}: chosen 2 times")
    assert len(told.splitlines()) == 1 + 2 * 4


def test_of_one_that_did_not_train_it_says_why_not(folder, capsys):
    told, _ = told_by(capsys, "why", "lesson", "one")
    assert "not trained: all rewards of its group are the same" in told


def test_without_a_task_the_reasons_are_counted(shell, folder, capsys):
    trained = sum(line["trained"] for line in verdicts(folder))
    told, _ = told_by(capsys, "why", "lesson")
    assert told.startswith(f"lesson: {STEPS * 8} episodes in {STEPS} steps, {trained} trained\n")
    assert re.search(r"\n  \d+ did not: all rewards of its group are the same", told)
    found = shell.json("why", "lesson")
    assert (found["trained"], found["steps"], found["no_verdict"]) == (trained, STEPS, 0)
    assert sum(found["not_trained"].values()) == STEPS * 8 - trained


def test_programs_get_every_verdict_as_it_was_noted(shell):
    wanted = verdicts(shell.folder / "runs/lesson")[0]
    found = shell.json("why", "lesson", wanted["task_id"])
    assert len(found["episodes"]) == 4
    assert found["episodes"][0] == wanted


def test_of_one_that_waits_or_came_too_late_it_says_that(folder, capsys):
    last = verdicts(folder)[-1]
    write(folder, [line for line in verdicts(folder) if line["step"] < STEPS])
    assert "8 more are recorded and have no verdict" in told_by(capsys, "why", "lesson")[0]
    told, _ = told_by(capsys, "why", "lesson", last["task_id"])
    assert told.count("no verdict: it is recorded, but the training ended before its step") == 4
    with (folder / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told, _ = told_by(capsys, "why", "lesson", last["task_id"])
    assert told.count("no verdict: it is recorded, and waits for its group and for its step") == 4


def test_a_step_whose_gradient_was_not_finite_is_told(folder, capsys):
    from aworld.train.trainer import NOT_FINITE

    line = next(line for line in verdicts(folder) if line["trained"])
    lost = {"trained": False, "reason": NOT_FINITE}
    write(folder, [one | (lost if one == line else {}) for one in verdicts(folder)])
    told, _ = told_by(capsys, "why", "lesson", line["task_id"])
    assert f"not trained: {NOT_FINITE}" in told
    assert f"1 did not: {NOT_FINITE}" in told_by(capsys, "why", "lesson")[0]


def test_what_the_model_or_the_data_say_cannot_steer_the_terminal(folder, capsys):
    line = verdicts(folder)[-1]
    write(folder, [*verdicts(folder), line | {"trained": False, "reason": "\x1b[2J\u202egone"}])
    for task in ((line["task_id"],), ()):
        told, _ = told_by(capsys, "why", "lesson", *task)
        assert "?[2J?gone" in told
        assert "\x1b" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lesson", "onne"), "no task named 'onne' in lesson; did you mean 'one'"),
        (("lesson", "one@999"), "did you mean 'one@"),
        (("lesson", "one", "--sample", "4"), "there is no sample 4: lesson has 0 to 3"),
        (("lesson/evaluations/step-0",), "is an evaluation: held-out tasks never train"),
        (("lesson/warm_up",), "is a warm-up: what earned enough there was imitated"),
        (("plain",), "plain is no training: nothing in it was trained on. `aworld show plain`"),
        (("nowhere",), "nowhere holds no run"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_line(folder, capsys, arguments, said):
    for place in ("evaluations/step-0", "warm_up", "../plain"):
        (folder / place).mkdir(parents=True)
        shutil.copy(folder / "run.db", folder / place)
    told, error = told_by(capsys, "why", *arguments, code=2)
    assert told == ""
    assert len(error.splitlines()) == 1
    assert said in error


def test_a_damaged_journal_is_told(folder, capsys):
    with (folder / "verdicts.jsonl").open("a") as journal:
        journal.write("[1, 2\n")
    assert "lesson/verdicts.jsonl is damaged" in told_by(capsys, "why", "lesson", code=2)[1]


def test_it_needs_nothing_but_a_plain_install():
    code = "import sys, aworld.cli.why, aworld.cli.judged; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"numpy", "torch"} & set(out.stdout.split())
