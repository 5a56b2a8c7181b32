"""A buffer that was saved goes on as if nothing had happened; a file that is none is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_batches import episode, names, some_episodes, trajectory

from aworld.errors import StoreError
from aworld.train import ExperienceBuffer


def test_a_saved_buffer_goes_on_as_if_nothing_had_happened(tmp_path: Path):
    buffer = ExperienceBuffer(50, max_staleness=3, seed=5, model="m")
    buffer.add_batch(some_episodes(1, samples=4))
    buffer.add_batch([trajectory("x", reward=None), episode("y", why_not="it was cancelled")])
    buffer.add_batch([episode("late", 0), episode("late", 1)], run="r")
    buffer.compute_returns()
    buffer.complete_groups(4, most=1)
    buffer.advance(1)
    buffer.sample_batch(3)
    buffer.save(tmp_path / "buffer.npz")
    loaded = ExperienceBuffer.load(tmp_path / "buffer.npz")
    assert (loaded.max_size, loaded.max_staleness, loaded.model) == (50, 3, "m")
    assert (loaded.version, loaded.counts) == (1, buffer.counts)
    for ours, theirs in zip(buffer.episodes, loaded.episodes, strict=True):
        assert replace(ours, rows=()).__repr__() == replace(theirs, rows=()).__repr__()
        for row, same in zip(ours.rows, theirs.rows, strict=True):
            assert row.temperature == same.temperature
            for part in ("ids", "sampled", "logprobs", "versions", "turns"):
                one, other = getattr(row, part), getattr(same, part)
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
    for one in (buffer, loaded):
        one.add_batch([episode("late", 2)], run="r")
    assert names(buffer.complete_groups(3)) == names(loaded.complete_groups(3))


def test_a_saved_buffer_samples_on_where_it_was(tmp_path: Path):
    buffer = ExperienceBuffer(seed=1)
    buffer.add_batch([trajectory(str(n)) for n in range(20)])
    buffer.sample_batch(5)
    buffer.save(tmp_path / "buffer.npz")
    loaded = ExperienceBuffer.load(tmp_path / "buffer.npz")
    ours, theirs = ([one.task_id for one in b.sample_batch(9)] for b in (buffer, loaded))
    assert ours == theirs


def test_an_empty_buffer_can_be_saved(tmp_path: Path):
    ExperienceBuffer(7).save(tmp_path / "buffer.npz")
    assert len(ExperienceBuffer.load(tmp_path / "buffer.npz")) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["buffer.npz"]


def test_a_file_that_is_damaged_or_none_of_ours_is_refused(tmp_path: Path):
    path = tmp_path / "buffer.npz"
    buffer = ExperienceBuffer()
    buffer.add_batch(some_episodes(2))
    buffer.save(path)
    whole = path.read_bytes()
    cases = [whole[:-20], whole.replace(b"task0", b"task9", 1), b"", b"hello"]
    for content in cases:
        path.write_bytes(content)
        with pytest.raises(StoreError, match="cannot be read as a saved buffer"):
            ExperienceBuffer.load(path)
    with pytest.raises(StoreError, match="cannot be read"):
        ExperienceBuffer.load(tmp_path / "nothing.npz")
    np.savez(path, index=np.array([object()], dtype=object))  # would run code, were it unpickled
    with pytest.raises(StoreError, match="allow_pickle"):
        ExperienceBuffer.load(path)
    index = np.frombuffer(json.dumps({"format": 99}).encode(), np.uint8)
    np.savez(path, index=index)
    with pytest.raises(StoreError, match="a newer aworld wrote it"):
        ExperienceBuffer.load(path)


def test_a_save_that_fails_leaves_the_file_that_was_there(tmp_path: Path):
    path = tmp_path / "buffer.npz"
    buffer = ExperienceBuffer()
    buffer.save(path)
    before = path.read_bytes()
    buffer.add_trajectory(episode("a", status=object()))  # no JSON
    with pytest.raises(TypeError):
        buffer.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["buffer.npz"]
