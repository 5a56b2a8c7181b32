"""The byte model: small, the same for the same seed, and nobody can speak in another's name."""

from __future__ import annotations

import pytest
import torch

from aworld.errors import ConfigError
from aworld.policies import ByteConfig, BytePolicy
from aworld.policies.byte_chat import END, VOCAB_SIZE


def test_it_has_under_a_million_parameters():
    assert sum(parameter.numel() for parameter in BytePolicy().parameters()) < 1_000_000


def test_the_same_seed_gives_the_same_weights_and_leaves_torchs_luck_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, same, other = (BytePolicy(seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_no_text_can_end_its_own_turn_or_begin_anothers():
    policy = BytePolicy()
    every_character = "".join(map(chr, range(300))) + "<|im_end|>"
    for role in ("system", "user", "tool"):
        ids = policy.encode_chat([{"role": role, "content": every_character}])
        special = [token for token in ids if token >= 256]
        assert (len(special), special.count(END)) == (3, 1)
        assert max(ids) < VOCAB_SIZE


def test_an_unknown_role_is_refused_by_name():
    with pytest.raises(ValueError, match="no role 'wizard'"):
        BytePolicy().encode_chat([{"role": "wizard", "content": "x"}])


def test_sizes_that_do_not_fit_together_are_refused():
    with pytest.raises(ConfigError, match="multiple of twice heads=5"):
        ByteConfig(heads=5)
    with pytest.raises(ConfigError, match="no multiple of key_heads=3"):
        ByteConfig(key_heads=3)


def test_it_learns_to_copy_what_it_was_told():
    """A model that could not do this could not use a tool's result."""
    policy = BytePolicy(ByteConfig(width=64, layers=2, heads=4, key_heads=2, inner=128))
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    luck = torch.Generator().manual_seed(0)

    def lesson(rows):
        said = torch.randint(97, 105, (rows, 6), generator=luck)
        return torch.cat([said, torch.full((rows, 1), 300 % VOCAB_SIZE), said], 1)

    for _ in range(400):
        loss = -policy.logprobs(lesson(32))[:, 6:].mean()
        optimizer.zero_grad()
        loss.backward()
        with policy.updating():
            optimizer.step()
    with torch.no_grad():
        right = policy.logprobs(lesson(200))[:, 6:].exp().mean()
    assert right > 0.9
