"""One word changes where tasks run, and nothing else."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import workloads
from engines_under_test import IN_PROCESSES, IN_THREADS

from aworld import (
    ActionModel,
    Agent,
    ConfigError,
    ParallelizableAgent,
    RunConfig,
    Runners,
    Task,
    tool,
)
from aworld.models.scripted import ScriptedModel, call

SEED_PROGRAM = (Path(__file__).parent.parent / "test_seed_program.py").read_text()


class Sampler:
    """Draws from its seed, as a model would."""

    async def async_policy(self, observation, info):
        draw = random.Random(info["seed"])
        return [ActionModel(policy_info=[draw.random() for _ in range(observation.content)])]


@tool
async def double(number: int) -> int:
    """Doubles a number, after a while."""
    await asyncio.sleep(0.01 * number)
    return 2 * number


def talk(messages):
    """Doubles the number in the question twice, then tells what came of it."""
    said = [message["content"] for message in messages if message["role"] != "assistant"]
    return call("double", number=int(said[-1])) if len(said) < 3 else f"it is {said[-1]}"


TEAM = ParallelizableAgent(
    "team",
    agents=[Agent(name, model=ScriptedModel(talk), tools=[double]) for name in ("one", "two")],
)


def test_an_agent_with_tools_answers_the_same_on_every_engine(engine):
    tasks = [Task(input=str(i), agent=TEAM, id=str(i)) for i in range(20)]
    responses = Runners.sync_run_task(tasks, engine.conf())
    for response in responses.values():
        answer = f"it is {4 * int(response.id)}"
        assert response.answer == {"one": answer, "two": answer}
        assert response.usage["model_calls"] == 6
        assert len(response.trajectory.steps) == 6


def fingerprint(responses) -> str:
    """All of every trajectory but the time that it took."""
    trajectories = [response.trajectory.to_dict() for response in responses.values()]
    for trajectory in trajectories:
        del trajectory["execution_time"]
        for step in trajectory["steps"]:
            del step["step"]  # agents side by side may take turns in another order
            for timed in (step.get("model_call"), *(step.get("tool_calls") or ())):
                for time in ("began", "ended"):
                    (timed or {time: 0}).pop(time)
        trajectory["steps"].sort(key=lambda step: step["agent"])
    text = json.dumps(trajectories, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_same_seed_gives_the_same_trajectories_on_every_engine():
    prints = {}
    for engine in (*IN_PROCESSES.values(), *IN_THREADS.values()):
        tasks = [Task(input=i % 5, agent=Sampler(), id=f"t{i}") for i in range(60)]
        tasks += [Task(input="raise", agent=workloads.sync_echo, id="plain")]
        tasks += [Task(input=str(i), agent=TEAM, id=f"team {i}") for i in range(20)]
        responses = Runners.sync_run_task(tasks, engine.conf(seed=7))
        assert all(response.success for response in responses.values())
        prints[engine.name] = fingerprint(responses)
    assert len(prints) >= 4
    assert len(set(prints.values())) == 1, prints


@pytest.mark.parametrize("name", ["RAY", "SPARK"])
def test_the_seeds_program_runs_with_one_word_changed(tmp_path, name):
    namespace: dict = {}
    exec(SEED_PROGRAM, namespace)
    code = namespace["MY_AGENT"] + namespace["PRINTED"] + namespace["CHECK"]
    script = tmp_path / "seed.py"
    script.write_text(code.replace("EngineName.LOCAL", f"EngineName.{name}"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("all three came back\n"), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["ray", "spark"])
def test_what_was_open_before_stays_open(name):
    engine = IN_PROCESSES[name]
    assert Runners.sync_run(1, workloads.echo, engine.conf()).answer == 1
    if name == "ray":
        import ray

        assert ray.is_initialized()
        assert ray.get(ray.put(3)) == 3
    else:
        from pyspark.sql import SparkSession

        session = SparkSession.builder.getOrCreate()
        assert session.sparkContext.parallelize([1, 2, 3]).sum() == 6


@pytest.mark.parametrize(("name", "package"), [("ray", "ray"), ("spark", "pyspark")])
def test_a_missing_package_is_named_in_one_line(name, package):
    code = f"""
import sys
sys.modules[{package!r}] = None
from aworld import *
Runners.sync_run(1, EchoAgent(), RunConfig(engine_name={name!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    last = done.stderr.splitlines()[-1]
    assert last.endswith(f"the {name!r} engine needs: pip install 'aworld[{name}]'")


def test_missing_java_is_named_in_one_line(tmp_path):
    code = "from aworld import *; Runners.sync_run(1, EchoAgent(), RunConfig(engine_name='spark'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": str(tmp_path)},
    )
    assert "needs Java 17 or later: apt-get install" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine_name": "ray", "engine_options": {"num_cpu": 1}}, "did you mean 'num_cpus'"),
        ({"engine_name": "spark", "engine_options": {"memory": 1}}, "none of Spark's"),
        ({"engine_name": "spark", "engine_options": {"spark": {"ui": 1}}}, "dots stands in quotes"),
        ({"engine_name": "local", "engine_options": {"num_cpus": 1}}, "no engine_options"),
        ({"engine_name": "local", "address": "auto"}, "always local"),
        ({"engine_name": "ray", "worker_num": 0}, "cannot run in this process"),
        ({"engine_name": "spark", "reuse_process": True}, "cannot run in this process"),
    ],
)
def test_a_setting_that_an_engine_does_not_have_is_refused_by_name(settings, message):
    with pytest.raises(ConfigError, match=message):
        Runners.sync_run(1, workloads.echo, RunConfig(**settings))


def test_options_that_come_too_late_are_refused():
    for name, options in (
        ("ray", {"include_dashboard": True}),
        ("spark", {"spark.executor.memory": "1g"}),
    ):
        conf = IN_PROCESSES[name].conf(engine_options=options)
        with pytest.raises(ConfigError, match="too late for"):
            Runners.sync_run(1, workloads.echo, conf)


@pytest.mark.parametrize(
    ("name", "address"), [("ray", "127.0.0.1:1"), ("ray", "ray://x:1"), ("spark", "spark://x:1")]
)
def test_an_address_that_comes_too_late_is_refused(name, address):
    conf = IN_PROCESSES[name].conf(address=address)
    with pytest.raises(ConfigError, match=f"already.*not (to|at) {address}"):
        Runners.sync_run(1, workloads.echo, conf)


def test_ray_options_reach_the_place_where_a_worker_runs():
    conf = IN_PROCESSES["ray"].conf(
        engine_options={"runtime_env": {"env_vars": {"AWORLD_TEST": "passed on"}}, "num_cpus": 0.5}
    )
    assert Runners.sync_run("AWORLD_TEST", environment, conf).answer == "passed on"


async def environment(name):
    import os

    return os.environ.get(name)
