"""Which column is which: the usual names are found, all others can be said, and none is lost."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aworld import ConfigError, EchoAgent
from aworld.sources import load_tasks
from aworld.sources.fields import ALIASES


@pytest.fixture
def load(tmp_path):
    def load(*rows, **options):
        path = tmp_path / "t.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        return load_tasks(path, **options)

    return load


def test_the_columns_of_gaia_are_known(load):
    (task,) = load({"task_id": "c61d", "Question": "?", "Level": 2, "Final answer": "17"})
    assert (task.id, task.input, task.ground_truth) == ("c61d", "?", "17")
    assert task.metadata == {"Level": 2}


def test_the_columns_can_be_said(load):
    row = {"text": "?", "gold": 1, "nr": 7, "question": "not this", "id": "nor this"}
    (task,) = load(row, fields={"input": "text", "ground_truth": "gold", "id": "nr"})
    assert (task.input, task.ground_truth, task.id) == ("?", 1, "7")
    assert task.metadata == {"question": "not this", "id": "nor this"}


def test_a_field_can_have_no_column(load):
    specs = [{"type": "function"}]
    (task,) = load({"prompt": "?", "tools": specs, "answer": "x"}, fields={"tools": None})
    assert (task.tools, task.ground_truth, task.metadata) == ([], "x", {"tools": specs})


def test_a_column_that_was_said_is_no_other_field_as_well(load):
    (task,) = load({"answer": "Jeopardy!", "x": 1}, fields={"input": "answer"})
    assert (task.input, task.ground_truth, task.metadata) == ("Jeopardy!", None, {"x": 1})


names = st.sampled_from([alias for aliases in ALIASES.values() for alias in aliases])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(names), st.sampled_from([str.lower, str.upper, str.title]))
def test_of_several_names_the_first_is_taken_and_nothing_is_lost(load, columns, spelt):
    columns -= {"tools", "timeout", "metadata"}
    row = {spelt(name): f"value of {name}" for name in columns}
    first = {
        field: next((alias for alias in aliases if alias in columns), None)
        for field, aliases in ALIASES.items()
    }
    if first["input"] is None:
        with pytest.raises(ConfigError, match=r"no column is known to be the input|holds no tasks"):
            load(row)
        return
    (task,) = load(row)
    for field in ("input", "ground_truth", "id"):
        if first[field]:
            assert getattr(task, field) == f"value of {first[field]}"
    taken = {name for name in first.values() if name}
    assert task.metadata == {spelt(n): f"value of {n}" for n in columns - taken}


def test_a_column_means_the_same_in_every_row(load):
    sparse = load({"question": "a", "solution": "long", "answer": 1}, {"question": "b"})
    assert [task.ground_truth for task in sparse] == [1, None]
    with pytest.raises(ConfigError, match=r"t.jsonl:2: column 'question': there is no input"):
        load({"question": "a"}, {"prompt": "b"})


def test_tools_may_be_names_with_commas_or_a_list(load):
    tasks = load(*({"input": "?", "tools": given} for given in ("a, b c,", '["a", "b c"]', None)))
    assert [task.tools for task in tasks] == [["a", "b c"], ["a", "b c"], []]


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        ({"text": 1, "x": 2}, None, r"no column is known to be the input \(columns: text, x\)"),
        ({"text": 1}, {"input": "texd"}, r"no column named 'texd'; did you mean 'text'\?"),
        ({"input": 1}, {"inputs": "text"}, "no field of a task named 'inputs'; did you mean"),
        ({"input": 1}, {"id": 3}, "'id' needs a column's name, got 3"),
        ({"input": 1, "a": 2, "metadata": {"a": 3}}, None, "'a' is a column, and in the metadata"),
        ({"input": 1, "metadata": "text"}, None, r"fields=\{'metadata': None\} leaves it to"),
    ],
)
def test_what_does_not_fit_is_said(load, row, fields, message):
    with pytest.raises(ConfigError, match=message):
        load(row, fields=fields)


def test_the_agent_and_the_limit_are_the_callers(load):
    agent = EchoAgent()
    tasks = load({"input": 1}, {"input": 2}, {"input": 3}, agent=agent, limit=2)
    assert [(task.input, task.agent) for task in tasks] == [(1, agent), (2, agent)]
    with pytest.raises(ConfigError, match="limit must be a whole number of at least 1"):
        load({"input": 1}, limit=0)
    with pytest.raises(ConfigError, match=r"has no split: leave it out"):
        load({"input": 1}, split="test")


def test_importing_the_sources_loads_nothing_heavy():
    code = "import aworld.sources, sys; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"pyarrow", "datasets", "gymnasium", "reasoning_gym", "numpy", "pydantic", "asyncio"}
    assert not set(out.stdout.split()) & heavy
