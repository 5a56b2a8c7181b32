"""What every policy promises to the server and to the trainer."""

from __future__ import annotations

import random
import threading

import torch

from aworld.policies import open_policy
from aworld.policies import scoring as scoring_module

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    },
}
CONVERSATION = [
    {"role": "system", "content": "Be exact."},
    {"role": "user", "content": "What is 12 + 5? é漢"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "add", "arguments": '{"a": 12, "b": 5}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "17"},
    {"role": "assistant", "content": "It is 17."},
]


def ragged(policy, lengths, seed=0):
    chosen = random.Random(seed)
    return [[chosen.randrange(policy.vocab_size) for _ in range(length)] for length in lengths]


def full_logits(policy, ids):
    """Of one sequence, at once, without a cache."""
    with torch.no_grad():
        return policy.head(policy.hidden(torch.tensor([ids])))[0]


def test_decoding_token_by_token_gives_the_logits_of_a_full_pass_in_ragged_batches(policy):
    sequences = ragged(policy, [7, 90, 31, 64, 12])
    starts = [3, 80, 30, 20, 1]
    cache = policy.open_cache()
    expected = [full_logits(policy, ids) for ids in sequences]
    prompts = [ids[:start] for ids, start in zip(sequences, starts, strict=True)]
    # in two goes, so that some join while others are there, and the cache grows in between
    logits = torch.cat(
        [
            policy.prefill(cache, [0, 1], prompts[:2]),
            policy.prefill(cache, [2, 3, 4], prompts[2:]),
        ]
    )
    done = list(starts)
    for row in range(5):
        torch.testing.assert_close(
            logits[row], expected[row][starts[row] - 1], atol=1e-4, rtol=1e-4
        )
    while any(at < len(ids) for at, ids in zip(done, sequences, strict=True)):
        # a row that has ended is fed its last token again and again: its neighbours do not care
        at = [min(place, len(ids) - 1) for place, ids in zip(done, sequences, strict=True)]
        ids = torch.tensor([ids[place] for ids, place in zip(sequences, at, strict=True)])
        logits = policy.step(cache, ids, torch.tensor(at), max(at) + 1)
        for row in range(5):
            torch.testing.assert_close(logits[row], expected[row][at[row]], atol=1e-4, rtol=1e-4)
        done = [place + 1 for place in at]


def test_logprobs_are_those_of_the_full_distribution_whatever_is_padded_behind(policy):
    sequences = ragged(policy, [9, 30, 17])
    ids = torch.zeros(3, 30, dtype=torch.long)
    wanted = torch.zeros(3, 29, dtype=torch.bool)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence)
        wanted[row, : len(sequence) - 1] = True
    found, entropy = policy.logprobs_and_entropy(
        policy.hidden(ids), ids, wanted=wanted, temperature=0.7
    )
    assert not entropy.requires_grad
    for row, sequence in enumerate(sequences):
        all_of_them = torch.log_softmax(full_logits(policy, sequence) / 0.7, -1)
        expected = all_of_them[:-1].gather(1, torch.tensor(sequence[1:])[:, None])[:, 0]
        end = len(sequence) - 1
        torch.testing.assert_close(found[row, :end], expected, atol=1e-4, rtol=1e-4)
        spread = -(all_of_them.exp() * all_of_them).sum(-1)[:-1]
        torch.testing.assert_close(entropy[row, :end], spread, atol=1e-4, rtol=1e-4)
        assert not found[row, end:].any()


def test_each_row_can_have_a_temperature_of_its_own_and_0_counts_as_1(policy):
    ids = torch.tensor(ragged(policy, [12, 12, 12]))
    together = policy.logprobs(ids, temperature=torch.tensor([0.5, 2.0, 0.0]))
    for row, temperature in enumerate((0.5, 2.0, 1.0)):
        alone = policy.logprobs(ids[row : row + 1], temperature=temperature)
        torch.testing.assert_close(together[row : row + 1], alone, atol=1e-5, rtol=1e-5)


def test_only_what_is_wanted_is_computed_and_in_pieces_with_the_same_gradient(policy, monkeypatch):
    ids = torch.tensor(ragged(policy, [20, 20]))
    wanted = torch.zeros(2, 19, dtype=torch.bool)
    wanted[0, 5:] = wanted[1, 12:] = True

    def gradients(**how):
        policy.module.zero_grad()
        logprobs = policy.logprobs(ids, **how)
        (logprobs * wanted).sum().backward()
        return logprobs.detach(), [parameter.grad.clone() for parameter in policy.parameters()]

    everything, expected = gradients()
    only_wanted, same = gradients(wanted=wanted)
    monkeypatch.setattr(scoring_module, "LOGITS_AT_ONCE", 4 * policy.vocab_size)
    in_pieces, same_again = gradients(wanted=wanted)
    torch.testing.assert_close(only_wanted, everything * wanted)
    torch.testing.assert_close(in_pieces, only_wanted)
    torch.testing.assert_close(same, expected, atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(same_again, expected, atol=1e-4, rtol=1e-3)


def test_an_entropy_that_trains_has_its_gradient_at_once_and_in_pieces(policy, monkeypatch):
    ids = torch.tensor(ragged(policy, [14]))

    def gradients(entropy):
        policy.module.zero_grad()
        entropy.sum().backward()
        return [parameter.grad.clone() for parameter in policy.parameters()]

    def spread():
        return policy.logprobs_and_entropy(
            policy.hidden(ids), ids, temperature=0.7, entropy_trains=True
        )[1]

    sure = torch.log_softmax(policy.head(policy.hidden(ids))[:, :-1] / 0.7, -1)
    expected = gradients(-(sure.exp() * sure).sum(-1))
    torch.testing.assert_close(gradients(spread()), expected, atol=1e-4, rtol=1e-3)
    monkeypatch.setattr(scoring_module, "LOGITS_AT_ONCE", 4 * policy.vocab_size)
    torch.testing.assert_close(gradients(spread()), expected, atol=1e-4, rtol=1e-3)


def test_a_conversation_begins_with_what_the_model_was_shown_and_said_before(policy):
    for turn in (2, 4):
        before = policy.encode_chat(CONVERSATION[:turn], [ADD])
        said = policy.encode_reply(CONVERSATION[turn], [ADD])
        after = policy.encode_chat(
            [*CONVERSATION[: turn + 1], {"role": "user", "content": "Thanks"}], [ADD]
        )
        assert said[-1] in policy.stop_ids
        assert after[: len(before) + len(said)] == before + said


def test_text_survives_encoding(policy):
    text = 'What is 12 + 5?\n\t"é漢🙂"'
    assert policy.decode(policy.encode(text)) == text
    assert policy.decode(policy.encode_reply({"content": text})) == text


def test_a_saved_policy_comes_back_with_its_version(policy, tmp_path):
    with policy.updating():
        pass
    policy.save(tmp_path)
    again = open_policy(tmp_path)
    ids = torch.tensor(ragged(policy, [25]))
    torch.testing.assert_close(again.logprobs(ids), policy.logprobs(ids))
    assert type(again) is type(policy)
    assert again.version == policy.version == 1
    assert again.encode_chat(CONVERSATION, [ADD]) == policy.encode_chat(CONVERSATION, [ADD])
    assert any((tmp_path).glob("*.safetensors"))


def test_a_frozen_copy_stays_when_the_weights_move(policy):
    ids = torch.tensor(ragged(policy, [10]))
    reference = policy.frozen_copy()
    before = reference.logprobs(ids)
    with policy.updating(), torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1)
    torch.testing.assert_close(reference.logprobs(ids), before)
    assert (policy.logprobs(ids) - before).abs().max() > 1e-3
    assert reference.parameters() == []


def test_an_update_waits_for_one_step_at_most_and_a_step_for_the_whole_update(policy):
    order = []
    in_step, may_end = threading.Event(), threading.Event()

    def decode():
        with policy.decoding() as version:
            order.append(("step", version))
            in_step.set()
            may_end.wait()
        with policy.decoding() as version:
            order.append(("step", version))

    def update():
        with policy.updating():
            order.append(("update", policy.version))

    decoding = threading.Thread(target=decode)
    decoding.start()
    in_step.wait()
    updating = threading.Thread(target=update)
    updating.start()
    while not policy._gate._updates_waiting:
        pass
    may_end.set()
    decoding.join()
    updating.join()
    assert order == [("step", 0), ("update", 0), ("step", 1)]
