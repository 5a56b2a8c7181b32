"""`aworld eval`, `compare` and `rescore`: what a run is worth, from the shell."""

from __future__ import annotations

import pytest
from shell import Shell


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("shell"))
    common = ("run", "tasks.jsonl", "--workers", "1", "--reward", "exact_match", "-q")
    shell(*common, "--agent", "agents.py:echo", "--out", "runs/echo")
    shell(*common, "--agent", "agents.py:picky", "--out", "runs/picky", code=1)
    return shell


def test_tasks_are_run_and_assessed(shell):
    arguments = ("tasks.jsonl", "--agent", "agents.py:picky", "--samples", "2")
    done = shell("eval", *arguments, "--reward", "exact_match", "--out", "runs/a", code=1)
    assert "pass@2" in done.stdout
    assert "20 samples (18 success, 2 failed)" in done.stdout
    assert shell.json("eval", "runs/a")["evaluation"]["pass_at"]["2"]["mean"] == 0.9


def test_a_recorded_run_is_assessed_without_running_anything(scored):
    told = scored.json("eval", "runs/picky", "--k", "1")
    assert told["evaluation"]["reward"]["mean"] == 0.9
    assert told["run"]["folder"] == "runs/picky"
    assert "0.900" in scored("eval", "picky").stdout


def test_two_runs_are_compared(scored):
    told = scored.json("compare", "echo", "picky")
    assert told["worse"] == 1
    assert told["changes"] == [{"task_id": "t3", "first": 1.0, "second": 0.0}]
    assert "0 better, 1 worse, 9 the same" in scored("compare", "echo", "picky").stdout


def test_a_run_is_scored_again_and_keeps_its_earlier_scores(scored):
    told = scored.json("rescore", "echo", "--reward", "agents.py:half", "--name", "halves")
    assert (told["name"], told["scored"], told["unscored"]) == ("halves", 10, 0)
    assert scored.json("eval", "echo")["evaluation"]["reward"]["mean"] == 0.5
    assert scored.json("eval", "echo", "--reward", "exact_match")["run"]["reward"] == 1.0
    assert "halves" in scored("show", "echo", "t1").stdout


def test_a_reward_that_raises_is_told_and_the_exit_code_tells(scored):
    done = scored("rescore", "picky", "--reward", "numeric_match", "--name", "numbers", code=1)
    assert "there is no number in the ground truth" in done.stderr


def test_a_run_goes_out_as_a_file_and_comes_back(scored):
    export = ("export", "picky", "--to", "messages.jsonl", "--reward", "exact_match")
    told = scored.json(*export, "--where", "reward > 0.5")
    assert told["rows"] == 9
    made = scored.json("import", told["path"], "--out", "runs/back")
    assert made["rollouts"] == 9
    assert "runs/back: complete, 9/9 done" in scored("show", "back").stdout
    assert "is there already" in scored.refusal(*export)
    assert "10 rows" in scored(*export, "--overwrite").stdout
