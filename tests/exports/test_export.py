"""A run becomes a file: whole or not at all, with a word on whatever is not in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from recorded import response, says, step, user, write_run
from tampering import change

from aworld.core.task import Task
from aworld.errors import ConfigError, StoreError
from aworld.exports import export
from aworld.exports.exporting import FORMATS


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_every_format_can_be_written_and_loaded(run, tmp_path, load):
    for name, chosen in FORMATS.items():
        for form in chosen.forms:
            exported = export(run, name, tmp_path / f"{name}.{form}")
            assert exported.rows > 0, name
            assert len(load(exported.path)) == exported.rows


def test_a_file_goes_into_the_folder_of_its_run(tmp_path):
    with write_run(tmp_path / "run", (Task("q"), [response("a")])) as run:
        assert export(run, "messages.jsonl").path == tmp_path / "run/exports/messages.jsonl"
        assert export(run, "parquet").path == tmp_path / "run/exports/rollouts.parquet"
        assert export(run, "trl-sft").path == tmp_path / "run/exports/trl-sft.parquet"


def test_a_run_can_be_given_by_its_folder(run, tmp_path):
    made = export(run.folder, "messages", tmp_path / "by-folder.jsonl")
    assert made.rows == export(run, "messages", tmp_path / "open.jsonl").rows


def test_a_condition_chooses_the_rollouts(run, tmp_path):
    exported = export(run, "messages", tmp_path / "m.jsonl", where="task = 'sum' and reward > 0.2")
    assert [line["sample"] for line in lines(exported.path)] == [0, 2]
    with pytest.raises(ConfigError, match="rewardd"):
        export(run, "messages", tmp_path / "n.jsonl", where="rewardd > 1")
    assert os.listdir(tmp_path) == ["m.jsonl"]


def test_a_file_that_is_there_is_not_overwritten_unasked(run, tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text("mine")
    with pytest.raises(ConfigError, match=r"m.jsonl is there already"):
        export(run, "messages", path)
    assert path.read_text() == "mine"
    assert export(run, "messages", path, overwrite=True).rows == len(lines(path))


@pytest.mark.parametrize(
    ("to", "path", "options", "message"),
    [
        ("trl-sftt", None, {}, "did you mean 'trl-sft'"),
        ("messages", "m.parquet", {}, r"messages is written as .jsonl"),
        ("trl-sft", "m.csv", {}, r"written as .parquet or .jsonl"),
        ("trl-sft", "m.jsonl", {"pairs": "all"}, "no option of trl-sft named 'pairs'"),
        ("trl-dpo", "m.jsonl", {"pairs": "some"}, "known: all, best-worst"),
        ("trl-kto", "m.jsonl", {"threshold": "high"}, "threshold must be a number"),
        ("verl", "m.parquet", {"ability": 3}, "ability must be a text"),
    ],
)
def test_what_cannot_be_exported_is_said_and_leaves_nothing(
    run, tmp_path, to, path, options, message
):
    with pytest.raises(ConfigError, match=message):
        export(run, to, None if path is None else tmp_path / path, **options)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_said(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        export(run, "messages", tmp_path / "file" / "m.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        export(run, "messages", tmp_path / "folder.jsonl", overwrite=True)


def test_parquet_without_pyarrow_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ConfigError, match=r"pip install 'aworld\[data\]'"):
        export(run, "parquet", tmp_path / "m.parquet")
    assert export(run, "messages", tmp_path / "m.jsonl").rows


KILLED = """
import sys, time
from aworld.exports import export
from aworld.store.reader import Run, open_run

class Slow(Run):
    def rollouts(self, where=None):
        for rollout in super().rollouts(where):
            yield rollout
            print("one is written", flush=True)
            time.sleep(60)

export(Slow(open_run(sys.argv[1]).folder), "messages", sys.argv[2])
"""


def test_an_export_that_is_killed_leaves_no_half_file(run, tmp_path):
    target = tmp_path / "m.jsonl"
    command = [sys.executable, "-c", KILLED, str(run.folder), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        assert [name.endswith(".unfinished") for name in os.listdir(tmp_path)] == [True]
        child.send_signal(signal.SIGKILL)
    assert not target.exists()
    assert export(run, "messages", target).rows


def test_an_export_that_breaks_off_leaves_nothing(run, tmp_path, monkeypatch):
    def broken(where=None):
        yield run.rollout("sum")
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "rollouts", broken)
    for name, chosen in FORMATS.items():
        for form in chosen.forms:
            with pytest.raises(KeyboardInterrupt):
                export(run, name, tmp_path / f"{name}.{form}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("to", "form"), [("messages", "jsonl"), ("parquet", "parquet")])
def test_a_large_run_takes_little_memory(tmp_path, monkeypatch, to, form):
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr("aworld.exports.files.GROUP_BYTES", 1_000_000)
    big = "x" * 50_000
    groups = [
        (Task("q", id=str(n)), [response("a", [step([user(f"{n} {big}")], says("a"))])])
        for n in range(400)
    ]
    with write_run(tmp_path / "run", *groups) as run:
        del groups
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        try:
            path = export(run, to, tmp_path / f"big.{form}").path
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert path.stat().st_size > 100_000
    assert peak < 8_000_000  # all of it is 20 MB
    assert pa.total_allocated_bytes() - before < 2_000_000
    if form == "parquet":
        assert pq.ParquetFile(path).num_row_groups >= 10


def test_text_that_is_no_unicode_and_numbers_that_are_no_json_do_no_harm(tmp_path, load):
    odd = "a \ud800 lone surrogate,\u2028 a line end, \u0085 another"
    nan = float("nan")
    steps = [
        step(
            [user(odd)],
            says(odd),
            tools=[{"type": "function", "function": {"name": odd}}],
            prompt_ids=[1],
            completion_ids=[2],
        )
    ]
    task = Task(odd, id="odd", ground_truth=odd, metadata={"x": nan, "data_source": odd})
    odd_ones = [
        response({"nan": nan, "raw": b"\xff"}, steps, reward=1.0),
        response(odd, steps, reward=0.0),
    ]
    with write_run(tmp_path / "run", (task, odd_ones)) as run:
        for name, chosen in FORMATS.items():
            for form in chosen.forms:
                exported = export(run, name, tmp_path / f"{name}.{form}")
                assert exported.rows >= 1
                assert len(load(exported.path)) == exported.rows
                if form == "jsonl":
                    assert len(exported.path.read_text().splitlines()) == exported.rows
                    for line in exported.path.read_text().splitlines():
                        json.loads(line, parse_constant=pytest.fail)


def test_damaged_records_are_counted(tmp_path):
    tasks = [(Task("q", id=str(n)), [response("a")]) for n in range(3)]
    write_run(tmp_path / "run", *tasks).close()
    change(tmp_path / "run", "update bodies set body = x'7b7d' where slot = 1")
    from aworld.store.reader import open_run

    with open_run(tmp_path / "run") as run:
        for name in ("a.jsonl", "b.jsonl"):
            exported = export(run, "messages", tmp_path / name)
            assert (exported.rows, exported.left_out) == (2, {"damaged records of the run": 1})


def test_a_run_can_be_exported_while_it_is_written(tmp_path):
    from aworld.store.reader import open_run
    from aworld.store.writer import Finished, RunWriter

    writer = RunWriter.create(tmp_path / "run", {"samples": 1, "total": 2, "reward": None})
    try:
        writer.note_task(0, Task("q", id="a"), 0)
        writer.record([Finished(0, response("x"))])
        with open_run(tmp_path / "run") as run:
            assert export(run, "messages").rows == 1
    finally:
        writer.close()
