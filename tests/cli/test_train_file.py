"""The TOML file of `aworld train`: all of it is checked before anything starts."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import torch
from shell import COMMAND, environment
from tiny_lesson import told_by, write_lesson

from aworld.policies import open_policy


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own, and no module of another."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    threads = torch.get_num_threads()
    yield tmp_path
    torch.set_num_threads(threads)


def test_a_dry_run_opens_everything_and_starts_nothing(here, capsys):
    conversation = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}]
    write_lesson(
        here,
        held_out="held.jsonl",
        demonstrations="shown.jsonl",
        warm_up={"steps": 3},
        run_dir=None,
    )
    (here / "shown.jsonl").write_text(json.dumps({"messages": conversation}) + "\n")
    before = sorted(path.name for path in here.iterdir())
    told, _ = told_by(capsys, "train", "lesson.toml", "--dry-run", "--steps", "9")
    plan = dict(re.split(r"  +", line, maxsplit=1) for line in told.splitlines() if "  " in line)
    assert plan["parameters"].isdecimal()
    assert (plan["tasks"], plan["held out"], plan["demonstrations"]) == ("6", "2", "1")
    assert (plan["steps"], plan["rollouts"], plan["folder"]) == ("9", "72", "runs/lesson")
    assert "nothing was started or written" in told
    assert sorted(path.name for path in here.iterdir()) == before


def test_an_agent_that_is_named_by_its_module_or_not_at_all_is_taken(here, capsys):
    write_lesson(here / "lessons", agent="school:ready")
    told_by(capsys, "train", "lessons/lesson.toml", "--dry-run")
    write_lesson(here, agent=None)
    _, said = told_by(capsys, "train", "lesson.toml", "--dry-run")
    assert said == "no agent was named: the ready one is trained\n"


def test_a_saved_model_is_found_beside_the_file(here, capsys):
    from aworld.policies import ByteConfig, BytePolicy

    BytePolicy(ByteConfig(width=32, layers=1, heads=2, inner=64)).save(here / "lessons" / "mine")
    write_lesson(here / "lessons", model="mine", model_options=None)
    told, _ = told_by(capsys, "train", "lessons/lesson.toml", "--dry-run")
    assert re.search(r"model +mine\n", told)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stepz": 3}, "lesson.toml: no setting named 'stepz'; did you mean 'steps'?"),
        ({"engine": {"worker_nm": 1}}, "did you mean 'worker_num'"),
        ({"warm_up": {"stepz": 1}}, "did you mean 'steps'"),
        ({"settings": {"klx": 0.1}}, "no GrpoSettings setting named 'klx'"),
        ({"settings": 3}, "settings is a table: write [settings]"),
        ({"algorithm": "grop"}, "did you mean 'grpo'"),
        ({"steps": "many"}, "steps must be a whole number"),
        ({"trackers": "tensorbord"}, "did you mean 'tensorboard'"),
        ({"model": None}, "which model? model = 'byte'"),
        ({"tasks": None}, "which tasks? tasks = 'tasks.jsonl'"),
        ({"reward": None}, "which reward? reward = 'exact_match'"),
        ({"tasks": "nothing.jsonl"}, "there is no file or folder 'lessons/nothing.jsonl'"),
        ({"tasks": "school.py:endless"}, "no questions"),
        ({"tasks": "tasks.jsonl"}, "there is no lessons/tasks.jsonl: paths are relative to this"),
        ({"tasks": "bare.jsonl", "reward": "exact_match"}, "[fields] ground_truth = 'column'"),
        ({"held_out": "bare.jsonl", "reward": "exact_match"}, "[fields] ground_truth = 'column'"),
        ({"tasks": "twice.jsonl"}, "has the id 'x', too"),
        ({"held_out": "empty.jsonl"}, "lessons/empty.jsonl holds no tasks"),
        ({"reward": "exact_mach"}, "did you mean 'exact_match'?"),
        ({"reward": "school.py:lowbytes"}, "did you mean 'low_bytes'?"),
        ({"agent": "school.py:Anwsering"}, "did you mean 'Answering'?"),
        ({"agent": "school.py:no_agent"}, "agent = 'school.py:no_agent': agent(model) gave what"),
        ({"agent": "school.py:broken"}, "KeyError('no such tool')"),
        ({"agent": "school.py:without_model"}, "is called with the model, and gives an agent"),
        ({"agent": "school.py:WORD"}, "no object in lessons/school.py named 'WORD'"),
        ({"demonstrations": "shown.jsonl"}, "warm_up.steps is 0: say how many"),
        ({"demonstrations": "no.jsonl", "warm_up": {"steps": 1}}, "no file 'lessons/no.jsonl'"),
        ({"worked_examples": [{"role": "user"}]}, "worked_examples, and warm_up.steps is 0"),
        ({"worked_examples": "shown.jsonl", "warm_up": {"steps": 1}}, "worked_examples are mess"),
        ({"worked_examples": 3}, "must be a file, or an array of tables"),
        ({"demonstrations": "shown.jsonl", "warm_up": {"steps": 1}}, "has no message of an assist"),
        ({"model_options": {"widht": 3}}, "did you mean 'width'?"),
        ({"model_options": {"width": 33}}, "width=33 must be a multiple of"),
        ({"model_options": {"dtype": "int8"}}, "model_options of the byte model named 'dtype'"),
        ({"model": "mine", "model_options": {"device": "cpu"}}, "has no device: leave it out"),
        ({"model": "empty"}, "no model can be loaded from 'lessons/empty'"),
        ({"model": "no.gguf", "model_options": None}, "there is no model file"),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
        ({"run_dir": "lessons/words.jsonl"}, "lessons/words.jsonl is a file"),
        ({"run_dir": "runs/other"}, "runs/other holds a run, no training"),
        ({"run_dir": "lessons"}, "lessons holds other things ('bare.jsonl')"),
    ],
)
def test_bad_input_is_refused_in_one_line_before_anything_starts(here, capsys, changes, said):
    folder = here / "lessons"
    write_lesson(folder, **({"model_options": None} if "model" in changes else {}) | changes)
    (folder / "empty").mkdir()
    (folder / "empty.jsonl").touch()
    (folder / "bare.jsonl").write_text('{"question": "q"}\n')
    (folder / "twice.jsonl").write_text('{"id": "x", "question": "q"}\n' * 2)
    (folder / "shown.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}]}\n')
    (here / "tasks.jsonl").write_text('{"question": "q"}\n')
    (here / "runs/other").mkdir(parents=True)
    (here / "runs/other/run.db").touch()
    if changes.get("model") == "mine":
        open_policy("byte").save(folder / "mine")
    told, error = told_by(capsys, "train", "lessons/lesson.toml", code=2)
    assert told == ""
    assert len(error.splitlines()) == 1
    assert said in error
    assert not (here / "runs/lesson").exists()


def test_a_file_that_is_no_toml_is_refused_with_the_place(here, capsys):
    (here / "bad.toml").write_text("steps = = 3\n")
    assert "bad.toml: Invalid value (at line 1" in told_by(capsys, "train", "bad.toml", code=2)[1]
    assert "none.toml cannot be read" in told_by(capsys, "train", "none.toml", code=2)[1]


def test_tasks_without_an_id_are_named_by_their_place(here):
    from aworld.cli.train_file import read_train_file
    from aworld.cli.train_job import prepared

    path = write_lesson(here, tasks="bare.jsonl", reward="school.py:none")
    (here / "bare.jsonl").write_text('{"question": "q"}\n' * 2)
    job = prepared(read_train_file(path), resume=False)
    assert [task.id for task in job.tasks] == ["task-1", "task-2"]


def test_without_torch_it_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['torch'] = None; from aworld.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "train", "lesson.toml"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "aworld: training needs: pip install 'aworld[train]'\n",
    )


def test_the_command_line_imports_no_torch_until_it_trains(tmp_path):
    code = "import sys, aworld.cli.main; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
