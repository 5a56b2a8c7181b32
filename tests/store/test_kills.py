"""The driver is killed, again and again: what it was told is on disk, and nothing runs twice."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from aworld.store import open_run

PROGRAM = Path(__file__).with_name("long_run.py")
IN_FLIGHT = 2 * 4  # workers times tasks in each
ON_THEIR_WAY = 32  # finished in a worker, not yet in the driver's hands


def life(arguments: list[str], *, until: int | None, told: list[str]) -> bool:
    """Runs the program, and kills it when it was told of so many. True: it came to its end."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for heard, line in enumerate(process.stdout, 1):
        if line.strip() == "done":
            break
        told.append(line.strip())
        if until is not None and heard >= until:
            process.kill()
            told += [rest.strip() for rest in process.stdout if rest.endswith("\n")]
            break
    process.stdout.close()
    return process.wait(60) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "kills", "count"), [("local", 20, 2000), ("ray", 5, 2000), ("spark", 5, 2000)]
)
@pytest.mark.timeout(600)
def test_a_run_survives_the_death_of_its_driver(tmp_path, engine, kills, count):
    folder, begun = tmp_path / "run", tmp_path / "begun"
    arguments = [str(folder), str(begun), engine, str(count)]
    chance = random.Random(7)
    told: list[str] = []
    for _ in range(kills):
        assert not life(arguments, until=chance.randint(1, count // (kills + 1)), told=told)
        with open_run(folder) as run:  # readable at once, and all that was told is in it
            recorded = {rollout.response.id for rollout in run.rollouts()}
        assert set(told) - {"done"} <= recorded
    assert life(arguments, until=None, told=told)
    with open_run(folder) as run:
        assert run.status == "complete"
        answers = {rollout.response.id: rollout.response.answer for rollout in run.rollouts()}
        assert run.damage == []
    assert answers == {f"task-{number}": number * 2 for number in range(count)}
    assert max(Counter(told).values()) == 1  # nobody was told of a task twice
    begun_in_all = len(begun.read_text().splitlines())
    assert begun_in_all - count <= kills * (IN_FLIGHT + ON_THEIR_WAY)


def test_a_reader_sees_a_run_while_it_is_written(tmp_path):
    folder = tmp_path / "run"
    arguments = [str(folder), str(tmp_path / "begun"), "local", "400"]
    told: list[str] = []
    thread = threading.Thread(target=lambda: life(arguments, until=None, told=told))
    thread.start()
    deadline = time.monotonic() + 30
    while len(told) < 50 and time.monotonic() < deadline:
        time.sleep(0.005)
    with open_run(folder) as run:
        known = list(told)
        assert run.status == "running"
        assert run.writer is not None
        seen = sum(run.counts().values())
        assert seen >= len(known)
        assert run.rollout(known[0]).response.success
        thread.join()
        assert sum(run.counts().values()) == 400  # the same reader, later
        assert run.status == "complete"
