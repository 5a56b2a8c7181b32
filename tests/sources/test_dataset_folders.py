"""Folders of datasets: what `save_to_disk` wrote, and files by split as on the hub."""

from __future__ import annotations

import sys
from pathlib import Path

import datasets
import pytest

from aworld import ConfigError
from aworld.sources import load_tasks
from aworld.sources.folders import split_of


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()


def dataset(*questions):
    return datasets.Dataset.from_dict(
        {"question": list(questions), "answer": [f"{q}!" for q in questions]}
    )


def inputs(source, **options):
    return [task.input for task in load_tasks(source, **options)]


def test_a_saved_dataset_is_loaded(tmp_path):
    dataset("a", "b", "c").select([2, 0]).save_to_disk(tmp_path / "saved")
    tasks = list(load_tasks(tmp_path / "saved"))
    assert [(task.input, task.ground_truth) for task in tasks] == [("c", "c!"), ("a", "a!")]
    assert not tasks[0].has_given_id
    with pytest.raises(ConfigError, match="has no splits: leave out the split 'test'"):
        load_tasks(tmp_path / "saved", split="test")


def test_a_saved_dataset_with_splits_wants_one(tmp_path):
    both = datasets.DatasetDict({"train": dataset("a"), "validation": dataset("b")})
    both.save_to_disk(tmp_path / "saved")
    assert inputs(f"{tmp_path}/saved#train") == ["a"]
    assert (
        inputs(tmp_path / "saved", split="validation") == inputs(f"{tmp_path}/saved#dev") == ["b"]
    )
    with pytest.raises(ConfigError, match=r"has the splits train, validation: choose one.*#train"):
        load_tasks(tmp_path / "saved")
    with pytest.raises(ConfigError, match="no split named 'tran'; did you mean 'train'"):
        load_tasks(f"{tmp_path}/saved#tran")
    with pytest.raises(ConfigError, match="name two splits"):
        load_tasks(f"{tmp_path}/saved#train", split="test")


def test_a_damaged_dataset_is_said(tmp_path):
    dataset("a").save_to_disk(tmp_path / "saved")
    for file in (tmp_path / "saved").glob("*.arrow"):
        file.write_bytes(b"")
    with pytest.raises(ConfigError, match="saved cannot be read"):
        load_tasks(tmp_path / "saved")


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("test.jsonl", "test"),
        ("data/train-00000-of-00002.parquet", "train"),
        ("data/test_sft-00000-of-00001-ab12.parquet", "test"),
        ("dev/part.csv", "validation"),
        ("hard-00001-of-00002.parquet", "hard"),
        ("contest.csv", "other"),
    ],
)
def test_a_file_belongs_to_the_split_that_its_name_says(path, split):
    assert split_of(Path(path)) == split


def test_a_folder_of_files_is_read_by_split(tmp_path):
    (tmp_path / "data").mkdir()
    dataset("a").to_parquet(tmp_path / "data/train-00000-of-00002.parquet")
    dataset("b").to_parquet(tmp_path / "data/train-00001-of-00002.parquet")
    (tmp_path / "data/test.csv").write_text("question\nc\n")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/test.csv").write_text("question\nnot this\n")
    (tmp_path / "README.md").write_text("about it")
    assert inputs(f"{tmp_path}#train") == ["a", "b"]
    assert inputs(tmp_path, split="test") == ["c"]
    with pytest.raises(ConfigError, match="has the splits test, train: choose one"):
        load_tasks(tmp_path)


def test_a_folder_without_splits_is_read_whole(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"question": "a", "id": 1}')
    (tmp_path / "2.csv").write_text("question,id\nb,2\n")
    assert inputs(tmp_path) == ["a", "b"]
    (tmp_path / "3.csv").write_text("question,id\nb,1\n")
    with pytest.raises(ConfigError, match=r"3.csv:2: .*1.jsonl:1 has the id '1', too"):
        load_tasks(tmp_path)


def test_a_folder_without_tasks_is_said(tmp_path):
    with pytest.raises(ConfigError, match=r"holds no files of tasks \(.csv, .jsonl"):
        load_tasks(tmp_path)


def test_a_mark_in_a_name_is_no_split(tmp_path):
    (tmp_path / "issue#7.csv").write_text("question\na\n")
    assert inputs(tmp_path / "issue#7.csv") == ["a"]


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    dataset("a").save_to_disk(tmp_path / "saved")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"needs: pip install 'aworld\[data\]'"):
        load_tasks(tmp_path / "saved")
