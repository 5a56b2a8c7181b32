"""A buffer reads recorded runs, also while they grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tampering import change
from tiny_batches import trajectory

from aworld.core.task import Task, TaskResponse
from aworld.store.writer import Finished, RunWriter
from aworld.train import ExperienceBuffer


def response(reward: float | None, **more: Any) -> TaskResponse:
    recorded = trajectory(reward=reward)
    return TaskResponse("", "!", trajectory=recorded, reward=reward, **more)


def test_a_recorded_run_is_read_while_it_grows(tmp_path: Path):
    writer = RunWriter.create(tmp_path / "run", {"samples": 2, "total": 2, "reward": "exact_match"})
    agent = writer.agent_number("a", "", "0")
    for position, name in enumerate(("first", "second")):
        writer.note_task(position, Task("?", id=name), agent)
    writer.record([Finished(0, response(1.0)), Finished(2, response(0.5))])
    buffer = ExperienceBuffer()
    assert buffer.add_run(tmp_path / "run") == 2
    assert buffer.add_run(tmp_path / "run") == 0
    assert buffer.complete_groups(2) == []
    crashed = TaskResponse("", status="crashed")
    writer.record([Finished(1, response(0.0)), Finished(3, crashed)])
    assert buffer.add_run(tmp_path / "run") == 2
    first, second = buffer.complete_groups(2)
    writer.close()
    assert [(one.task_id, one.sample, one.reward) for one in first] == [
        ("first", 0, 1.0),
        ("first", 1, 0.0),
    ]
    assert [one.why_not for one in second] == ["", "no model call"]
    assert first[0].rows[0].ids.tolist() == [1, 2, 3]
    assert first[0].oldest_version == 4
    assert buffer.add_run(tmp_path / "run") == 0


def good_and_bad(folder: Path) -> Path:
    """A run of one task with two samples."""
    writer = RunWriter.create(folder, {"samples": 2, "total": 1, "reward": "r"})
    writer.note_task(0, Task("?", id="t"), writer.agent_number("a", "", "0"))
    writer.record([Finished(0, response(1.0)), Finished(1, response(0.0))])
    writer.close()
    return folder


def test_a_condition_chooses_what_is_read(tmp_path: Path):
    run = good_and_bad(tmp_path / "run")
    buffer = ExperienceBuffer()
    assert buffer.add_run(run, where="reward > 0.5") == 1
    assert buffer.add_run(run) == 1


def test_a_damaged_record_is_counted_and_the_others_are_read(tmp_path: Path):
    run = good_and_bad(tmp_path / "run")
    change(run, "update bodies set body = x'00' where slot = 0")
    buffer = ExperienceBuffer()
    assert buffer.add_run(run) == 1
    assert buffer.counts == {"its record is damaged": 1}
