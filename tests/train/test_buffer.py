"""The buffer loses nothing without saying so, waits for no group for ever, and forgets the old."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_batches import episode, names, trajectory

from aworld.errors import ConfigError
from aworld.train import ExperienceBuffer
from aworld.train.rows import TokenRow


def aged(task: str, sample: int, version: int) -> Any:
    return episode(task, sample, 1.0, [TokenRow.of([1], [2], version=version)])


def test_it_is_filled_and_sampled_in_a_few_lines():
    buffer = ExperienceBuffer(max_size=100)
    buffer.add_trajectory(trajectory("a"))
    buffer.add_batch([trajectory("b", reward=0.0), trajectory("c")])
    buffer.compute_returns()
    batch = buffer.sample_batch(2)
    assert len(buffer) == 3
    assert {one.task_id for one in batch} <= {"a", "b", "c"}
    assert all(one.returns == (one.reward,) for one in batch)


def test_the_newest_stay_and_those_pushed_out_are_counted():
    buffer = ExperienceBuffer(max_size=2)
    buffer.add_batch([trajectory(name) for name in "abc"])
    assert [one.task_id for one in buffer.episodes] == ["b", "c"]
    assert buffer.counts == {"the buffer was full: newer ones pushed it out": 1}
    (verdict,) = buffer.dropped()
    assert (verdict.task_id, verdict.trained) == ("a", False)
    assert buffer.dropped() == []


def test_returns_are_discounted_over_turns_and_unknown_without_a_reward():
    buffer = ExperienceBuffer()
    rows = [TokenRow.of([1], [2], turn=0), TokenRow.of([1], [2], turn=1)]
    buffer.add_batch([episode("a", 0, 1.0, rows), trajectory("b", reward=None)])
    assert buffer.compute_returns(0.5) == [(0.5, 1.0), None]
    assert [one.returns for one in buffer.episodes] == [(0.5, 1.0), None]
    with pytest.raises(ConfigError, match="discount must be a number of at least 0 and at most 1"):
        buffer.compute_returns(1.5)


def test_the_same_seed_samples_the_same_and_nothing_twice():
    def batches(seed):
        buffer = ExperienceBuffer(seed=seed)
        buffer.add_batch([trajectory(str(n)) for n in range(20)])
        return [[one.task_id for one in buffer.sample_batch(8)] for _ in range(3)]

    assert batches(1) == batches(1)
    assert batches(1) != batches(2)
    assert all(len(set(batch)) == 8 for batch in batches(1))


def test_only_what_can_train_is_sampled():
    buffer = ExperienceBuffer()
    buffer.add_batch([trajectory("a", reward=None), episode("b", why_not="no token ids")])
    with pytest.raises(ConfigError, match=r"no reward \(1\); no token ids \(1\)"):
        buffer.sample_batch(4)
    assert [one.task_id for one in buffer.sample_batch(4, rewarded=False)] == ["a"]
    with pytest.raises(ConfigError, match="it is empty"):
        ExperienceBuffer().sample_batch(1)


# -- groups ----------------------------------------------------------------------------------------


def test_a_group_is_taken_when_all_its_samples_have_come():
    buffer = ExperienceBuffer()
    buffer.add_batch([episode("a", 1), episode("b", 0), episode("c", 0, None), episode("a", 0)])
    assert names(buffer.complete_groups(2)) == [["a0", "a1"]]
    buffer.add_batch([episode("c", 1, why_not="it was cancelled"), episode("b", 1)])
    assert names(buffer.complete_groups(2, most=1)) == [["b0", "b1"]]
    assert names(buffer.complete_groups(2)) == [["c0", "c1"]]
    assert len(buffer) == 0


def test_what_a_group_that_is_not_complete_becomes_is_said():
    def with_a_straggler():
        buffer = ExperienceBuffer()
        buffer.add_batch([episode("a", 0), episode("b", 0), episode("b", 1)])
        return buffer

    waiting = with_a_straggler()
    assert names(waiting.complete_groups(2, partial="wait")) == [["b0", "b1"]]
    assert len(waiting) == 1
    using = with_a_straggler()
    assert names(using.complete_groups(2, partial="use")) == [["b0", "b1"], ["a0"]]
    dropping = with_a_straggler()
    assert names(dropping.complete_groups(2, partial="drop")) == [["b0", "b1"]]
    assert len(dropping) == 0
    assert dropping.counts == {"its group was never complete": 1}
    with pytest.raises(ConfigError, match="partial must be one of 'wait', 'drop', 'use'"):
        dropping.complete_groups(2, partial="later")  # type: ignore[arg-type]


def test_a_group_does_not_wait_for_ever_for_a_straggler():
    buffer = ExperienceBuffer()
    buffer.add_trajectory(episode("slow", 0, run="r"))
    for number in range(3):
        assert len(buffer) == 1
        buffer.add_batch([episode(str(number), 0, run="r"), episode(str(number), 1, run="r")])
        assert len(buffer.complete_groups(2, patience=3)) == 1
    assert len(buffer) == 0
    assert buffer.counts == {"its group was never complete": 1}
    buffer.add_trajectory(episode("slow", 1, run="r"))  # at last
    assert len(buffer) == 0
    assert buffer.counts["it came after its group was gone"] == 1


def test_a_group_is_overtaken_only_by_those_that_are_taken_after_it_began():
    buffer = ExperienceBuffer()
    buffer.add_batch([episode(name, 0) for name in "abc"])
    assert len(buffer.complete_groups(1, patience=2)) == 3
    buffer.add_trajectory(episode("d", 0))
    assert buffer.complete_groups(2, patience=2) == []
    assert len(buffer) == 1


def test_asking_often_is_no_reason_to_give_up_a_group():
    buffer = ExperienceBuffer()
    buffer.add_trajectory(episode("a", 0))
    for _ in range(100):
        assert buffer.complete_groups(2, patience=1) == []
    buffer.add_trajectory(episode("a", 1))
    assert names(buffer.complete_groups(2, patience=1)) == [["a0", "a1"]]


def test_the_same_task_in_the_next_run_is_another_group():
    buffer = ExperienceBuffer()
    for run in ("step 1", "step 2"):
        buffer.add_batch([episode("a", 0), episode("a", 1)], run=run)
    first, second = buffer.complete_groups(2)
    assert {one.group for one in first} == {("step 1", "a", 0)}
    assert {one.group for one in second} == {("step 2", "a", 0)}


def test_without_a_run_the_same_sample_again_begins_another_group():
    buffer = ExperienceBuffer()
    for _ in range(2):
        buffer.add_batch([episode("a", 0), episode("a", 1)])
    first, second = buffer.complete_groups(2)
    assert {one.group for one in first} == {("", "a", 0)}
    assert {one.group for one in second} == {("", "a", 1)}
    buffer.add_trajectory(episode("a", 0))
    assert buffer.episodes[0].group == ("", "a", 2)


def test_in_a_run_a_sample_that_is_run_again_takes_the_place_of_the_first():
    buffer = ExperienceBuffer()
    buffer.add_trajectory(episode("a", 0, None, run="r", status="crashed"))
    buffer.add_trajectory(episode("a", 0, 1.0, run="r"))
    assert [one.reward for one in buffer.episodes] == [1.0]
    assert buffer.counts == {"it was run again": 1}
    assert names(buffer.complete_groups(1)) == [["a0"]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 3), st.booleans())
        | st.sampled_from(["wait", "drop", "use", "advance"]),
        max_size=40,
    ),
    st.integers(1, 8),
)
def test_every_episode_is_there_was_taken_or_was_dropped_with_a_reason(moves, max_size):
    buffer = ExperienceBuffer(max_size, max_staleness=1)
    added = taken = 0
    for move in moves:
        if isinstance(move, tuple):
            task, sample, version, named = move
            buffer.add_trajectory(aged(task, sample, version), run="r" if named else "")
            added += 1
        elif move == "advance":
            buffer.advance(buffer.version + 1)
        else:
            groups = buffer.complete_groups(3, partial=move, patience=2)  # type: ignore[arg-type]
            taken += sum(map(len, groups))
            for group in groups:
                assert len({one.sample for one in group}) == len(group)
                assert len({one.group for one in group}) == 1
        assert added == len(buffer) + taken + sum(buffer.counts.values())
        assert len(buffer) <= max_size
    assert len(buffer.dropped()) == sum(buffer.counts.values())


# -- age -------------------------------------------------------------------------------------------


def test_what_is_too_old_is_dropped_and_counted_when_the_policy_moves_on():
    buffer = ExperienceBuffer(max_staleness=1)
    cancelled = episode("c", rows=(), why_not="it was cancelled")
    buffer.add_batch([aged("a", 0, 0), aged("b", 0, 1), cancelled])
    buffer.advance(2)
    assert [one.task_id for one in buffer.episodes] == ["b", "c"]
    assert buffer.counts == {"older than max_staleness": 1}
    assert buffer.dropped()[0].staleness == 2
    buffer.add_trajectory(aged("d", 0, 0))  # old when it comes
    assert buffer.counts == {"older than max_staleness": 2}
    with pytest.raises(ConfigError, match="version 2: 1 is older"):
        buffer.advance(1)


def test_an_age_that_nobody_knows_is_too_old_where_age_matters():
    buffer = ExperienceBuffer(max_staleness=1)
    buffer.add_trajectory(aged("a", 0, -1))
    assert buffer.counts == {"no policy version: its age is not known": 1}


def test_a_group_that_has_lost_a_sample_does_not_wait_for_it():
    buffer = ExperienceBuffer(max_staleness=1)
    buffer.add_batch([aged("a", 0, 0), aged("a", 1, 2)])
    buffer.advance(2)
    assert buffer.complete_groups(3) == []
    buffer.add_trajectory(aged("a", 2, 2))
    assert names(buffer.complete_groups(3)) == [["a1", "a2"]]


# -- threads ---------------------------------------------------------------------------------------


def test_many_threads_lose_nothing():
    buffer = ExperienceBuffer()
    taken: list[Any] = []
    ready = threading.Barrier(5)

    def fill(number: int) -> None:
        ready.wait()
        for task in range(100):
            buffer.add_trajectory(episode(str(task), number), run="r")

    def empty() -> None:
        ready.wait()
        while len(taken) < 100:
            taken.extend(buffer.complete_groups(4, patience=10**6))

    threads = [threading.Thread(target=fill, args=(n,)) for n in range(4)]
    threads.append(threading.Thread(target=empty))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(int(group[0].task_id) for group in taken) == list(range(100))
    assert all([one.sample for one in group] == [0, 1, 2, 3] for group in taken)
    assert buffer.counts == {}


def test_what_is_no_trajectory_is_refused_by_its_name():
    with pytest.raises(ConfigError, match="give trajectories or episodes to train on, not 1"):
        ExperienceBuffer().add_batch([1])
