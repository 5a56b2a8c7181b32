"""The code of an answer is tested in the real sandbox."""

from __future__ import annotations

import pytest
from scene import scored

from aworld.errors import ConfigError
from aworld.rewards import code_tests

TESTS = ["assert add(1, 2) == 3", "assert add(-1, 1) == 0", "assert add('a', 'b') == 'ab'"]
RIGHT = "def add(a, b):\n    return a + b\n"


def test_the_score_is_the_share_of_tests_passed():
    reward = code_tests(TESTS)
    assert scored(reward, RIGHT).value == 1.0
    assert scored(reward, f"Try this:\n```python\n{RIGHT}```\nIt adds.").value == 1.0
    assert scored(reward, "def add(a, b):\n    return int(a) + int(b)").value == 2 / 3
    assert scored(reward, "I do not know").value == 0.0
    assert scored(reward, 42).value == 0.0


def test_the_tests_may_come_with_the_task():
    assert scored(code_tests(), RIGHT, metadata={"tests": TESTS[:2]}).value == 1.0
    assert scored(code_tests(key="check"), RIGHT, metadata={"check": TESTS[0]}).value == 1.0
    assert scored(code_tests(), RIGHT).value is None
    assert scored(code_tests(), None, metadata={"tests": TESTS}, status="timeout").value is None
    bad = scored(code_tests(), RIGHT, metadata={"tests": 3})
    assert bad.error is not None
    assert "metadata['tests'] must be a list" in bad.error.message


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(0)",
        "raise SystemExit(0)",
        "print('+\\n' * 10, flush=True)",
        "import os; os.write(1, b'+\\n' * 10); os._exit(0)",
        "x = bytearray(10**10)",
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    ],
    ids=["exit", "SystemExit", "print", "write", "memory", "kill"],
)
def test_leaving_early_or_claiming_success_passes_nothing(code):
    assert scored(code_tests(TESTS[:2]), code).value == 0.0


def test_noise_and_odd_characters_do_no_harm():
    code = f"print('é \\N{{SNOWMAN}}' * 100000)\n# é \ud800\n{RIGHT}"
    assert scored(code_tests(TESTS), code).value == 1.0


def test_what_has_not_run_when_the_time_is_over_has_failed():
    code = f"{RIGHT}\ndef wait():\n    while True: pass\n"
    reward = code_tests([TESTS[0], "wait()", TESTS[1]], timeout=1.5)
    assert scored(reward, code).value == 1 / 3


def test_a_test_leaves_nothing_behind_for_the_next():
    reward = code_tests(["seen.append(1)", "assert not seen"])
    assert scored(reward, "seen = []").value == 1.0


def test_the_code_cannot_reach_outside(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    assert scored(code_tests([f"open({str(secret)!r})"]), "pass").value == 0.0


@pytest.mark.parametrize("options", [{"tests": []}, {"tests": [1]}, {"timeout": None}, {"key": 1}])
def test_what_cannot_be_run_is_refused_at_once(options):
    with pytest.raises(ConfigError):
        code_tests(**options)


def test_there_is_no_way_to_run_without_the_sandbox():
    with pytest.raises(TypeError):
        code_tests(TESTS, unsandboxed=True)  # type: ignore[call-arg]
