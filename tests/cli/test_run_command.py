"""`aworld run`: from a file of tasks to a recorded run."""

from __future__ import annotations

import json
import shutil
import tomllib

from aworld.cli.settings import resolved
from aworld.store import open_run
from aworld.store.durable import whole_file

BROKEN_ENGINE = """
from aworld.engines.local_runtime import LocalRuntime
from aworld.errors import EngineError

class Broken(LocalRuntime):
    def __enter__(self):
        raise EngineError("no room for workers")
"""
ECHO = ("--agent", "agents.py:echo", "--workers", "1")


def test_a_file_of_tasks_becomes_a_recorded_run(shell):
    done = shell("run", "tasks.jsonl", *ECHO, "--reward", "exact_match", "--out", "runs/first")
    assert "10/10 recorded, mean reward 1.000 (exact_match): runs/first" in done.stdout
    assert "aworld show runs/first" in done.stdout
    assert "10/10 done, 0 running, 0 failed" in done.stderr
    with open_run(shell.folder / "runs/first") as run:
        assert run.status == "complete"
        answers = {rollout.task.id: rollout.response.answer for rollout in run.rollouts()}
    assert answers == {f"t{n}": f"q{n}" for n in range(10)}


def test_without_a_folder_it_is_named_after_the_time_and_the_tasks(shell):
    told = shell.json("run", "tasks.jsonl", *ECHO)
    assert told["folder"].startswith("runs/")
    assert told["folder"].endswith("-tasks")
    assert told["status"] == "complete"
    assert (shell.folder / told["folder"] / "run.db").exists()


def test_failures_are_counted_by_kind_and_the_exit_code_tells(shell):
    done = shell("run", "tasks.jsonl", "--agent", "agents.py:picky", "--workers", "1", code=1)
    assert "1 failed (1 ValueError)" in done.stderr
    assert "ValueError: no threes" in done.stdout


def test_json_is_one_object_and_progress_goes_elsewhere(shell):
    told = shell.json("run", "tasks.jsonl", *ECHO, "--samples", "2", "--reward", "exact_match")
    assert (told["done"], told["total"], told["reward"]) == (20, 20, 1.0)
    assert told["counts"] == {"success": 20}
    assert told["resume"] is None


def test_quiet_says_nothing_but_the_result(shell):
    assert shell("run", "tasks.jsonl", *ECHO, "-q").stderr == ""


def test_tasks_come_from_standard_input(shell):
    lines = "".join(json.dumps({"input": f"q{n}"}) + "\n" for n in range(3))
    told = shell.json("run", "-", *ECHO, input=lines)
    assert told["done"] == 3
    assert told["folder"].endswith("-stdin")


def test_tasks_come_from_a_function_and_the_folder_is_importable(shell):
    told = shell.json("run", "agents:questions?count=4", "--agent", "agents:Shouting")
    assert told["done"] == 4
    with open_run(shell.folder / told["folder"]) as run:
        assert run.rollout("g1").response.answer == "Q1"


def test_columns_are_named_and_the_tasks_limited(shell):
    options = ("--field", "input=answer", "--field", "ground_truth=question", "--limit", "3")
    told = shell.json("run", "tasks.jsonl", *ECHO, *options)
    with open_run(shell.folder / told["folder"]) as run:
        assert run.total == 3
        assert run.rollout("t0").task.ground_truth == "q0"


def test_rewards_have_options_weights_and_files(shell):
    rewards = ("--reward", "0.5*exact_match:ignore_case=true", "--reward", "agents.py:half")
    told = shell.json("run", "tasks.jsonl", *ECHO, *rewards)
    assert told["reward"] == 1.0  # 0.5 * 1 and 1 * 0.5
    shown = shell("show", told["folder"], "t1").stdout
    assert "reward by weighted: 1 (exact_match 1, half 0.5)" in shown


def test_what_was_asked_for_is_written_down_and_can_be_asked_for_again(shell):
    first = shell.json(
        *("run", "tasks.jsonl", *ECHO, "--seed", "7", "--samples", "2", "--limit", "2"),
        *("--reward", "agents.py:half", "--set", "run.max_attempts=2", "--out", "runs/a"),
    )
    saved = shell.folder / "runs/a/config.toml"
    config = tomllib.loads(saved.read_text())
    assert config["run"]["max_attempts"] == 2
    assert config["run"]["seed"] == 7
    assert config["command"]["tasks"] == str(shell.folder / "tasks.jsonl")
    assert config["command"]["limit"] == 2
    (shell.folder / "elsewhere").mkdir()
    again = shell.json("run", "--config", str(saved), "--out", "runs/b", "--limit", "1")
    assert (first["done"], again["done"]) == (4, 2)
    assert again["reward"] == first["reward"] == 0.5


def test_options_go_before_the_file_and_set_before_both(shell):
    (shell.folder / "my.toml").write_text(
        '[run]\nsamples = 2\nworker_num = 1\ntimeout = 30\n[command]\ntasks = "tasks.jsonl"\n'
        'agent = "agents.py:echo"\nreward = "exact_match"\nlimit = 1\n'
    )
    plan = shell.json("run", "--config", "my.toml", "--dry-run")
    assert (plan["samples"], plan["timeout"], plan["tasks"]) == (2, 30, 1)
    more = ("--samples", "3", "--timeout", "20", "--set", "run.timeout=10", "--limit", "4")
    plan = shell.json("run", "--config", "my.toml", "--dry-run", *more)
    assert (plan["samples"], plan["timeout"], plan["tasks"]) == (3, 10, 4)


def test_a_name_with_dots_of_its_own_is_one_option_in_a_file_and_for_set(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text('[run.engine_options]\n"spark.executor.memory" = "1g"\n"spark.task.cpus" = 2\n')
    changes = ["run.engine_options.spark.executor.memory=2g", "run.engine_options.num_gpus=0.5"]
    options = resolved(file, {}, changes)["run"]["engine_options"]
    assert options == {"spark.executor.memory": "2g", "spark.task.cpus": 2, "num_gpus": 0.5}


def test_a_dry_run_tells_and_starts_nothing(shell):
    before = sorted(shell.folder.iterdir())
    done = shell(
        *("run", "tasks.jsonl", "--agent", "agents.py:slow", "--samples", "4"),
        *("--engine", "local", "--reward", "exact_match", "--dry-run"),
    )
    for said in ("local", "rollouts          40", "exact_match", "Instruction: q0", "runs/"):
        assert said in done.stdout
    assert [path for path in shell.folder.iterdir() if path.name != "__pycache__"] == before


def test_a_dry_run_finds_what_would_go_wrong(shell):
    dry = ("run", "tasks.jsonl", "--dry-run")
    assert "no engine named 'k8s'" in shell.refusal(*dry, *ECHO, "--engine", "k8s")
    assert "no reward named" in shell.refusal(*dry, *ECHO, "--reward", "exact_mach")
    (shell.folder / "file").write_text("")
    assert "cannot be made" in shell.refusal(*dry, *ECHO, "--out", "file/run")


def test_without_an_agent_the_ready_one_is_named(shell):
    done = shell("run", "tasks.jsonl", "--dry-run")
    assert "no --agent was given: the ready one asks EmbeddedModel" in done.stderr


def test_model_calls_that_have_a_price_are_counted(shell):
    (shell.folder / "priced.py").write_text(
        "from aworld import Agent\nfrom aworld.models.scripted import ScriptedModel\n"
        "agent = Agent('a', model=ScriptedModel(['yes'], prices=(1.0, 2.0)))\n"
    )
    told = shell.json("run", "tasks.jsonl", "--agent", "priced.py:agent", "--max-cost", "100")
    assert told["usage"]["model_calls"] == 10
    assert told["cost"] > 0
    assert "cost" in shell("ls").stdout


def test_a_used_up_budget_leaves_the_rest_owed(shell):
    (shell.folder / "costly.py").write_text(
        "from aworld import Agent\nfrom aworld.models.scripted import ScriptedModel\n"
        "agent = Agent('a', model=ScriptedModel(['yes']))\n"
    )
    options = ("--agent", "costly.py:agent", "--workers", "1", "--per-worker", "1")
    done = shell("run", "tasks.jsonl", *options, "--max-tokens", "20", "--out", "runs/a", code=1)
    assert "go on with: aworld resume runs/a" in done.stderr
    assert shell.json("resume", "runs/a", "--max-tokens", "100000")["status"] == "complete"


def test_a_run_that_could_not_start_is_gone_and_can_be_started_again(shell):
    run = ("run", "tasks.jsonl", *ECHO, "--out", "runs/a")
    said = shell.refusal(*run, "--engine", "ray", "--address", "127.0.0.1:1", "-q")
    assert "no Ray cluster at '127.0.0.1:1'" in said
    assert not (shell.folder / "runs/a").exists()
    (shell.folder / "engines.py").write_text(BROKEN_ENGINE)
    done = shell(*run, "--set", "run.cls=engines:Broken", code=1)
    assert "no room for workers" in done.stderr
    assert "runs/a is removed: run it again" in done.stderr
    assert "aworld resume" not in done.stderr
    assert not (shell.folder / "runs/a").exists()
    assert shell.json(*run)["done"] == 10


def test_a_folder_with_what_a_broken_beginning_left_is_used(shell):
    (shell.folder / "runs/a").mkdir(parents=True)
    for name in ("run.lock", "config.toml"):
        (shell.folder / "runs/a" / name).touch()
    with whole_file(shell.folder / "runs/a/config.toml"):  # the process is killed here
        (left,) = (shell.folder / "runs/a").glob(".*")
    left.touch()
    assert shell.json("run", "tasks.jsonl", *ECHO, "--out", "runs/a")["done"] == 10


def test_runs_inside_a_run_are_listed_and_a_strange_name_is_typed_as_a_path(shell):
    shell("run", "tasks.jsonl", *ECHO, "--out", "-x2")
    shell("run", "tasks.jsonl", *ECHO, "--out", "-x2/inside")
    shutil.copytree(shell.folder / "-x2", shell.folder / "-x2/copy")
    assert {run["name"] for run in shell.json("ls", "./-x2")["runs"]} == {"-x2", "copy", "inside"}
    assert "aworld resume ./-x2" in shell.refusal("run", "tasks.jsonl", *ECHO, "--out", "-x2")
