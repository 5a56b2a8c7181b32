"""The proof that it learns: the example for two cores, with other seeds and on Ray."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "05_train_on_cpu.py"
FOUND = r"([\d,]+) parameters, .* (\d+)%\s+at\s+first, (\d+)%\s+after\s+imitation, (\d+)%\s+after"


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("options", [["--seed", "1"], ["--seed", "2"], ["--engine", "ray"]])
def test_a_small_model_learns_a_task_of_two_steps_by_reward(options):
    done = subprocess.run(
        [sys.executable, EXAMPLE, *options], capture_output=True, text=True, timeout=590
    )
    assert done.returncode == 0, done.stderr
    found = re.search(FOUND, done.stdout, re.DOTALL)
    assert found is not None, done.stdout
    parameters, start, imitated, learned = (int(one.replace(",", "")) for one in found.groups())
    assert parameters < 1_000_000
    assert start < 10
    assert learned > 90
    assert learned - imitated >= (learned - start) / 2  # at least half of it by reward
