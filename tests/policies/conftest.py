"""Both kinds of policies, small."""

from __future__ import annotations

import pytest
import torch
from tiny_hf import tiny_hf_policy

from aworld.policies import ByteConfig, BytePolicy


@pytest.fixture(autouse=True)
def few_threads():
    torch.set_num_threads(1)


@pytest.fixture(params=["byte", "hf"])
def policy(request):
    if request.param == "hf":
        return tiny_hf_policy()
    policy = BytePolicy(ByteConfig(width=48, layers=3, heads=6, key_heads=2, inner=96))
    with torch.no_grad():
        for parameter in policy.parameters():  # so that what it says is far from uniform
            if parameter.ndim == 2:
                parameter.mul_(5)
    return policy
