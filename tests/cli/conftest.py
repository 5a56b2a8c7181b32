"""A folder of its own for each test, in which commands are given."""

from __future__ import annotations

import sys

import pytest
from shell import Shell


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


@pytest.fixture(autouse=True)
def no_folder_stays_on_the_path(monkeypatch):
    """A command that is given in this process looks for modules in its folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
