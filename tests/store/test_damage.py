"""Flipped bits and cut files: the damaged is named, the rest is served, repair owes it again."""

from __future__ import annotations

import random
import shutil

import pytest

from aworld import RunConfig, Runners, StoreError, Task
from aworld.store import open_run
from aworld.store.repair import examine, repair
from aworld.store.schema import FILE

COUNT = 120


def answer(number: int) -> str:
    return f"the answer to {number} is " + str(number) * 600


TASKS = [Task(number, answer, id=f"t{number}") for number in range(COUNT)]


@pytest.fixture(scope="module")
def sound_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "sound"
    Runners.sync_run_task(TASKS, RunConfig(worker_num=1, run_dir=folder))
    return folder


@pytest.fixture
def run_folder(sound_run, tmp_path):
    return shutil.copytree(sound_run, tmp_path / "run")


def flip(path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def served(folder) -> dict[str, str]:
    with open_run(folder) as run:
        return {r.response.id: r.response.answer for r in run.rollouts()}


def test_a_flipped_bit_in_a_record_is_found_and_costs_that_record_only(run_folder):
    path = run_folder / FILE
    place = path.read_bytes().index(b"the answer to 77 is") + 100
    flip(path, place)
    findings = examine(run_folder)
    assert [damage.task for damage in findings.damage] == ["t77"]
    assert findings.sound == COUNT - 1
    assert served(run_folder).keys() == {f"t{n}" for n in range(COUNT)} - {"t77"}


def test_no_flipped_bit_gives_a_wrong_answer(run_folder):
    """Wherever it is: each answer that is served is the right one."""
    chance = random.Random(3)
    path = run_folder / FILE
    whole = path.read_bytes()
    found = whole_tables_lost = 0
    for _ in range(150):
        path.write_bytes(whole)
        flip(path, chance.randrange(len(whole)), chance.randrange(8))
        try:
            answers = served(run_folder)
            found_damage = bool(examine(run_folder).damage)
            found += found_damage
        except StoreError:  # the very beginning: refused as a whole
            found += 1
            continue
        assert all(text == answer(int(name[1:])) for name, text in answers.items())
        lost = COUNT - len(answers)
        assert found_damage or not lost
        whole_tables_lost += lost > 8  # the page that leads to all others of a table
    assert found > 30
    assert whole_tables_lost < 15


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_cut_file_serves_what_is_left_and_is_repaired(run_folder, share):
    path = run_folder / FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    before = served(run_folder)
    assert all(text == answer(int(name[1:])) for name, text in before.items())
    repair(run_folder)
    responses = Runners.resume(run_folder, TASKS)
    assert {name: r.answer for name, r in responses.items()} == {
        task.id: answer(task.input) for task in TASKS
    }
    assert examine(run_folder).damage == []


def test_repair_owes_the_damaged_again_and_keeps_the_file_as_it_was(run_folder):
    path = run_folder / FILE
    for number in (5, 50, 100):
        flip(path, path.read_bytes().index(f"the answer to {number} is".encode()) + 50)
    as_it_was = path.read_bytes()
    findings = repair(run_folder)
    assert {damage.task for damage in findings.damage} == {"t5", "t50", "t100"}
    (kept,) = run_folder.glob("damaged-*")
    assert (kept / FILE).read_bytes() == as_it_was
    with Runners.stream_owed(run_folder, TASKS) as stream:
        assert {response.id for response in stream} == {"t5", "t50", "t100"}
    assert examine(run_folder) == (COUNT, [])


def test_a_damaged_big_value_is_named(tmp_path):
    folder = tmp_path / "run"
    tasks = [Task(n, lambda n: str(n) * 200_000, id=f"t{n}") for n in (1, 2)]
    Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir=folder))
    blob = next(b for b in folder.glob("blobs/*/*") if b.read_bytes().startswith(b"1"))
    flip(blob, 1000)
    findings = examine(folder)
    assert [damage.task for damage in findings.damage] == ["t1"]
    assert "is not what was written" in findings.damage[0].reason


def test_what_is_no_run_is_refused_with_a_clear_word(tmp_path):
    with pytest.raises(StoreError, match="holds no run"):
        open_run(tmp_path)
    (tmp_path / FILE).write_bytes(b"no database at all" * 500)
    with pytest.raises(StoreError, match="is no run"):
        open_run(tmp_path)
