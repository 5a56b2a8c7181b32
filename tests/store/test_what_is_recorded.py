"""What a run leaves on disk."""

from __future__ import annotations

import asyncio
import json
import os
import pickletools
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aworld import Agent, ConfigError, RunConfig, Runners, StoreError, Task, open_run, tool
from aworld.core.context import current_task
from aworld.core.task import TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.models.scripted import ScriptedModel, call
from aworld.store.reader import Run
from aworld.store.records import Rollout
from aworld.store.repair import repair
from aworld.store.writer import Finished, RunWriter


async def echo(value):
    return value


def recorded(folder, *, where=None) -> dict[str, Rollout]:
    with open_run(folder) as run:
        found = {rollout.response.id: rollout for rollout in run.rollouts(where)}
        assert run.damage == []
        return found


def test_every_response_is_recorded_as_it_was_given(tmp_path):
    def agent(value):
        if value == 3:
            raise ValueError("three is too many")
        return {"doubled": value * 2}

    tasks = [
        Task(n, agent, id=f"t{n}", ground_truth=n, metadata={"level": n % 2}) for n in range(5)
    ]
    responses = Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir=tmp_path / "run"))
    stored = recorded(tmp_path / "run")
    assert list(stored) == list(responses)
    for task in tasks:
        rollout, response = stored[task.id], responses[task.id]
        assert rollout.response.answer == response.answer
        assert rollout.response.status == response.status
        assert rollout.response.error == response.error
        assert rollout.response.trajectory == response.trajectory
        assert rollout.task.input == task.input
        assert rollout.task.ground_truth == task.ground_truth
        assert rollout.task.metadata == task.metadata


def test_a_result_is_on_disk_before_anybody_is_told(tmp_path):
    folder = tmp_path / "run"
    tasks = [Task(n, echo, id=f"t{n}") for n in range(300)]
    with Runners.stream_tasks(tasks, RunConfig(worker_num=2, run_dir=folder)) as stream:
        reader = Run(folder)
        for told, _ in enumerate(stream, 1):
            (count,) = reader.connection.execute("select count(*) from results").fetchone()
            assert count >= told
        reader.close()


def test_a_slow_reader_keeps_nothing_from_the_disk(tmp_path):
    folder = tmp_path / "run"
    tasks = [Task(n, echo, id=f"t{n}") for n in range(50)]
    with Runners.stream_tasks(tasks, RunConfig(worker_num=1, run_dir=folder)) as stream:
        next(stream)  # one, and then it does something else
        with open_run(folder) as run:
            while sum(run.counts().values()) < 50:
                os.sched_yield()
        assert len(list(stream)) == 49


def test_async_readers_get_recorded_responses_too(tmp_path):
    async def main():
        conf = RunConfig(worker_num=1, run_dir=tmp_path / "run")
        return await Runners.run_task([Task(n, echo, id=f"t{n}") for n in range(20)], conf)

    responses = asyncio.run(main())
    assert recorded(tmp_path / "run").keys() == responses.keys()


@tool
def lookup(word: str) -> str:
    """Looks up a word.

    Args:
        word: The word.
    """
    return f"{word}: " + "a long explanation " * 40


def talkative(turns: int) -> Agent:
    script = [call("lookup", word=f"word {n}") for n in range(turns)]
    model = ScriptedModel([*script, "done"])
    return Agent(
        "talker", model=model, tools=[lookup], system_prompt="Be brief. " * 100, max_steps=50
    )


def test_a_conversation_comes_back_whole_and_takes_little_room(tmp_path):
    agent = talkative(20)
    tasks = [Task(f"question {n}", agent, id=f"t{n}") for n in range(20)]
    responses = Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir=tmp_path / "run"))
    stored = recorded(tmp_path / "run")
    whole = 0
    for name, response in responses.items():
        assert stored[name].response.trajectory == response.trajectory
        whole += len(json.dumps(response.trajectory.to_dict()))
    on_disk = sum(path.stat().st_size for path in (tmp_path / "run").iterdir() if path.is_file())
    assert on_disk < whole / 5  # every call holds all messages before it; each is stored once


def test_big_values_lie_in_files_of_their_own_each_once(tmp_path):
    image = bytes(range(256)) * 1000

    def agent(value):
        return {"image": image, "log": "line\n" * 100_000}

    folder = tmp_path / "run"
    tasks = [Task(n, agent, id=f"t{n}") for n in range(3)]
    Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir=folder))
    for rollout in recorded(folder).values():
        assert rollout.response.answer == {"image": image, "log": "line\n" * 100_000}
    assert len(list(folder.glob("blobs/*/*"))) == 2
    assert (folder / "run.db").stat().st_size < 200_000


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(answers=st.lists(values, min_size=1, max_size=6))
def test_any_plain_value_comes_back_as_it_was(tmp_path_factory, answers):
    folder = tmp_path_factory.mktemp("any") / "run"
    writer = RunWriter.create(folder, {"samples": 1})
    for slot, value in enumerate(answers):
        writer.note_task(slot, Task(value, id=f"t{slot}"), 0)
        steps = [{"step": 0, "action": value, "observation": value, "model_call": {"reply": value}}]
        trajectory = Trajectory(f"t{slot}", "agent", steps, value, True)
        writer.record([Finished(slot, TaskResponse(f"t{slot}", value, trajectory=trajectory))])
    writer.close()
    stored = recorded(folder)
    for slot, value in enumerate(answers):
        rollout = stored[f"t{slot}"]
        assert rollout.response.answer == value
        assert rollout.task.input == value
        assert rollout.trajectory.steps[0]["action"] == value
        assert rollout.trajectory.steps[0]["model_call"]["reply"] == value


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("half a \ud83d face", "half a \ud83d face"),
        (b"\xff\x00 no text", b"\xff\x00 no text"),
        (float("inf"), float("inf")),
        ({1: "one", (2, 3): "pair"}, {"1": "one", "2,3": "pair"}),
        ({"a"}, ["a"]),
        (2**80, 2**80),
    ],
    ids=["surrogate", "bytes", "infinity", "odd keys", "set", "large"],
)
def test_odd_values_are_kept_as_well_as_json_can(tmp_path, given, kept):
    folder = tmp_path / "run"
    task = Task("x", lambda _: given, id="odd")
    Runners.sync_run_task(task, RunConfig(worker_num=1, run_dir=folder))
    assert recorded(folder)["odd"].response.answer == kept


def test_nothing_in_a_run_is_pickle(tmp_path):
    folder = tmp_path / "run"
    agent = talkative(2)
    Runners.sync_run_task(Task("q", agent, id="t"), RunConfig(worker_num=1, run_dir=folder))
    connection = sqlite3.connect(folder / "run.db")
    tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    blobs = 0
    for (table,) in tables:
        for row in connection.execute(f"select * from {table}"):
            for field in row:
                if isinstance(field, bytes) and len(field) != 16:
                    json.loads(field)
                    blobs += 1
                    with pytest.raises(ValueError, match=r".*"):
                        list(pickletools.genops(field))
    connection.close()
    assert blobs >= 2


def test_a_condition_can_only_read(tmp_path):
    folder = tmp_path / "run"
    Runners.sync_run_task(
        [Task(n, echo, id=f"t{n}", metadata={"level": n}) for n in range(4)],
        RunConfig(worker_num=1, run_dir=folder),
    )
    assert recorded(folder, where="level >= 2 and status = 'success'").keys() == {"t2", "t3"}
    assert recorded(folder, where="task = 't1'").keys() == {"t1"}
    with open_run(folder) as run:
        for evil in ("1); delete from results; --", "load_extension('x')", "nonsense > 1", "("):
            with pytest.raises(ConfigError, match="condition"):
                list(run.rollouts(evil))
        assert sum(run.counts().values()) == 4


def test_the_config_is_saved_beside_the_run(tmp_path):
    conf = RunConfig(worker_num=1, seed=5, timeout=9.5, samples=2, run_dir=tmp_path / "run")
    Runners.sync_run_task(Task(1, echo, id="t"), conf)
    with open_run(tmp_path / "run") as run:
        saved = run.config["run"]
    assert (saved["worker_num"], saved["seed"], saved["timeout"], saved["samples"]) == (
        1,
        5,
        9.5,
        2,
    )


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path):
    conf = RunConfig(worker_num=1, run_dir=tmp_path / "run")
    Runners.sync_run_task(Task(1, echo, id="t"), conf)
    with pytest.raises(StoreError, match=r"holds a run already.*resume"):
        Runners.sync_run_task(Task(2, echo, id="t"), conf)
    assert recorded(tmp_path / "run")["t"].response.answer == 1


def test_bad_tasks_leave_no_folder_behind(tmp_path):
    with pytest.raises(ConfigError):
        Runners.sync_run_task([Task(1, None)], RunConfig(run_dir=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


HOLDER = """
import sys
from pathlib import Path
from aworld.store.writer import RunWriter
writer = RunWriter.create(Path(sys.argv[1]), {"samples": 1})
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_with_the_pid_of_the_first(tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match=f"in use by process {first.pid}"):
            Runners.resume(folder, [Task(1, echo)])
        with open_run(folder) as run:
            assert run.status == "running"
        first.kill()
    with open_run(folder) as run:
        assert run.status == "unfinished"
    assert len(Runners.resume(folder, [Task(1, echo)])) == 1  # a killed one leaves no lock


def test_a_fork_of_the_driver_does_not_keep_the_run_locked(tmp_path):
    folder = Path(tmp_path / "run")
    writer = RunWriter.create(folder, {"samples": 1})
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(ready, 1)
        os._exit(0)
    writer.close()
    RunWriter.open(folder).close()
    os.write(done, b"x")
    os.waitpid(child, 0)
    os.close(ready)
    os.close(done)


async def key_of(value):
    return current_task().idempotency_key


def test_tools_find_the_same_idempotency_key_in_every_attempt_and_after_resuming(tmp_path):
    conf = RunConfig(worker_num=1, samples=2, run_dir=tmp_path / "run")
    keys = [r.answer for r in Runners.sync_run_task(Task(1, key_of, id="t"), conf).values()]
    with open_run(tmp_path / "run") as run:
        assert keys == [f"{run.meta['run_id']}/t#0", f"{run.meta['run_id']}/t#1"]
    again = Runners.resume(tmp_path / "run", Task(1, key_of, id="t"), retry=["success"])
    assert [response.answer for response in again.values()] == keys


def test_a_run_of_an_older_form_is_brought_up_to_date(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    Runners.sync_run_task(Task(1, echo, id="t"), RunConfig(worker_num=1, run_dir=folder))
    monkeypatch.setattr("aworld.store.schema.VERSION", 2)
    monkeypatch.setattr("aworld.store.schema.MIGRATIONS", {1: "create table extra (x);"})
    with pytest.raises(StoreError, match=r"older aworld.*doctor"):
        open_run(folder)
    repair(folder)
    assert recorded(folder)["t"].response.answer == 1


def test_a_run_of_a_newer_form_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    Runners.sync_run_task(Task(1, echo, id="t"), RunConfig(worker_num=1, run_dir=folder))
    monkeypatch.setattr("aworld.store.schema.VERSION", 0)
    with pytest.raises(StoreError, match="newer aworld"):
        open_run(folder)
