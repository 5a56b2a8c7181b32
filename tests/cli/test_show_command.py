"""`aworld ls` and `aworld show`: runs and rollouts, readable, and harmless to a terminal."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest
from shell import COMMAND, Shell, environment
from tampering import change

NASTY = "\x1b]8;;http://evil\x07click\x1b[2J\r\u202eback [bold]no markup[/bold] \x9b31m"

PROGRAM = f"""
from aworld import Agent, tool
from aworld.models.scripted import ScriptedModel, call

@tool
def look(place: str) -> str:
    "Looks at a place."
    return {NASTY!r}

script = [call("look", place="there"), "I saw:\\n" + {NASTY!r}]
agent = Agent("watcher", model=ScriptedModel(script), tools=[look], system_prompt="Look well.")

async def failing(question):
    raise ValueError({NASTY!r})

def judge(task, trajectory):
    from aworld.rewards import Scored
    return Scored(0.25, {{"style": 0.5}}, None, "it was " + {NASTY!r})
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("shell"))
    (shell.folder / "watcher.py").write_text(PROGRAM)
    shell.write_tasks(60)
    common = ("run", "tasks.jsonl", "--workers", "1", "--samples", "2", "-q")
    reward = ("--reward", "watcher.py:judge")
    shell(*common, "--agent", "watcher.py:agent", *reward, "--out", "runs/first")
    shell(*common, "--agent", "watcher.py:failing", "--out", "runs/second", code=1)
    return shell


def test_runs_are_listed_the_newest_first(watched):
    lines = watched("ls").stdout.splitlines()
    assert lines[1].split()[:4] == ["second", "complete", "120/120", "0"]
    assert lines[2].split()[:6] == ["first", "complete", "120/120", "100", "%", "0.250"]
    told = watched.json("ls", "runs")
    assert [run["name"] for run in told["runs"]] == ["second", "first"]
    assert told["runs"][0]["counts"] == {"failed": 120}


def test_a_folder_without_runs_says_so(shell):
    assert "no runs in runs" in shell("ls").stderr


def test_a_damaged_run_is_listed_as_such(watched, tmp_path):
    shutil.copytree(watched.folder / "runs/first", tmp_path / "runs/whole")
    (tmp_path / "runs/broken").mkdir()
    (tmp_path / "runs/broken/run.db").write_bytes(b"no database at all" * 100)
    shell = Shell(tmp_path)
    done = shell("ls")
    assert "damaged" in done.stdout
    assert "120/120" in done.stdout
    assert {run.get("error") is None for run in shell.json("ls")["runs"]} == {True, False}


def test_many_runs_are_listed_at_once(watched, tmp_path):
    for number in range(100):
        shutil.copytree(watched.folder / "runs/first", tmp_path / f"runs/run-{number:03}")
    begin = time.perf_counter()
    assert len(Shell(tmp_path)("ls").stdout.splitlines()) == 101
    assert time.perf_counter() - begin < 10  # 0.4 s on a quiet machine


def test_a_page_of_results_is_shown(watched):
    done = watched("show", "first")
    lines = done.stdout.splitlines()
    assert "120/120 done (120 success); mean reward 0.250 by judge" in lines[0]
    assert lines[2].split()[:3] == ["t0#0", "success", "0.250"]
    assert len(lines) == 27
    assert "more: --page 2" in done.stderr
    assert watched("show", "first", "--page", "5").stdout.splitlines()[2].startswith("t50#0")


@pytest.mark.parametrize("number", [99, 2**63 - 1, 10**30])
@pytest.mark.parametrize("more", [(), ("--where", "sample = 1")])
def test_a_page_that_is_not_there_is_no_damage(watched, number, more):
    said = watched.refusal("show", "first", "--page", str(number), *more)
    assert said == f"aworld: there is no page {number}"


def test_results_are_chosen_by_a_condition(watched):
    told = watched.json("show", "first", "--where", "task = 't7' and sample = 1")
    assert [(row["task"], row["sample"]) for row in told["results"]] == [("t7", 1)]
    assert told["more"] is False


def test_a_trajectory_can_be_read(watched):
    shown = watched("show", "first", "t7#1").stdout
    for said in (
        "t7#1\nsystem\n  Look well.\nuser\n  q7\nassistant (watcher)",
        '-> look(place="there")',
        "\ntool\n",
        "success in",
        "ground truth\n  q7",
        "2 model calls",
        "reward by judge: 0.25 (style 0.5)\n  it was ",
    ):
        assert said in shown
    assert shown.count("Look well.") == 1  # what was said before is not repeated


def test_an_error_is_shown_with_its_traceback(watched):
    shown = watched("show", "second", "t7", "--sample", "1").stdout
    assert "failing raised ValueError" in shown
    assert "Traceback (most recent call last):" in shown


def test_the_raw_data_is_there_for_programs(watched):
    told = watched.json("show", "first", "t7", "--sample", "1")
    assert told["task"]["id"] == "t7"
    assert told["trajectory"]["steps"][0]["tool_calls"][0]["result"] == NASTY
    assert told["reward"] == 0.25


def test_a_task_is_found_by_how_its_id_begins(watched):
    assert watched.json("show", "first", "t59")["task"]["id"] == "t59"
    assert watched.json("show", "first", "t5")["task"]["id"] == "t5"  # though ten others fit
    assert "60 tasks begin with 't'" in watched.refusal("show", "first", "t")


def test_a_task_without_a_result_is_said_to_be_owed(watched, tmp_path):
    shutil.copytree(watched.folder / "runs/first", tmp_path / "runs/first")
    change(tmp_path / "runs/first", "delete from results where slot = 15")
    assert "task 't7' has no result yet" in Shell(tmp_path).refusal("show", "first", "t7#1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "first"),
        ("show", "first", "t1"),
        ("show", "first", "t1", "--json"),
        ("show", "second"),
        ("show", "second", "t1"),
        ("eval", "first"),
        ("ls",),
    ],
)
def test_what_a_model_wrote_cannot_steer_the_terminal(watched, arguments):
    done = watched(*arguments)
    for text in (done.stdout, done.stderr):
        assert not set(text) & set("\x1b\x07\r\u202e\x9b")
    if arguments[:2] in (("show", "first"), ("show", "second")):
        assert "[bold]no markup[/bold]" in done.stdout


def test_whoever_reads_only_the_first_line_sees_no_traceback(watched):
    for arguments in (["ls"], ["show", "first"], ["show", "first", "t1", "--json"]):
        command = [*COMMAND, *arguments]
        process = subprocess.Popen(
            command,
            cwd=watched.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before it has written anything
        said = process.stderr.read()
        process.wait(20)
        process.stderr.close()
        assert "Traceback" not in said
        assert "BrokenPipe" not in said
