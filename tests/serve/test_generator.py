"""Continuous batching: who decodes together, and that nobody notices it."""

from __future__ import annotations

import threading

import pytest
import torch
from speaking import small_policy

from aworld.errors import ModelError
from aworld.serve import Generator, Sampling

PROMPT = list(b"The quick brown fox")


class Watched:
    """Submits a request and can wait until it has some tokens."""

    def __init__(self, generator, prompt, sampling):
        self._grown = threading.Condition()
        self.one = generator.submit(prompt, sampling, on_token=self._tell, on_end=self._tell)

    def _tell(self):
        with self._grown:
            self._grown.notify_all()

    def until(self, tokens):
        with self._grown:
            assert self._grown.wait_for(lambda: len(self.one.ids) >= tokens, 60)


def recomputed(policy, made):
    ids = torch.tensor([made.prompt + made.ids])
    with torch.no_grad():
        all_of_them = policy.logprobs(ids, temperature=made.sampling.temperature)
    return all_of_them[0, len(made.prompt) - 1 :]


def test_the_log_probabilities_are_those_that_the_trainer_computes(policy):
    samplings = [
        Sampling(30, temperature=temperature, top_p=top_p, seed=seed)
        for seed, (temperature, top_p) in enumerate([(1, 1), (0.6, 1), (1.5, 0.8), (0, 1)] * 5)
    ]
    prompts = [PROMPT[: 1 + seed % len(PROMPT)] for seed in range(20)]
    with Generator(policy) as generator:
        for made in generator.generate(prompts, samplings):
            assert len(made.ids) == len(made.logprobs) == len(made.versions) == 30
            found = torch.tensor(made.logprobs)
            torch.testing.assert_close(found, recomputed(policy, made), atol=1e-4, rtol=1e-4)


def test_a_request_has_the_same_tokens_alone_and_in_any_company(policy):
    sampling = Sampling(40, temperature=0.9, seed=12345)
    with Generator(policy) as generator:
        (alone,) = generator.generate([PROMPT], [sampling])
    others = [list(f"other prompt {number}".encode() * (number % 7 + 1)) for number in range(40)]
    with Generator(policy, max_batch=16) as generator:
        company = [
            generator.submit(other, Sampling(5 + number, seed=number))
            for number, other in enumerate(others)
        ]
        one = generator.submit(PROMPT, sampling)
        twin = generator.submit(PROMPT, sampling)
        for generation in [*company, one, twin]:
            generation.wait(60)
    assert one.ids == twin.ids == alone.ids
    torch.testing.assert_close(
        torch.tensor(one.logprobs), torch.tensor(alone.logprobs), atol=1e-4, rtol=1e-4
    )


def test_equal_prompts_with_other_seeds_go_their_own_ways(policy):
    with Generator(policy) as generator:
        made = generator.generate([PROMPT] * 8, [Sampling(20, seed=seed) for seed in range(8)])
        assert len({tuple(one.ids) for one in made}) == 8
        for one in made:
            found = torch.tensor(one.logprobs)
            torch.testing.assert_close(found, recomputed(policy, one), atol=1e-4, rtol=1e-4)


def test_a_late_request_joins_at_once_and_may_end_before_the_early_one(policy):
    with Generator(policy) as generator:
        early = Watched(generator, PROMPT, Sampling(1000))
        early.until(5)
        seen = []
        late = generator.submit(
            PROMPT, Sampling(10, seed=1), on_end=lambda: seen.append(len(early.one.ids))
        )
        late.wait(60)
        early.one.wait(60)
    assert seen[0] < 1000
    assert len(early.one.ids) == 1000


def test_more_requests_than_rows_wait_for_their_turn_in_order(policy):
    ended = []
    with Generator(policy, max_batch=2) as generator:
        made = [
            generator.submit(PROMPT, Sampling(3), on_end=lambda n=number: ended.append(n))
            for number in range(20)
        ]
        for one in made:
            one.wait(60)
    assert ended == list(range(20))


def test_weights_that_move_in_between_are_stamped_on_the_later_tokens(policy):
    with Generator(policy) as generator:
        watched = Watched(generator, PROMPT, Sampling(900))
        watched.until(3)
        with policy.updating(), torch.no_grad():
            before = len(watched.one.ids)
            for parameter in policy.parameters():
                parameter.mul_(1.01)
            assert len(watched.one.ids) == before
        watched.one.wait(60)
        versions = watched.one.versions
        assert versions == [0] * before + [1] * (900 - before)
        (after,) = generator.generate([PROMPT], [Sampling(5)])
        assert after.versions == [1] * 5


def test_nothing_is_decoded_while_it_is_paused(policy):
    with Generator(policy) as generator, policy.paused():
        one = generator.submit(PROMPT, Sampling(2))
        with pytest.raises(TimeoutError):
            one.wait(0.2)
        assert one.ids == []
    assert policy.version == 0


def test_a_cancelled_request_gives_its_place_to_the_next(policy):
    with Generator(policy, max_batch=1) as generator:
        first = Watched(generator, PROMPT, Sampling(1000))
        first.until(2)
        unwanted = generator.submit(PROMPT, Sampling(1000))
        second = generator.submit(PROMPT, Sampling(4))
        unwanted.cancel()
        first.one.cancel()
        second.wait(60)
        for gone in (first.one, unwanted):
            with pytest.raises(ModelError, match="cancelled"):
                gone.wait(60)
        assert len(first.one.ids) < 1000
        assert unwanted.ids == []
        assert generator.load == (0, 0)


def test_the_rows_of_those_that_end_are_given_away_without_disturbing_the_others(policy):
    lengths = [3, 50, 7, 31, 12, 44, 5, 28, 2, 19] * 3
    samplings = [Sampling(length, seed=length) for length in lengths]
    prompts = [PROMPT[: 3 + number % 15] for number in range(30)]
    with Generator(policy, max_batch=8) as generator:
        for made, length in zip(generator.generate(prompts, samplings), lengths, strict=True):
            assert len(made.ids) == length
            found = torch.tensor(made.logprobs)
            torch.testing.assert_close(found, recomputed(policy, made), atol=1e-4, rtol=1e-4)


def test_a_full_queue_refuses_and_says_so(policy):
    with Generator(policy, max_batch=1, max_waiting=2) as generator, policy.paused():
        for _ in range(2):
            generator.submit(PROMPT, Sampling(1))
        with pytest.raises(ModelError, match="2 requests are waiting already") as refused:
            generator.submit(PROMPT, Sampling(1))
        assert refused.value.may_pass


def test_what_does_not_fit_into_the_context_is_refused(policy):
    with Generator(policy) as generator:
        with pytest.raises(ModelError, match="1000 tokens and max_tokens is 25"):
            generator.submit([1] * 1000, Sampling(25))
        (made,) = generator.generate([[1] * 1000], [Sampling(24)])
        assert len(made.ids) == 24


def test_stop_strings_end_a_request_also_across_the_borders_of_tokens(policy):
    with Generator(policy) as generator:
        (free,) = generator.generate([PROMPT], [Sampling(60, seed=5)])
        place = next(
            place
            for place in range(5, 50)
            if (three := free.text[place : place + 3]).isascii() and free.text.find(three) == place
        )
        stop = free.text[place : place + 3]
        (made,) = generator.generate([PROMPT], [Sampling(60, seed=5, stop=("never so", stop))])
    assert made.finish_reason == "stop"
    assert made.text == free.text[:place]
    assert made.ids == free.ids[: len(made.ids)]
    assert policy.decode(made.ids).endswith(stop)


class FailsError(Exception):
    pass


def test_a_model_that_fails_costs_the_requests_in_flight_and_no_others(policy, monkeypatch):
    with Generator(policy) as generator:
        one, other = (Watched(generator, PROMPT, Sampling(1000, seed=seed)) for seed in range(2))
        one.until(2)
        other.until(2)
        step = policy.step

        def out_of_memory(*args):
            monkeypatch.setattr(policy, "step", step)
            raise FailsError("CUDA out of memory")

        monkeypatch.setattr(policy, "step", out_of_memory)
        for watched in (one, other):
            with pytest.raises(ModelError, match=r"the model failed: .* out of memory"):
                watched.one.wait(60)
        (next_one,) = generator.generate([PROMPT], [Sampling(5)])
        assert len(next_one.ids) == 5


def test_a_prompt_that_cannot_be_read_does_not_harm_those_in_flight(policy, monkeypatch):
    with Generator(policy) as generator:
        early = Watched(generator, PROMPT, Sampling(300))
        early.until(2)
        prefill = policy.prefill

        def too_large(cache, rows, prompts):
            if len(prompts[0]) > 100:
                raise FailsError("too large")
            return prefill(cache, rows, prompts)

        monkeypatch.setattr(policy, "prefill", too_large)
        with pytest.raises(ModelError, match="too large"):
            generator.generate([[1] * 101], [Sampling(5)])
        early.one.wait(60)
        assert len(early.one.ids) == 300


def test_weights_that_went_wrong_fail_their_requests_and_leave_no_trace(policy):
    sound = {name: value.clone() for name, value in policy.state_dict().items()}
    with Generator(policy) as generator:
        (before,) = generator.generate([PROMPT], [Sampling(30, seed=9)])
        early = Watched(generator, PROMPT, Sampling(1000))
        early.until(2)
        with policy.updating(), torch.no_grad():
            policy.module.norm.fill_(float("nan"))
            policy.module.blocks[0].attended.weight.fill_(float("nan"))
        with pytest.raises(ModelError, match="not finite"):
            early.one.wait(60)
        with pytest.raises(ModelError, match="not finite"):
            generator.generate([PROMPT * 3], [Sampling(5)])
        with policy.updating():
            policy.load_state_dict(sound)
        (after,) = generator.generate([PROMPT], [Sampling(30, seed=9)])
    assert after.ids == before.ids


def test_stopping_ends_whatever_is_left(policy):
    generator = Generator(policy, max_batch=1).start()
    running = Watched(generator, PROMPT, Sampling(1000))
    waiting = generator.submit(PROMPT, Sampling(1000))
    running.until(1)
    generator.stop()
    for one in (running.one, waiting):
        with pytest.raises(ModelError, match="stopped"):
            one.wait(5)
    with pytest.raises(ModelError, match="stopping"):
        generator.submit(PROMPT, Sampling(1))


def test_a_turn_ends_with_its_stop_token_which_is_kept():
    policy = small_policy()
    stop = 65
    sampling = Sampling(900, seed=1, stop_ids=frozenset([stop]), temperature=1.5)
    with Generator(policy) as generator:
        (made,) = generator.generate([PROMPT], [sampling])
    assert made.finish_reason == "stop"
    assert made.ids[-1] == stop
    assert stop not in made.ids[:-1]
