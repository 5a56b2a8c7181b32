"""A folder of its own for each test, in which commands are given."""

from __future__ import annotations

import pytest
from shell import Shell


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)
