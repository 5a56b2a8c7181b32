"""Tokens are drawn from the model's distribution, each request with luck of its own."""

from __future__ import annotations

import numpy as np
import torch

from aworld.serve.sampling import Drawing, Sampling, truncated, uniforms

LOGITS = torch.tensor([2.0, 0.5, -1.0, 0.0, 1.2, -3.0])
CPU = torch.device("cpu")
DRAWS = 40_000


def drawn(**settings):
    samplings = [Sampling(1, seed=seed, **settings) for seed in range(DRAWS)]
    return Drawing(samplings, CPU).draw(LOGITS.expand(DRAWS, -1), [0] * DRAWS)


def frequencies(ids):
    return torch.bincount(ids, minlength=len(LOGITS)) / DRAWS


def chi_squared(ids, expected):
    counts, wanted = torch.bincount(ids, minlength=len(LOGITS)), expected * DRAWS
    possible = wanted > 0
    assert not counts[~possible].any()
    return float(((counts - wanted)[possible] ** 2 / wanted[possible]).sum())


def test_tokens_follow_the_distribution_at_their_temperature():
    for temperature in (0.5, 1.0, 3.0):
        ids, logprobs = drawn(temperature=temperature)
        expected = torch.softmax(LOGITS / temperature, -1)
        assert chi_squared(ids, expected) < 25  # 5 degrees of freedom: one in 7,000 by chance
        torch.testing.assert_close(logprobs, expected.log()[ids])


def test_top_k_and_top_p_leave_out_the_unlikely_and_keep_the_others_proportions():
    whole = torch.softmax(LOGITS, -1)
    for settings, kept in (
        ({"top_k": 2}, [0, 4]),
        ({"top_k": 1}, [0]),
        ({"top_p": 0.6}, [0, 4]),
        ({"top_p": 0.5}, [0]),
        ({"top_p": 0.95}, [0, 1, 3, 4]),
        ({"top_k": 3, "top_p": 0.7}, [0, 4]),
    ):
        ids, logprobs = drawn(**settings)
        expected = torch.zeros_like(whole)
        expected[kept] = whole[kept] / whole[kept].sum()
        assert chi_squared(ids, expected) < 25, settings
        # those of the whole distribution: what a trainer can compute again
        torch.testing.assert_close(logprobs, whole.log()[ids])


def test_temperature_0_takes_the_likeliest_and_tells_its_log_probability_at_1():
    ids, logprobs = drawn(temperature=0.0)
    assert set(ids.tolist()) == {0}
    torch.testing.assert_close(logprobs[0], torch.log_softmax(LOGITS, -1)[0])


def test_greedy_and_sampled_requests_share_a_batch():
    samplings = [Sampling(1, temperature=0.0), Sampling(1, temperature=50.0, seed=3)] * 50
    ids, _ = Drawing(samplings, CPU).draw(LOGITS.expand(100, -1), list(range(100)))
    assert set(ids[::2].tolist()) == {0}
    assert len(set(ids[1::2].tolist())) == len(LOGITS)


def test_luck_depends_on_the_seed_and_the_count_alone():
    seeds = np.array([0, 1, 2, 2**63 + 5, 2**64 - 1], dtype=np.uint64)
    counts = np.array([0, 0, 7, 3, 10**6], dtype=np.uint64)
    together = uniforms(seeds, counts)
    for place in range(5):
        alone = uniforms(seeds[place : place + 1], counts[place : place + 1])
        assert alone[0] == together[place]
    assert len(set(together)) == 5
    assert ((together >= 0) & (together < 1)).all()


def test_luck_is_even_along_a_request_and_across_neighbouring_seeds():
    for luck in (
        uniforms(np.full(DRAWS, 7, dtype=np.uint64), np.arange(DRAWS, dtype=np.uint64)),
        uniforms(np.arange(DRAWS, dtype=np.uint64), np.zeros(DRAWS, dtype=np.uint64)),
    ):
        counts = np.histogram(luck, bins=20, range=(0, 1))[0]
        assert ((counts - DRAWS / 20) ** 2 / (DRAWS / 20)).sum() < 50
        assert abs(np.corrcoef(luck[:-1], luck[1:])[0, 1]) < 0.02


def test_what_is_left_of_equals_is_as_many_as_were_asked_for():
    equal = torch.full((1, 8), 1 / 8, dtype=torch.float64)
    kept = truncated(equal, torch.tensor([[3]]), torch.tensor([[1.0]]))
    assert int((kept > 0).sum()) == 3
