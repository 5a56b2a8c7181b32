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
    done = scored("rescore", "picky", "--reward", "agents.py:some", "--name", "some", code=1)
    assert "9 scored as 'some'" in done.stdout
    assert "t4: ValueError\n" in done.stderr  # it has no message
    assert "over 9 of 10 by some" in scored("show", "picky").stdout


def test_scores_of_which_none_is_known_do_not_take_the_place_of_others(scored):
    scored("rescore", "echo", "--reward", "exact_match", "--name", "again")
    done = scored("rescore", "echo", "--reward", "numeric_match", "--name", "numbers", code=1)
    assert "0 of 10 scored by 'numbers': nothing is recorded, runs/echo is as it was" in done.stderr
    assert "there is no number in the ground truth" in done.stderr
    assert scored.json("rescore", "echo", "--reward", "agents.py:none", code=1)["recorded"] is False
    assert scored.json("eval", "echo")["run"]["scored_by"] == "again"


def test_a_reward_that_never_gives_one_is_told(shell):
    run = ("tasks.jsonl", "--agent", "agents.py:echo", "--workers", "1", "-q")
    done = shell("run", *run, "--reward", "agents.py:broken", "--out", "runs/a", code=1)
    assert (
        "0 of 10 scored by 'broken': ZeroDivisionError: division by zero (10 times)" in done.stderr
    )
    done = shell("eval", "a", code=1)
    assert done.stdout == ""
    assert "nothing is scored" in done.stderr
    assert "aworld rescore runs/a --reward" in done.stderr
    done = shell("run", *run, "--reward", "agents.py:none", "--out", "runs/b")
    assert "0 of 10 scored by 'none': it gave None for all" in done.stderr
    assert "nothing is scored" in shell("eval", *run, "--reward", "agents.py:none", code=1).stderr
    done = shell("run", *run, "--reward", "agents.py:some", "--out", "runs/c")
    assert "mean reward 1.000 over 9 of 10 (some)" in done.stdout
    assert "9 of 10 scored by 'some': ValueError (1 times)" in done.stderr


def test_a_run_goes_out_as_a_file_and_comes_back(scored):
    export = ("export", "picky", "--to", "messages.jsonl", "--reward", "exact_match")
    told = scored.json(*export, "--where", "reward > 0.5")
    assert told["rows"] == 9
    made = scored.json("import", told["path"], "--out", "runs/back")
    assert made["rollouts"] == 9
    assert "runs/back: complete, 9/9 done" in scored("show", "back").stdout
    assert scored.json("eval", "back")["run"]["scored_by"] == "imported"
    assert scored.json("compare", "back", "picky")["worse"] == 0
    assert "it was imported, not run" in scored.refusal("resume", "back")
    assert "is there already" in scored.refusal(*export)
    assert "10 rows" in scored(*export, "--overwrite").stdout
