"""Rewards that compare an answer with the ground truth."""

from __future__ import annotations

import pickle
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from scene import finished

from aworld.core.failure import STATUSES
from aworld.errors import ConfigError
from aworld.rewards import contains, exact_match, gaia_match, json_match, numeric_match, regex_match
from aworld.rewards.code_answers import code_in
from aworld.rewards.gaia import normalised, same_answer
from aworld.rewards.numerals import last_number, same_number, whole_number

MATCHES = [exact_match, numeric_match, contains, json_match, gaia_match]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("reward", MATCHES)
@pytest.mark.parametrize("status", STATUSES)
def test_a_rollout_without_an_answer_is_not_known_rather_than_wrong(reward, status):
    known = reward(*finished(None, "1", status=status))
    assert known == (0.0 if status == "success" else None)


@pytest.mark.parametrize("reward", MATCHES)
def test_without_a_ground_truth_nothing_is_known(reward):
    assert reward(*finished("42")) is None


@pytest.mark.parametrize("reward", MATCHES)
def test_what_a_truncated_rollout_left_is_scored(reward):
    assert reward(*finished("42", "42", status="truncated")) == 1.0


@pytest.mark.parametrize("reward", MATCHES)
def test_any_of_several_answers_may_be_right(reward):
    chosen = reward(any_of=True)
    assert chosen(*finished("7", ["42", "7"])) == 1.0
    assert chosen(*finished("8", ["42", "7"])) == 0.0
    assert chosen(*finished("8", [])) is None


@pytest.mark.parametrize("reward", [*MATCHES, regex_match("a(b)", 1)])
def test_a_reward_travels_to_a_worker(reward):
    assert pickle.loads(pickle.dumps(reward)) == reward


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'ignore_case'"):
        exact_match(ignorecase=True)
    with pytest.raises(ConfigError, match="a task and a trajectory"):
        exact_match("answer")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("answer", "truth", "right"),
    [
        (" Paris\n", "Paris", True),
        ("paris", "Paris", False),
        (42, "42", True),
        ("42", 42, True),
        (1.0, 1, True),
        (True, 1, False),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, True),
        ("", "", True),
    ],
)
def test_exact_is_exact_but_for_white_space_around(answer, truth, right):
    assert exact_match(*finished(answer, truth)) == right


def test_case_can_be_ignored():
    assert exact_match(ignore_case=True)(*finished("STRASSE", "Straße")) == 1.0
    assert contains(ignore_case=True)(*finished("in PARIS, France", "Paris")) == 1.0
    assert contains(*finished("in PARIS, France", "Paris")) == 0.0


def test_an_empty_text_is_no_ground_truth_to_look_for():
    with pytest.raises(ValueError, match="is empty"):
        contains(*finished("anything", " "))


class Place(BaseModel):
    name: str
    rank: int = 1


@pytest.mark.parametrize("reward", [exact_match, json_match])
def test_a_stored_answer_scores_like_the_one_in_memory(reward):
    task, trajectory = finished(Place(name="x"), {"name": "x", "rank": 1})
    stored = type(trajectory).from_dict(trajectory.to_dict())
    assert reward(task, trajectory) == reward(task, stored) == 1.0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The answer is 1,234.50.", "1234.5"),
        ("first 3, then 4", "4"),
        ("-$5.20", "-5.2"),
        ("$-5", "-5"),
        ("it is \N{MINUS SIGN}7 °C", "-7"),
        ("12 %", "12"),
        ("100,000,000 km", "100000000"),
        ("6.02e23 per mole", "6.02e23"),
        ("1.5E-3", "0.0015"),
        ("2.5 x 10^3", "2500"),
        ("3/4", "0.75"),
        ("-1/2", "-0.5"),
        ("on 12/05/2024", "2024"),
        ("between 10-20", "20"),
        ("4 of CO2 and m2", "4"),
        ("1,2,3", "3"),
        (r"\boxed{42}", "42"),
        ("**.5**", "0.5"),
        ("- 5 apples", "5"),
    ],
)
def test_the_last_number_in_a_text_is_found(text, number):
    assert last_number(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "none", "CO2", "5/0", "1e999999999", "\N{SUPERSCRIPT TWO}"])
def test_where_there_is_no_number_none_is_found(text):
    assert last_number(text) is None


@given(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.text(" abc=:", min_size=0)
)
def test_a_number_is_found_again_however_it_was_written(number, before):
    assert last_number(f"{before.rstrip('abc')} {number} units.") == Decimal(repr(number))
    assert whole_number(f" {number}% ") == Decimal(repr(number))


@given(st.integers())
def test_thousands_may_be_grouped(number):
    assert last_number(f"${number:,}") == number


@given(st.text())
def test_whatever_the_text_finding_a_number_ends_well(text):
    found = last_number(text)
    assert found is None or found.is_finite()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["1", "1/", "1,111", "-", "1.", ".", "$", "10-", "1e", " "])
def test_a_long_answer_takes_no_long_time(piece):
    long = piece * 100_000
    for text in (long, f"1/{long}/", f"```{long}```", f"```json\n{long}"):
        last_number(text)
        assert json_match(*finished(text, {"a": 1})) == 0.0
        assert gaia_match(*finished(text, "x")) == 0.0
        assert code_in(text)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=3), st.floats(-9, 9), st.floats(0, 9)
)
def test_closeness_of_numbers_is_symmetric(one, offset, tolerance):
    other = one + Decimal(offset)
    close = same_number(one, other, tolerance=tolerance)
    assert close == same_number(other, one, tolerance=tolerance)
    assert same_number(one, one)


@pytest.mark.parametrize(
    ("answer", "truth", "options", "right"),
    [
        ("0.3", 0.1 + 0.2, {}, True),
        ("12345678901234567890", 12345678901234567891, {}, False),
        ("about 3.14", "3.14159", {}, False),
        ("about 3.14", "3.14159", {"tolerance": 0.01}, True),
        ("99", 100, {"relative": 0.01}, True),
        (10**400, 10**400, {}, True),
        (10**400, 10**400 + 1, {}, False),
        ("no idea", 1, {}, False),
        (True, 1, {}, False),
        (float("nan"), 1, {}, False),
    ],
)
def test_numbers_match_within_the_tolerance(answer, truth, options, right):
    assert numeric_match(**options)(*finished(answer, truth)) == right


def test_a_ground_truth_without_a_number_is_said():
    with pytest.raises(ValueError, match="no number in the ground truth 'abc'"):
        numeric_match(*finished("1", "abc"))
    with pytest.raises(ConfigError, match="tolerance"):
        numeric_match(tolerance=-1)


def test_a_pattern_is_found_or_catches_the_truth():
    assert regex_match(r"\d{4}")(*finished("in 1984")) == 1.0
    assert regex_match(r"\d{4}")(*finished("never")) == 0.0
    last = regex_match(r"answer: (\w+)", group=1)
    assert last(*finished("answer: 1, no, answer: 2", "2")) == 1.0
    assert last(*finished("answer: 1", "2")) == 0.0
    assert last(*finished("nothing", "2")) == 0.0
    assert last(*finished("answer: 1")) is None
    assert regex_match(re.compile("PARIS", re.IGNORECASE))(*finished("paris")) == 1.0


def test_a_bad_pattern_is_refused_at_once():
    with pytest.raises(ConfigError, match="no regular expression"):
        regex_match("(")
    with pytest.raises(ConfigError, match="has no group 2"):
        regex_match("(a)", group=2)


@pytest.mark.parametrize(
    ("answer", "truth", "options", "right"),
    [
        ('{"a": 1}', {"a": 1.0}, {}, True),
        ('Here:\n```json\n{"a": 1}\n```\nDone.', '{"a": 1}', {}, True),
        ('{"a": true}', {"a": 1}, {}, False),
        ('{"a": 1, "b": 2}', {"a": 1}, {}, False),
        ('{"a": 1, "b": 2}', {"a": 1}, {"subset": True}, True),
        ('{"items": [{"n": "5"}]}', "5", {"path": "items.0.n"}, True),
        ('{"items": [{"n": 5}]}', "5", {"path": ["items", -1, "n"]}, True),
        ('{"items": []}', "5", {"path": "items.0.n"}, False),
        ("no json", {"a": 1}, {}, False),
        ("null", "null", {}, True),
    ],
)
def test_json_is_compared_as_values(answer, truth, options, right):
    assert json_match(**options)(*finished(answer, truth)) == right


@given(json_values.filter(lambda value: value is not None))
def test_every_json_value_matches_itself(value):
    import json

    try:
        text = json.dumps(value)
        text.encode()
    except UnicodeEncodeError:
        return
    assert json_match(*finished(text, value)) == 1.0
    assert json_match(subset=True)(*finished(text, value)) == 1.0


@pytest.mark.parametrize(
    ("answer", "truth", "right"),
    [
        ("$1,234.50", "1234.5", True),
        ("FINAL ANSWER: 17%", "17", True),
        ("€ 17", "17", True),
        ("about 17", "17", False),
        ("The Eiffel-Tower.", "eiffel tower", True),
        ("sea gull", "seagull", True),
        ("b; a", "a, b", False),
        ("Apple,  the pear, 3.0", "apple; pear; 3", True),
        ("apple, pear", "apple, pear, plum", False),
        ("$1234", "1,234", True),
        (["a", 2], "a, 2", True),
        ("", "x", False),
        ("a", "A", True),
        ("nan", "NaN", True),
    ],
)
def test_gaia_forgives_form_but_not_content(answer, truth, right):
    assert gaia_match(*finished(answer, truth)) == right


@given(st.text(), st.booleans())
def test_normalising_twice_changes_nothing_more(text, punctuation):
    once = normalised(text, punctuation=punctuation)
    assert normalised(once, punctuation=punctuation) == once


words = st.text("aAnTthe-.!  xyß", max_size=12)


@given(words, words)
def test_texts_match_in_either_order(one, other):
    assert same_answer(one, other) == same_answer(other, one)


@given(st.text() | st.lists(st.sampled_from(["a", "1,000", "x;y", "-"])).map(", ".join))
def test_every_answer_is_its_own_truth(text):
    assert same_answer(text, text)
