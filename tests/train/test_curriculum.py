"""Tasks that can be learned from come up more often, and none is given up."""

from __future__ import annotations

import json

import pytest

from aworld.errors import ConfigError
from aworld.train import Curriculum


def taught() -> Curriculum:
    curriculum = Curriculum(["always", "never", "sometimes"])
    for turn in range(30):
        curriculum.record("always", 1.0)
        curriculum.record("never", 0.0)
        curriculum.record("sometimes", turn % 2)
    return curriculum


def test_what_is_solved_sometimes_comes_up_most():
    chances = taught().chances()
    assert sum(chances.values()) == pytest.approx(1.0)
    assert chances["sometimes"] > 2 * chances["always"]
    assert chances["sometimes"] > 2 * chances["never"]
    assert min(chances.values()) > 0.05


def test_tasks_that_nobody_has_tried_are_alike():
    chances = Curriculum("abcd").chances()
    assert set(chances.values()) == {0.25}


def test_what_was_long_ago_is_forgotten():
    curriculum = taught()
    for _ in range(30):
        curriculum.record("never", 1.0)
    assert curriculum.rate("never") > 0.8


def test_a_choice_has_no_task_twice_and_is_repeatable():
    choices = [[taught().choose(2), taught().choose(9)] for _ in range(2)]
    assert choices[0] == choices[1]
    assert sorted(choices[0][1]) == ["always", "never", "sometimes"]
    assert len(set(choices[0][0])) == 2


def test_it_goes_on_from_plain_data():
    curriculum = taught()
    curriculum.choose(1)
    other = Curriculum(["always", "never", "sometimes", "new"])
    other.restore(json.loads(json.dumps(curriculum.to_dict())))
    same = Curriculum(["always", "never", "sometimes"])
    same.restore(curriculum.to_dict())
    assert same.choose(2) == curriculum.choose(2)
    assert other.rate("always") == curriculum.rate("always")
    assert other.rate("new") == 0.5


def test_results_of_other_tasks_are_not_its_business():
    curriculum = Curriculum(["a"])
    curriculum.record("other", 1.0)
    assert curriculum.chances() == {"a": 1.0}


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(ConfigError, match="needs tasks"):
        Curriculum([])
    with pytest.raises(ConfigError, match="memory"):
        Curriculum(["a"], memory=2)
