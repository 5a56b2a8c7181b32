"""A small byte model with random weights, and a server of it for each test that asks."""

from __future__ import annotations

import pytest
import torch
from speaking import small_policy

from aworld.serve import PolicyServer


@pytest.fixture(autouse=True)
def few_threads():
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_model_in_the_environment(monkeypatch):
    for name in ("LLM_MODEL_NAME", "LLM_BASE_URL", "LLM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def policy():
    return small_policy()


@pytest.fixture
def server(policy):
    with PolicyServer(policy) as server:
        yield server
