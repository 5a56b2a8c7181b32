"""The soak counts what was lost, doubled or mixed up, and draws its faults from a seed."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent.parent / "scripts" / "soak"


def loaded(name: str) -> ModuleType:
    """By its file: the names of its modules are short, and may be those of others."""
    spec = importlib.util.spec_from_file_location(f"soak_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


counting, faults = loaded("tally"), loaded("faults")
IDS = ["a", "b", "c"]


def result(position: int, *, name: str = "", status: str = "success", right: bool = True):
    return counting.Found(position, name or IDS[position], status, right)


ALL = [result(0), result(1), result(2)]


def test_all_there_once_is_good():
    counted = counting.tally(IDS, ALL, told=["c", "a"])  # a driver was killed before it heard of b
    assert counted.is_good
    assert (counted.lost, counted.doubled, counted.wrong) == ((), (), ())
    assert (counted.statuses, counted.attempts) == ({"success": 3}, 3)


@pytest.mark.parametrize(
    ("found", "told", "lost", "doubled", "wrong"),
    [
        ([result(0), result(2)], ["a"], ("b",), (), ()),
        ([result(0), result(2)], ["b"], ("b",), (), ()),  # told, and gone all the same
        ([], [], ("a", "b", "c"), (), ()),
        ([*ALL, result(1)], [], (), ("b",), ()),
        (ALL, ["a", "c", "a"], (), ("a",), ()),  # stored once, told twice
        ([*ALL, result(1, name="c")], [], (), ("c",), ("c",)),
        ([result(0), result(2, name="b"), result(1, name="c")], [], (), (), ("b", "c")),
        ([result(0), result(1, right=False), result(2)], [], (), (), ("b",)),
        ([*ALL, result(3, name="d")], [], (), (), ("d",)),
        (ALL, ["d"], (), (), ("d",)),
    ],
)
def test_whatever_is_lost_doubled_or_mixed_up_is_named(found, told, lost, doubled, wrong):
    counted = counting.tally(IDS, found, told)
    assert (counted.lost, counted.doubled, counted.wrong) == (lost, doubled, wrong)
    assert not counted.is_good


def test_a_failure_is_a_result_and_counted_by_its_status():
    crashed = result(1, status="crashed", right=False)
    counted = counting.tally(IDS, [result(0), crashed, result(2)], told=[])
    assert counted.is_good
    assert counted.statuses == {"success": 2, "crashed": 1}


def test_faults_of_every_kind_come_in_time_and_by_the_seed():
    def drawn(seed: int):
        return faults.drawn(["worker", "driver", "node"], 600.0, random.Random(seed))

    found = drawn(1)
    assert found == drawn(1) != drawn(2)
    assert {fault.kind for fault in found} == {"worker", "driver", "node"}
    assert all(0 < fault.at < 600 for fault in found)
    assert [fault.at for fault in found] == sorted(fault.at for fault in found)
