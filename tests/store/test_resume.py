"""A run that stopped goes on where it stopped."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from importable_agent import shout

from aworld import ConfigError, RunConfig, Runners, Task, open_run
from aworld.core.context import current_task
from aworld.errors import InputError

RAN = "ran.txt"


HALF = 10


class Counting:
    """Notes every time that it runs. The second half waits until `go` is there, and the seventh
    fails until `fixed` is."""

    def __init__(self, folder, factor: int = 2):
        self.folder = str(folder)
        self.factor = factor

    async def __call__(self, value):
        note = os.open(f"{self.folder}/{RAN}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(note, f"{value}\n".encode())
        os.close(note)
        while value >= HALF and not os.path.exists(f"{self.folder}/go"):
            await asyncio.sleep(0.01)
        if value == 7 and not os.path.exists(f"{self.folder}/fixed"):
            raise ValueError("seven is not ready")
        return value * self.factor


def ran(folder) -> list[int]:
    path = folder / RAN
    return sorted(int(line) for line in path.read_text().split()) if path.exists() else []


def tasks_for(folder, count: int = 20, **changes) -> list[Task]:
    agent = Counting(folder, **changes)
    return [Task(n, agent, id=f"t{n}") for n in range(count)]


def first_half(tmp_path, **settings) -> None:
    """A run of 20 of which ten have finished."""
    conf = RunConfig(worker_num=1, tasks_per_worker=1, run_dir=tmp_path / "run", **settings)
    stop_half_way(tmp_path, Runners.stream_tasks(tasks_for(tmp_path), conf))


def stop_half_way(tmp_path, stream) -> None:
    with stream:
        for done, _ in enumerate(stream, 1):
            if done == HALF:
                stream.cancel()
    (tmp_path / "go").touch()
    assert recorded_count(tmp_path / "run") == HALF


def recorded_count(folder) -> int:
    with open_run(folder) as run:
        return sum(run.counts().values())


def test_only_what_is_owed_is_run(tmp_path):
    first_half(tmp_path)
    under_way = len(ran(tmp_path)) - HALF
    assert under_way <= 1
    responses = Runners.resume(tmp_path / "run", tasks_for(tmp_path))
    assert [response.id for response in responses.values()] == [f"t{n}" for n in range(20)]
    assert {r.answer for r in responses.values() if r.success} == {n * 2 for n in range(20)} - {14}
    assert len(ran(tmp_path)) == 20 + under_way
    with open_run(tmp_path / "run") as run:
        assert run.status == "complete"


def test_a_complete_run_runs_nothing_again(tmp_path):
    (tmp_path / "go").touch()
    Runners.sync_run_task(tasks_for(tmp_path), RunConfig(worker_num=1, run_dir=tmp_path / "run"))
    responses = Runners.resume(tmp_path / "run", tasks_for(tmp_path))
    assert len(responses) == 20
    assert ran(tmp_path) == list(range(20))


def test_recorded_tasks_are_enough_where_the_agent_is_given(tmp_path):
    first_half(tmp_path)
    responses = Runners.resume(tmp_path / "run", agent=Counting(tmp_path))
    assert len(responses) == 20
    assert set(ran(tmp_path)) == set(range(20))


def test_an_agent_that_cannot_be_found_is_asked_for(tmp_path):
    first_half(tmp_path)
    with pytest.raises(ConfigError, match="give it again, as agent="):
        Runners.resume(tmp_path / "run")


def test_an_agent_with_a_name_is_found_by_it(tmp_path):
    conf = RunConfig(worker_num=1, run_dir=tmp_path / "run")
    with Runners.stream_tasks([Task(w, shout, id=w) for w in ("a", "b", "c")], conf) as stream:
        next(stream)
    responses = Runners.resume(tmp_path / "run")
    assert {r.answer for r in responses.values()} == {"A!", "B!", "C!"}


def test_a_changed_task_is_said_and_not_mixed_in(tmp_path):
    first_half(tmp_path)
    changed = tasks_for(tmp_path)
    changed[15] = Task(1500, changed[15].agent, id="t15")
    with pytest.raises(ConfigError, match=r"'t15' \(at 15\) has changed"):
        Runners.resume(tmp_path / "run", changed)
    swapped = tasks_for(tmp_path)
    swapped[3], swapped[4] = swapped[4], swapped[3]
    with pytest.raises(ConfigError, match="at 3 is 't4', it was 't3'"):
        Runners.resume(tmp_path / "run", swapped)
    with open_run(tmp_path / "run") as run:
        assert run.status == "unfinished"


def test_a_changed_agent_is_said_and_can_be_accepted(tmp_path):
    first_half(tmp_path)
    with pytest.raises(ConfigError, match=r"agent 'Counting' .* has changed"):
        Runners.resume(tmp_path / "run", tasks_for(tmp_path, factor=3))
    responses = Runners.resume(tmp_path / "run", tasks_for(tmp_path, factor=3), accept_changes=True)
    assert responses["t19"].answer == 57


def test_tasks_without_ids_are_known_by_their_place(tmp_path):
    def nameless():
        agent = Counting(tmp_path)
        return [Task(n, agent) for n in range(20)]

    conf = RunConfig(worker_num=1, tasks_per_worker=1, run_dir=tmp_path / "run", seed=3)
    stop_half_way(tmp_path, Runners.stream_tasks(nameless(), conf))
    responses = Runners.resume(tmp_path / "run", nameless())
    answers = [response.answer for response in responses.values() if response.success]
    assert answers == [n * 2 for n in range(20) if n != 7]
    assert len(ran(tmp_path)) <= 21


def test_failures_are_kept_and_are_run_again_only_when_asked(tmp_path):
    (tmp_path / "go").touch()
    conf = RunConfig(worker_num=1, run_dir=tmp_path / "run")
    Runners.sync_run_task(tasks_for(tmp_path), conf)
    (tmp_path / "fixed").touch()
    responses = Runners.resume(tmp_path / "run", tasks_for(tmp_path))
    assert responses["t7"].status == "failed"
    responses = Runners.resume(tmp_path / "run", tasks_for(tmp_path), retry=["failed", "timeout"])
    assert responses["t7"].answer == 14
    assert ran(tmp_path) == sorted([*range(20), 7])
    with open_run(tmp_path / "run") as run:
        (earlier,) = run.earlier("t7")
        assert earlier.response.status == "failed"
        assert "seven is not ready" in earlier.response.error.message
        assert run.rollout("t7").response.success
        assert run.counts() == {"success": 20}
        assert run.damage == []


def test_an_unknown_status_to_retry_is_refused(tmp_path):
    first_half(tmp_path)
    with pytest.raises(ConfigError, match="did you mean 'failed'"):
        Runners.resume(tmp_path / "run", tasks_for(tmp_path), retry=["fialed"])


def test_a_generator_is_gone_on_with_where_it_stopped(tmp_path):
    def generated():
        yield from tasks_for(tmp_path, count=1000)

    conf = RunConfig(worker_num=1, tasks_per_worker=1, run_dir=tmp_path / "run")
    with Runners.stream_tasks(generated(), conf) as stream:
        for _ in range(HALF):
            next(stream)
    (tmp_path / "go").touch()
    with pytest.raises(ConfigError, match="had not read all of its tasks"):
        Runners.resume(tmp_path / "run", agent=Counting(tmp_path))
    responses = Runners.resume(tmp_path / "run", generated())
    assert len(responses) == 1000
    with open_run(tmp_path / "run") as run:
        assert run.status == "complete"
        assert run.total == 1000


def test_a_generator_that_has_changed_stops_the_run(tmp_path):
    def generated(first):
        yield Task(first, Counting(tmp_path), id="t0")
        yield from tasks_for(tmp_path)[1:]

    conf = RunConfig(worker_num=1, run_dir=tmp_path / "run")
    with Runners.stream_tasks(generated(0), conf) as stream:
        next(stream)
    with pytest.raises(InputError, match="has changed"):
        Runners.resume(tmp_path / "run", generated(5))


def test_a_sequence_goes_on_with_the_answer_before(tmp_path):
    async def add_one(value):
        return value + 1

    def chain():
        return [Task(0, add_one, id="t0"), *(Task(None, add_one, id=f"t{n}") for n in range(1, 8))]

    conf = RunConfig(worker_num=1, sequence_dependent=True, run_dir=tmp_path / "run")
    with Runners.stream_tasks(chain(), conf) as stream:
        for _ in range(3):
            next(stream)
        stream.cancel()
    responses = Runners.resume(tmp_path / "run", chain())
    assert [response.answer for response in responses.values()] == list(range(1, 9))


def test_a_resumed_run_has_the_seeds_of_one_that_was_never_stopped(tmp_path):
    def tasks():
        return [Task(n, seed_of, **({"id": f"t{n}"} if n % 2 else {})) for n in range(12)]

    conf = RunConfig(worker_num=1, tasks_per_worker=1, seed=11, samples=2)
    whole = [r.answer for r in Runners.sync_run_task(tasks(), conf).values()]
    with Runners.stream_tasks(tasks(), replace(conf, run_dir=tmp_path / "run")) as stream:
        for _ in range(7):
            next(stream)
        stream.cancel()
    resumed = Runners.resume(tmp_path / "run", tasks())
    assert [response.answer for response in resumed.values()] == whole
    assert len(set(whole)) == 24


async def seed_of(value):
    return current_task().seed


UNCHANGED = """
import sys
from aworld import RunConfig, Runners, Task
class Point:
    def __init__(self, x): self.x = x
async def size(value): return len(value["words"])
words = {"alpha", "beta", "gamma", "delta", "epsilon"}
task = Task({"words": words, "at": Point(3), "by": size}, size, id="t")
if sys.argv[2] == "run":
    Runners.sync_run_task(task, RunConfig(worker_num=1, run_dir=sys.argv[1]))
else:
    assert Runners.resume(sys.argv[1], task)["t"].answer == 5
"""


def test_a_task_with_a_set_or_an_object_is_the_same_in_another_process(tmp_path):
    for number, what in enumerate(["run", "resume", "resume"]):
        subprocess.run(
            [sys.executable, "-c", UNCHANGED, str(tmp_path / "run"), what],
            env=os.environ | {"PYTHONHASHSEED": str(number + 1)},
            check=True,
        )
