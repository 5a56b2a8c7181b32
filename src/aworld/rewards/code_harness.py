"""Runs inside the sandbox: the tests of an answer's code. It is a script, and nobody imports it.

Only this process can write to the output that is read outside: the code of the answer runs in
children whose output goes nowhere. A child learns the word that says "passed" when the code has
been loaded, together with the test: to exit early passes nothing.
"""

import json
import os
import subprocess
import sys
import time

CHILD = """
import json, os, sys
source = os.fdopen(os.dup(0), "r", encoding="utf-8")
answers = os.dup(1)
nowhere = os.open(os.devnull, os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(nowhere, number)
space = {"__name__": "answer"}
exec(compile(json.loads(source.readline()), "<answer>", "exec"), space)
test, word = json.loads(source.readline())
exec(compile(test, "<test>", "exec"), space)
os.write(answers, word.encode())
os._exit(0)
"""


def passes(code: str, test: str, seconds: float) -> bool:
    word = os.urandom(16).hex()
    told = f"{json.dumps(code)}\n{json.dumps([test, word])}\n"
    command = [sys.executable, "-I", "-X", "utf8", "-c", CHILD]
    try:
        ended = subprocess.run(
            command,
            input=told.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0 and ended.stdout == word.encode()


def main(code: str, tests: list[str], seconds: float) -> None:
    print("begun", flush=True)  # from here on a bad end is the fault of the code
    deadline = time.monotonic() + seconds
    for test in tests:
        left = deadline - time.monotonic()
        print("+" if left > 0 and passes(code, test, left) else "-", flush=True)
