"""What trains is what was sampled, each token once."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from recorded import says, step, user

from aworld.core.sequences import SampledCall, merged, sampled_calls, why_no_tokens

tokens = st.lists(st.integers(0, 3), max_size=4)  # few, so that beginnings are often the same


@st.composite
def some_calls(draw):
    """Calls of which many go on from an earlier one, and some only seem to."""
    calls: list[SampledCall] = []
    for number in range(draw(st.integers(0, 6))):
        before: list[int] = []
        if calls and draw(st.booleans()):
            earlier = draw(st.sampled_from(calls))
            before = earlier.prompt_ids + earlier.completion_ids
        prompt, completion = before + draw(tokens), draw(tokens)
        logprobs = draw(st.none() | st.just([-0.5 - number] * len(completion)))
        agent = draw(st.sampled_from(["a", "b"]))
        calls.append(SampledCall(prompt, completion, logprobs, str(number), agent=agent))
    return calls


@given(some_calls())
def test_every_sampled_token_is_trained_on_once(calls):
    sequences = merged(calls)
    trained = Counter(
        (turn.policy_version, tuple(sequence.completion_ids[turn.start : turn.end]))
        for sequence in sequences
        for turn in sequence.turns
    )
    sampled = [call for call in calls if call.completion_ids]
    assert trained == Counter((call.policy_version, tuple(call.completion_ids)) for call in sampled)
    masked = sum(sum(sequence.loss_mask) for sequence in sequences)
    assert masked == sum(len(call.completion_ids) for call in calls)


@given(some_calls())
def test_masks_and_log_probabilities_fit_the_tokens(calls):
    by_version = {call.policy_version: call for call in calls}
    for sequence in merged(calls):
        assert len(sequence.loss_mask) == len(sequence.completion_ids)
        inside = [0] * len(sequence.completion_ids)
        for turn in sequence.turns:
            inside[turn.start : turn.end] = [1] * (turn.end - turn.start)
        assert sequence.loss_mask == inside
        calls_in = [by_version[turn.policy_version] for turn in sequence.turns]
        if sequence.logprobs is None:
            assert all(call.logprobs is None for call in calls_in)
        else:
            assert len(sequence.logprobs) == len(sequence.completion_ids)
            for turn, call in zip(sequence.turns, calls_in, strict=True):
                assert sequence.logprobs[turn.start : turn.end] == call.logprobs


@given(some_calls())
def test_before_every_turn_stands_exactly_what_the_model_was_shown(calls):
    by_version = {call.policy_version: call for call in calls}
    for sequence in merged(calls):
        for turn in sequence.turns:
            shown = sequence.prompt_ids + sequence.completion_ids[: turn.start]
            assert shown == by_version[turn.policy_version].prompt_ids


@given(some_calls())
def test_merging_changes_nothing_that_it_was_given(calls):
    before = repr(calls)
    merged(calls)
    assert repr(calls) == before


def test_the_results_of_tools_are_seen_but_not_trained_on():
    (sequence,) = merged(
        [SampledCall([1, 2], [3, 4], [-1.0, -2.0]), SampledCall([1, 2, 3, 4, 8, 9], [5], [-3.0])]
    )
    assert sequence.prompt_ids == [1, 2]
    assert sequence.completion_ids == [3, 4, 8, 9, 5]
    assert sequence.loss_mask == [1, 1, 0, 0, 1]
    assert sequence.logprobs == [-1.0, -2.0, 0.0, 0.0, -3.0]


def test_a_template_that_drops_earlier_turns_splits_the_sequence():
    sequences = merged([SampledCall([1, 2], [3, 4]), SampledCall([1, 2, 4, 7], [5])])
    assert [(one.prompt_ids, one.completion_ids) for one in sequences] == [
        ([1, 2], [3, 4]),
        ([1, 2, 4, 7], [5]),
    ]


def test_two_conversations_that_begin_alike_stay_apart():
    ask = SampledCall([1], [2])
    sequences = merged([ask, ask, SampledCall([1, 2, 3], [4]), SampledCall([1, 2, 5], [6])])
    assert [one.completion_ids for one in sequences] == [[2, 3, 4], [2, 5, 6]]


def test_agents_and_models_do_not_share_a_sequence():
    calls = [SampledCall([1], [2], agent="a"), SampledCall([1, 2], [3], agent="b")]
    assert len(merged(calls)) == 2
    calls = [SampledCall([1], [2], model="a"), SampledCall([1, 2], [3], model="b")]
    assert len(merged(calls)) == 2


def test_calls_without_tokens_say_why():
    def taken(**parts):
        one = step([user("?")], says("!"), **parts)
        return why_no_tokens(one["model_call"]), len(sampled_calls([one]))

    assert taken(prompt_ids=[1], completion_ids=[2]) == (None, 1)
    assert taken(completion_ids=[2])[0].startswith("no token ids")
    reason, count = taken(prompt_ids=[1], completion_ids=[2, 3], logprobs=[-1.0])
    assert (reason, count) == ("not as many log-probabilities as tokens", 0)
    assert sampled_calls([{"agent": "f", "action": 1}]) == []
