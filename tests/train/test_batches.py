"""Tensors say what the episodes say, and lose no row when they are split."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_batches import episode, row_of_turns, some_episodes

from aworld.errors import ConfigError
from aworld.train.algorithms.base import Credit
from aworld.train.batches import Totals, batch_of, micro_batches
from aworld.train.rows import TokenRow
from aworld.train.values import ValueHead, turn_values

seeds = st.integers(0, 10**6)


def credits_for(episodes, seed=0):
    rng = np.random.default_rng(seed)
    return [Credit(*(rng.normal(size=one.turns) for _ in range(3))) for one in episodes]


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_every_sampled_token_stands_once_in_its_place_with_its_turns_advantage(seed):
    episodes = some_episodes(seed)
    given_credits = credits_for(episodes, seed)
    batch = batch_of(episodes, given_credits, pad_id=99)
    rows = [(n, row) for n, one in enumerate(episodes) for row in one.rows]
    assert len(batch) == len(rows)
    for number, (place, row) in enumerate(rows):
        size = len(row)
        assert batch.ids[number, :size].tolist() == row.ids.tolist()
        assert batch.ids[number, size:].tolist() == [99] * (batch.ids.shape[1] - size)
        assert batch.attention[number].sum() == size
        assert batch.attention[number, :size].all()
        assert batch.mask[number, : size - 1].tolist() == row.sampled[1:].tolist()
        assert not batch.mask[number, size - 1 :].any()
        assert int(batch.episode[number]) == place
        assert int(batch.episode_tokens[number]) == episodes[place].tokens
        for at in range(1, size):
            turn = row.turns[at]
            assert int(batch.turn[number, at - 1]) == turn
            for tensor, by_turn in zip(
                (batch.advantages, batch.returns, batch.old_values),
                given_credits[place],
                strict=True,
            ):
                assert tensor is not None
                wanted = np.float32(by_turn[turn]) if row.sampled[at] else 0.0
                assert float(tensor[number, at - 1]) == wanted
        sampled = batch.sampled_logprobs[number, : size - 1]
        np.testing.assert_array_equal(sampled.numpy(), row.logprobs[1:])


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_totals_count_tokens_rows_episodes_groups_and_turns(seed):
    episodes = some_episodes(seed)
    assert batch_of(episodes).totals == Totals(
        tokens=sum(one.tokens for one in episodes),
        sequences=sum(len(one.rows) for one in episodes),
        episodes=6,
        groups=2,
        turns=sum(one.turns for one in episodes),
    )


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(1, 100))
def test_micro_batches_hold_every_row_once_within_the_budget(seed, budget):
    batch = batch_of(some_episodes(seed))
    parts = micro_batches(batch, budget)
    where = torch.cat([part.episode for part in parts])
    assert sorted(where.tolist()) == sorted(batch.episode.tolist())
    assert sum(part.totals.tokens for part in parts) == batch.totals.tokens
    for part in parts:
        assert part.ids.numel() <= budget or len(part) == 1
        assert part.ids.shape[1] == int(part.lengths.max())
        assert part.mask.shape == (len(part), part.ids.shape[1] - 1)
    longest = [part.ids.shape[1] for part in parts]
    assert longest == sorted(longest, reverse=True)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 60))
def test_a_part_has_the_rows_that_it_was_made_of(seed, budget):
    batch = batch_of(some_episodes(seed))
    rows = {tuple(ids[kept].tolist()) for ids, kept in zip(batch.ids, batch.attention, strict=True)}
    for part in micro_batches(batch, budget):
        for ids, kept in zip(part.ids, part.attention, strict=True):
            assert tuple(ids[kept].tolist()) in rows


def test_an_empty_batch_is_a_batch():
    batch = batch_of([])
    assert batch.totals == Totals()
    assert micro_batches(batch, 10) == []


def test_a_row_may_be_longer_than_the_budget_and_no_budget_is_refused():
    batch = batch_of([episode(rows=[TokenRow.of([1] * 9, [2])])])
    assert len(micro_batches(batch, 1)) == 1
    with pytest.raises(ConfigError, match="max_tokens"):
        micro_batches(batch, 0)


def test_a_batch_can_be_sent_to_another_device():
    batch = batch_of(some_episodes(0)).to("meta")
    assert {tensor.device.type for _, tensor in batch._tensors()} == {"meta"}


def test_two_turns_without_anything_between_them_are_two_turns():
    import random

    batch = batch_of([episode(rows=[row_of_turns([(2, 2, 0), (0, 1, 1)], random.Random(0))])])
    assert batch.turn_starts.tolist() == [[False, True, False, True]]
    assert batch.totals.turns == 2


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 60))
def test_values_are_read_before_the_first_token_of_each_turn(seed, budget):
    episodes = some_episodes(seed)
    parts = micro_batches(batch_of(episodes), budget)
    # a value that says where it stands: in which episode, in which turn, at its start or not
    marked = [
        (100.0 * part.episode[:, None] + part.turn + 0.5 * ~part.turn_starts, part)
        for part in parts
    ]
    found = turn_values(marked, [one.turns for one in episodes])
    for place, one in enumerate(episodes):
        assert found[place].tolist() == [100.0 * place + turn for turn in range(one.turns)]


def test_a_value_head_begins_by_expecting_nothing():
    values = ValueHead(8)(torch.randn(2, 5, 8))
    assert values.shape == (2, 4)
    assert not values.any()
