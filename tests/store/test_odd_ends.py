"""What a hostile reader would try: each was once a way to lose results, or to mix them up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tampering import change

from aworld import ConfigError, RunConfig, Runners, StoreError, Task, open_run
from aworld.errors import DamagedError
from aworld.rescoring import rescore
from aworld.rewards import exact_match
from aworld.store.reader import Run
from aworld.store.repair import examine, repair
from aworld.store.schema import FILE, READY
from aworld.store.writer import RunWriter


async def echo(value):
    return value


def record(folder, tasks, **settings):
    return Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir=folder, **settings))


def echoes(count: int) -> list[Task]:
    return [Task(n, echo, id=f"t{n}", ground_truth=n) for n in range(count)]


def answers(folder) -> dict[str, object]:
    with open_run(folder) as run:
        found = {rollout.response.id: rollout.response.answer for rollout in run.rollouts()}
        assert run.damage == []
        return found


# -- values ---------------------------------------------------------------------------------------


def test_a_reward_of_minus_zero_is_zero(tmp_path):
    record(tmp_path / "run", echoes(2), reward=lambda task, trajectory: -0.1 * 0)
    with open_run(tmp_path / "run") as run:
        assert [row.reward for row in run.results()] == [0.0, 0.0]
        assert run.damage == []


class Speechless:
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


def test_a_value_that_cannot_be_told_costs_nobody_else_a_result(tmp_path):
    def agent(value):
        return Speechless() if value == 1 else value

    record(tmp_path / "run", [Task(n, agent, id=f"t{n}") for n in range(3)])
    assert answers(tmp_path / "run") == {"t0": 0, "t1": "<Speechless>", "t2": 2}


@pytest.mark.parametrize(
    "value",
    [
        {"$aworld": "text", "blob": "zz"},
        {"$aworld": "bytes", "base64": "aGk="},
        {"$$aworld": 1, "b": b"\xff\x00"},
        {"$row": 3},
        {"text": "$aworld"},
        {"$aworld": {"$aworld": "\ud800"}},
    ],
)
def test_what_looks_like_a_mark_of_ours_comes_back_as_it_was(tmp_path, value):
    record(tmp_path / "run", [Task(value, echo, id="t")])
    assert answers(tmp_path / "run") == {"t": value}
    with open_run(tmp_path / "run") as run:
        assert run.task_at(0).input == value


def test_a_number_too_long_for_python_comes_back_as_text(tmp_path):
    digits = "7" * 5000
    sys.set_int_max_str_digits(0)
    try:
        record(tmp_path / "run", [Task(int(digits), echo, id="t")])
    finally:
        sys.set_int_max_str_digits(4300)
    assert answers(tmp_path / "run") == {"t": digits}


def test_metadata_that_is_no_json_to_sqlite_breaks_no_condition(tmp_path):
    tasks = [Task(n, echo, id=f"t{n}", metadata={"level": n}) for n in range(2)]
    tasks.append(Task(2, echo, id="t2", metadata={"level": float("nan")}))
    record(tmp_path / "run", tasks)
    with open_run(tmp_path / "run") as run:
        assert [r.task.id for r in run.rollouts("level >= 1")] == ["t1"]


# -- scores and attempts --------------------------------------------------------------------------


class Fails:
    """Until the file is there."""

    def __init__(self, path):
        self.path = str(path)

    async def __call__(self, value):
        if value == 1 and not os.path.exists(self.path):
            raise ValueError("not yet")
        return value


def test_a_result_that_was_tried_again_has_no_score_of_the_one_before(tmp_path):
    tasks = [Task(n, Fails(tmp_path / "go"), id=f"t{n}") for n in range(2)]
    record(tmp_path / "run", tasks)
    rescore(tmp_path / "run", lambda task, trajectory: 1.0 if trajectory.success else -5.0)
    (tmp_path / "go").touch()
    Runners.resume(tmp_path / "run", tasks, retry=["failed"])
    with open_run(tmp_path / "run") as run:
        assert [row.reward for row in run.results()] == [1.0, None]


def test_rounds_do_not_clash_after_damage(tmp_path):
    tasks = [Task(n, Fails(tmp_path / "go"), id=f"t{n}") for n in range(2)]
    record(tmp_path / "run", tasks)
    Runners.resume(tmp_path / "run", tasks, retry=["failed"])
    change(tmp_path / "run", "update results set seconds = seconds + 1 where slot = 1")
    Runners.resume(tmp_path / "run", tasks)
    (tmp_path / "go").touch()
    Runners.resume(tmp_path / "run", tasks, retry=["failed"])
    assert answers(tmp_path / "run") == {"t0": 0, "t1": 1}
    with open_run(tmp_path / "run") as run:
        assert [rollout.round for rollout in run.earlier("t1")] == [0, 1]


def test_a_damaged_score_costs_the_score_and_not_the_result(tmp_path):
    record(tmp_path / "run", echoes(2))
    rescore(tmp_path / "run", exact_match)
    change(tmp_path / "run", "update scores set value = 0.5 where slot = 1")
    with open_run(tmp_path / "run") as run:
        assert [rollout.reward for rollout in run.rollouts()] == [1.0, None]
        assert run.rollout("t1").scores["exact_match"].error.kind == "DamagedError"
        assert run.damage == []


def test_what_was_given_up_is_checked_like_all_else(tmp_path):
    tasks = [Task(1, Fails(tmp_path / "go"), id="t")]
    record(tmp_path / "run", tasks)
    Runners.resume(tmp_path / "run", tasks, retry=["failed"])
    change(tmp_path / "run", "update earlier set status = 'success'")
    with open_run(tmp_path / "run") as run, pytest.raises(DamagedError):
        run.earlier("t")


def test_a_sequence_with_gaps_takes_the_answer_right_before(tmp_path):
    async def add_one(value):
        return value + 1

    tasks = [Task(0, add_one, id="t0"), *(Task(None, add_one, id=f"t{n}") for n in range(1, 7))]
    record(tmp_path / "run", tasks, sequence_dependent=True)
    change(tmp_path / "run", "delete from results where slot in (2, 4, 5)")
    change(tmp_path / "run", "delete from bodies where slot in (2, 4, 5)")
    responses = Runners.resume(tmp_path / "run", tasks)
    assert [response.answer for response in responses.values()] == list(range(1, 8))


# -- damage ---------------------------------------------------------------------------------------


def test_a_damaged_body_is_said_when_a_run_is_resumed(tmp_path):
    record(tmp_path / "run", echoes(3))
    change(tmp_path / "run", "update bodies set body = x'7b7d' where slot = 1")
    with pytest.raises(DamagedError, match="doctor") as caught:
        Runners.resume(tmp_path / "run", echoes(3))
    assert caught.value.responses.keys() == {"t0", "t2"}
    repair(tmp_path / "run")
    assert len(Runners.resume(tmp_path / "run", echoes(3))) == 3


def test_a_damaged_big_value_is_written_again(tmp_path):
    tasks = [Task(n, lambda n: str(n) * 200_000, id=f"t{n}") for n in range(2)]
    record(tmp_path / "run", tasks)
    for blob in (tmp_path / "run").glob("blobs/*/*"):
        blob.write_bytes(b"x" * 200_000)
    repair(tmp_path / "run")
    Runners.resume(tmp_path / "run", tasks)
    assert examine(tmp_path / "run") == (2, [])


def test_nothing_new_refers_to_a_damaged_message(tmp_path):
    folder = tmp_path / "run"
    long = {"role": "system", "content": "be brief " * 50}
    responses = [_conversation(n, long) for n in range(6)]
    writer = RunWriter.create(folder, {"samples": 1, "total": 6})
    for slot in range(3):
        writer.note_task(slot, Task(slot, id=f"t{slot}"), 0)
        writer.record([_finished(slot, responses[slot])])
    writer.close()
    change(folder, "update messages set body = x'7b7d'")
    writer = RunWriter.open(folder)
    for slot in range(3, 6):
        writer.note_task(slot, Task(slot, id=f"t{slot}"), 0)
        writer.record([_finished(slot, responses[slot])])
    writer.close()
    with open_run(folder) as run:
        assert {"t3", "t4", "t5"} <= {rollout.task.id for rollout in run.rollouts()}


def _conversation(number, system):
    from aworld.core.task import TaskResponse
    from aworld.core.trajectory import Trajectory

    call = {"messages": [system], "tools": [], "reply": {"role": "assistant"}}
    step = {"step": 0, "action": {"role": "assistant"}, "observation": None, "model_call": call}
    return TaskResponse(f"t{number}", 1, trajectory=Trajectory(f"t{number}", "a", [step], 1, True))


def _finished(slot, response):
    from aworld.store.writer import Finished

    return Finished(slot, response)


def test_an_index_that_leads_astray_is_noticed(tmp_path):
    record(tmp_path / "run", echoes(5))
    with Run(tmp_path / "run") as run:
        run.position_of = lambda task_id: 3
        with pytest.raises(DamagedError, match="index"):
            run.rollout("t1")


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_repair_that_was_broken_off_is_ended_by_the_next(tmp_path, monkeypatch, done):
    folder = tmp_path / "run"
    record(folder, echoes(4))
    import aworld.store.repair as module

    monkeypatch.setattr(module, "_put_in_place", lambda *_: None)
    repair(folder)
    monkeypatch.undo()
    assert (folder / "repaired" / READY).exists()
    if done >= 1:
        (folder / FILE).unlink()
        with pytest.raises(StoreError, match=r"repair of .* was broken off"):
            open_run(folder)
        with pytest.raises(StoreError, match="holds a run already"):
            record(folder, echoes(4))
    assert repair(folder) == (4, [])
    assert answers(folder) == {f"t{n}": n for n in range(4)}


# -- beginnings -----------------------------------------------------------------------------------

KILLED_WHILE_IT_BEGINS = """
import os, sys
from pathlib import Path
import aworld.store.schema as schema
place = sys.argv[2]
whole = schema._connected
class Killing:
    def __init__(self, connection): self._connection = connection
    def __getattr__(self, name): return getattr(self._connection, name)
    def execute(self, statement, *values):
        if place in statement: os.kill(os.getpid(), 9)
        return self._connection.execute(statement, *values)
schema._connected = lambda path, mode: Killing(whole(path, mode))
from aworld.store.writer import RunWriter
RunWriter.create(Path(sys.argv[1]), {"samples": 2}, {"run": {"samples": 2}})
"""


@pytest.mark.parametrize("place", ["page_size", "begin", "create table results", "commit"])
def test_a_run_that_was_killed_while_it_began_can_be_begun_again(tmp_path, place):
    folder = tmp_path / "run"
    command = [sys.executable, "-c", KILLED_WHILE_IT_BEGINS, str(folder), place]
    assert subprocess.run(command).returncode == -9
    assert len(record(folder, echoes(2), samples=2)) == 4


def test_a_read_only_folder_shows_what_is_still_in_the_log(tmp_path):
    folder = tmp_path / "run"
    writer = RunWriter.create(folder, {"samples": 1, "total": 2})
    for slot in range(2):
        writer.note_task(slot, Task(slot, id=f"t{slot}"), 0)
        writer.record([_finished(slot, _conversation(slot, {}))])
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (FILE, f"{FILE}-wal"):
        shutil.copy(folder / name, copy / name)
    writer.close()
    mount = ["mount", "--bind", "-o", "ro", str(copy), str(copy)]
    if os.geteuid() != 0 or subprocess.call(mount) != 0:
        pytest.skip("only root can mount a folder read-only")
    try:
        with open_run(copy) as run:
            assert run.counts() == {"success": 2}
    finally:
        subprocess.check_call(["umount", "-l", str(copy)])


# -- another dataset, another agent, another reward -----------------------------------------------


def test_more_or_fewer_tasks_are_said(tmp_path):
    record(tmp_path / "run", echoes(4))
    for count in (2, 6):
        with pytest.raises(ConfigError, match=f"has 4 tasks, and {count} are given"):
            Runners.resume(tmp_path / "run", echoes(count))
    assert len(Runners.resume(tmp_path / "run", echoes(6), accept_changes=True)) == 6


def test_a_change_that_is_accepted_is_recorded(tmp_path):
    tasks = [Task(n, Fails(tmp_path / "go"), id=f"t{n}", ground_truth=n) for n in range(2)]
    record(tmp_path / "run", tasks)
    (tmp_path / "go").touch()
    changed = [tasks[0], Task(100, tasks[1].agent, id="t1", ground_truth=100)]
    Runners.resume(tmp_path / "run", changed, accept_changes=True, retry=["failed"])
    with open_run(tmp_path / "run") as run:
        rollout = run.rollout("t1")
        assert (rollout.task.input, rollout.response.answer) == (100, 100)


def test_an_agent_that_was_refused_leaves_no_trace(tmp_path):
    from importable_agent import shout

    with Runners.stream_tasks(
        [Task(w, shout, id=w) for w in "abc"], RunConfig(worker_num=1, run_dir=tmp_path / "run")
    ) as stream:
        next(stream)
    with pytest.raises(ConfigError, match="agent"):
        Runners.resume(tmp_path / "run", agent=lambda word: word)
    assert len(Runners.resume(tmp_path / "run")) == 3


def test_a_resumed_run_keeps_its_seed_and_its_reward(tmp_path):
    record(tmp_path / "run", echoes(2), seed=5, reward="exact_match")
    for settings in ({"seed": 6}, {"reward": lambda task, trajectory: 0.25}):
        with pytest.raises(ConfigError, match=r"leave it as it was|resume it as it was"):
            Runners.resume(tmp_path / "run", echoes(2), run_conf=RunConfig(**settings))
    responses = Runners.resume(tmp_path / "run", echoes(2), run_conf=RunConfig(worker_num=1))
    assert [response.reward for response in responses.values()] == [1.0, 1.0]


# -- strangers ------------------------------------------------------------------------------------


def test_a_strangers_run_leads_nowhere_else(tmp_path):
    folder = tmp_path / "run"
    record(folder, [Task("x" * 100_000, echo, id="t")])
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder / "run.lock").unlink()
    (folder / "run.lock").symlink_to(victim)
    with pytest.raises(StoreError, match="cannot be locked"):
        Runners.resume(folder, [Task("x" * 100_000, echo, id="t")])
    assert victim.read_text() == "precious"
    (folder / "run.lock").unlink()
    os.mkfifo(folder / "run.lock")
    for blob in folder.glob("blobs/*/*"):
        blob.unlink()
        os.mkfifo(blob)
    with open_run(folder) as run:
        assert run.status == "complete"
        assert list(run.rollouts()) == []
        assert "no plain file" in run.damage[0].reason
        (folder / "config.toml").unlink()
        os.mkfifo(folder / "config.toml")
        with pytest.raises(StoreError, match="no plain file"):
            _ = run.config


@pytest.mark.parametrize(
    "statement",
    [
        "update meta set value = '\"many\"', crc = 0",
        "drop table meta; create view meta as select 1 as key, 2 as value, 3 as crc",
    ],
)
def test_a_strangers_tables_are_refused_or_read_with_care(tmp_path, statement):
    folder = tmp_path / "run"
    record(folder, echoes(1))
    for one in statement.split(";"):
        change(folder, one)
    try:
        with open_run(folder) as run:
            run.counts()
    except StoreError:
        pass
