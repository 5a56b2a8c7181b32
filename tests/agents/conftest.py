"""A fake model server for each test that asks for one."""

from __future__ import annotations

import pytest
from fake_server import FakeServer


@pytest.fixture
def server():
    with FakeServer() as server:
        yield server


@pytest.fixture(autouse=True)
def no_model_in_the_environment(monkeypatch):
    for name in ("LLM_MODEL_NAME", "LLM_BASE_URL", "LLM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
