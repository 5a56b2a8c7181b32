"""Files of tasks are read as they were written, and a fault is known before anything is spent."""

from __future__ import annotations

import csv
import io
import json
import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aworld import ConfigError, Task
from aworld.sources import load_tasks

words = st.text(st.characters(codec="utf-8"), min_size=1)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
seconds = st.none() | st.floats(0.1, 1000)
stripped = words.map(str.strip)
names = st.lists(
    stripped.filter(lambda name: name and name[0] != "[" and "," not in name), max_size=3
)
metadata = st.dictionaries(words, json_values, max_size=3)
on_a_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def tasks_with(inputs, truths):
    tasks = st.builds(
        Task,
        inputs,
        id=st.none() | words,
        tools=names,
        ground_truth=truths,
        metadata=metadata,
        timeout=seconds,
    )
    return st.lists(tasks, min_size=1, max_size=5, unique_by=lambda task: task.id)


def record(task):
    return {
        "id": task.id if task.has_given_id else None,
        "input": task.input,
        "ground_truth": task.ground_truth,
        "tools": task.tools,
        "timeout": task.timeout,
        "metadata": task.metadata,
    }


def same(loaded, written):
    assert [task.has_given_id for task in loaded] == [task.has_given_id for task in written]
    for one, other in zip(loaded, written, strict=True):
        assert record(one) == record(other)


def saved(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@on_a_file
@given(tasks_with(json_values.filter(lambda value: value is not None), json_values))
def test_what_is_written_as_jsonl_is_loaded_equal(tmp_path, tasks):
    lines = [json.dumps(record(task), ensure_ascii=False) for task in tasks]
    same(load_tasks(saved(tmp_path, "t.jsonl", "\n".join(lines))), tasks)
    same(load_tasks(saved(tmp_path, "t.json", f"[{','.join(lines)}]")), tasks)


@on_a_file
@given(tasks_with(words, st.none() | words), st.sampled_from([".csv", ".tsv"]))
def test_what_is_written_as_csv_is_loaded_equal(tmp_path, tasks, kind):
    file = io.StringIO(newline="")
    writer = csv.DictWriter(
        file,
        list(record(tasks[0])),
        delimiter="\t" if kind == ".tsv" else ",",
        quoting=csv.QUOTE_ALL,
    )
    writer.writeheader()
    for task in tasks:
        given = record(task)
        writer.writerow(
            {**given, "tools": ",".join(given["tools"]), "metadata": json.dumps(given["metadata"])}
        )
    same(load_tasks(saved(tmp_path, f"t{kind}", file.getvalue())), tasks)


@on_a_file
@given(tasks_with(words, st.none() | words))
def test_what_is_written_as_parquet_is_loaded_equal(tmp_path, tasks):
    records = [{**record(task), "metadata": json.dumps(task.metadata)} for task in tasks]
    path = tmp_path / "t.parquet"
    kinds = dict.fromkeys(record(tasks[0]), pa.string())
    kinds |= {"tools": pa.list_(pa.string()), "timeout": pa.float64()}
    pyarrow.parquet.write_table(pa.Table.from_pylist(records, pa.schema(kinds)), path)
    same(load_tasks(path), tasks)


def test_the_marks_that_other_programs_leave_are_no_content(tmp_path):
    bom = b"\xef\xbb\xbf"
    content = bom + b'{"input": "a"}\r\n\r\n  \n'
    tasks = load_tasks(saved(tmp_path, "t.jsonl", content + content))  # two files put together
    assert [task.input for task in tasks] == ["a", "a"]
    first, second = load_tasks(
        saved(tmp_path, "t.csv", bom + b'input,answer\r\n"a\nb",1\r\n\r\nc,\r\n')
    )
    assert (first.input, first.ground_truth) == ("a\nb", "1")
    assert (second.input, second.ground_truth) == ("c", None)


def test_a_line_of_jsonl_ends_where_json_says_it_does(tmp_path):
    text = "one\u2028line\x85still"
    (task,) = load_tasks(
        saved(tmp_path, "t.jsonl", json.dumps({"input": text}, ensure_ascii=False))
    )
    assert task.input == text


def test_a_cell_may_be_huge(tmp_path):
    (task,) = load_tasks(saved(tmp_path, "t.csv", "input,id\n" + "x" * 1_000_000 + ",1"))
    assert (len(task.input), task.id) == (1_000_000, "1")


def test_not_a_number_is_none(tmp_path):
    line = '{"input": "a", "answer": NaN, "level": NaN, "metadata": {"x": [NaN]}}'
    (task,) = load_tasks(saved(tmp_path, "t.jsonl", line))
    assert (task.ground_truth, task.metadata) == (None, {"level": None, "x": [None]})
    table = pa.table(
        {"input": ["a", "b"], "answer": [float("nan"), None], "id": [1.0, float("nan")]}
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    first, second = load_tasks(tmp_path / "t.parquet")
    assert (first.ground_truth, second.ground_truth) == (None, None)
    assert (first.id, second.has_given_id) == ("1", False)


FAULTS = [
    ("t.jsonl", '{"q": "a"}\n\n{"q" "b"}', "t.jsonl:3:6: not JSON: Expecting ':'"),
    ("t.jsonl", '{"q": "a"}\n[1]', "t.jsonl:2: a task is an object"),
    ("t.jsonl", b'{"q": "a"}\n{"q": "\xff"}', "t.jsonl:2:8: not UTF-8"),
    ("t.jsonl", "9" * 5000, "t.jsonl:1: cannot be read"),
    ("t.jsonl", "", "t.jsonl holds no tasks"),
    ("t.jsonl", '{"q": "a", "id": 1}\n{"q": "b", "id": "1"}', "t.jsonl:2: t.jsonl:1 has the id"),
    ("t.jsonl", '{"q": "a"}\n{"q": null}', "t.jsonl:2: column 'q': there is no input"),
    ("t.jsonl", '{"q": "a", "id": ""}', "t.jsonl:1: column 'id': must not be empty"),
    ("t.jsonl", '{"q": "a", "id": true}', "t.jsonl:1: column 'id': must be a text or a number"),
    ("t.jsonl", '{"q": "a", "timeout": -1}', "t.jsonl:1: column 'timeout': timeout must be a pos"),
    ("t.jsonl", '{"q": "a", "tools": [{}]}', "column 'tools': must be a list of names"),
    ("t.json", '{"q": "a"}', "t.json: a JSON file of tasks holds a list of objects"),
    ("t.json", '{"q": "a"}\n{"q": "b"}', "t.json:2:1: not JSON: Extra data .*name the file .jsonl"),
    ("t.json", '[{"q": "a"}, 3]', r"t.json\[1\]: a task is an object"),
    ("t.json", "[]", "t.json holds no tasks"),
    ("t.csv", "q,id\na,1\nb,2,3\n", "t.csv:3: 3 cells, but the header has 2"),
    ("t.csv", 'q,id\n"a\nb",1\nc,1\n', "t.csv:4: .*t.csv:2 has the id '1', too"),
    ("t.csv", 'q,id\na,1\n"b,2\nc,3', "t.csv:3: not CSV: unexpected end of data"),
    ("t.csv", "q,q\na,1\n", "t.csv:1: two columns are called 'q'"),
    ("t.csv", "q,timeout\na,5\nb,soon\n", "t.csv:3: column 'timeout': must be a number of seconds"),
    ("t.csv", "q,timeout\na,nan\n", "t.csv:2: column 'timeout': timeout must be a positive"),
    ("t.csv", "q,metadata\na,b\n", "t.csv:2: column 'metadata': not JSON"),
    ("t.csv", "q,metadata\na,[]\n", "t.csv:2: column 'metadata': must be an object"),
    ("t.csv", b"q\n\xe9\n", "t.csv:2:1: not UTF-8"),
    ("t.csv", "q,id\n", "t.csv holds no tasks"),
    ("t.csv", "", "t.csv holds no tasks"),
    ("t.parquet", "PAR1 or not", "t.parquet: not Parquet"),
    ("t.xlsx", "", r"no kind of file named '.xlsx' \(known: .csv, .json, .jsonl"),
    ("t.py", "", "say which function gives the tasks"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), FAULTS)
def test_a_fault_is_said_with_its_file_and_line(tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, name, content)
    with pytest.raises(ConfigError, match=message):
        load_tasks(name, fields={"input": "q"})


def test_a_file_that_is_not_there_or_not_readable_is_said(tmp_path):
    with pytest.raises(ConfigError, match="there is no file or folder"):
        load_tasks(tmp_path / "nothing.jsonl")
    with pytest.raises(ConfigError, match="there is no file or folder"):
        load_tasks("nothing.jsonl")
    with pytest.raises(ConfigError, match="a source of tasks is a path or a str"):
        load_tasks(["a"])  # type: ignore[arg-type]


def test_standard_input_is_jsonl(monkeypatch):
    piped = io.BytesIO(b'{"question": "a"}\n{"question": "b"}\nnot JSON')
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=piped))
    assert [task.input for task in load_tasks("-", limit=2)] == ["a", "b"]
    with pytest.raises(ConfigError, match="<stdin>:1:1: not JSON"):
        load_tasks("-")


def test_without_the_package_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"reading Parquet needs: pip install 'aworld\[data\]'"):
        load_tasks(saved(tmp_path, "t.parquet", ""))
