"""Bad input is refused in one line that says what to do, with exit code 2, and nothing started."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from shell import COMMAND, Shell, environment

ECHO = ("run", "tasks.jsonl", "--agent", "agents.py:echo")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "nothing.jsonl"), "there is no file or folder 'nothing.jsonl'"),
        (("run",), "which tasks? give a file"),
        (("run", "bad.jsonl"), "bad.jsonl:2:13: "),
        (("run", "empty.jsonl"), "empty.jsonl holds no tasks"),
        (("run", "tasks.jsonl", "--agent", "agents.py:ecko"), "did you mean 'echo'?"),
        (("run", "tasks.jsonl", "--agent", "broken.py:agent"), "ZeroDivisionError"),
        (("run", "tasks.jsonl", "--agent", "syntax.py:agent"), "syntax.py:2: invalid syntax"),
        (("run", "tasks.jsonl", "--agent", "syntax:agent"), "syntax.py:2: invalid syntax"),
        (("run", "tasks.jsonl", "--agent", "nowhere:agent"), "No module named 'nowhere'"),
        (("run", "tasks.jsonl", "--agent", "agents.py:AGENT"), "no object in agents.py"),
        ((*ECHO, "--engine", "rey"), "no engine named 'rey'; did you mean 'ray'?"),
        ((*ECHO, "--reward", "exact_mach"), "did you mean 'exact_match'?"),
        ((*ECHO, "--reward", "numeric_match:tolerace=1"), "did you mean 'tolerance'?"),
        ((*ECHO, "--reward", "numeric_match:oops"), "write its options as"),
        ((*ECHO, "--reward", "exact_match", "--field", "ground_truth="), "no task has one"),
        ((*ECHO, "--samples", "0"), "samples must be a whole number of at least 1"),
        ((*ECHO, "--workers", "many"), "'--workers'"),
        ((*ECHO, "--set", "nonsense"), "write it as --set run.timeout=30"),
        ((*ECHO, "--set", "run.timeot=3"), "did you mean 'run.timeout'?"),
        ((*ECHO, "--set", "runs.timeout=3"), "no table named 'runs'; did you mean 'run'?"),
        ((*ECHO, "--set", "run.timeout.x=3"), "run.timeout has no parts"),
        ((*ECHO, "--set", "run.timeout=soon"), "timeout must be a positive number"),
        ((*ECHO, "--set", "run.engine_options=[1"), "is no value that TOML can read"),
        ((*ECHO, "--config", "absent.toml"), "absent.toml cannot be read"),
        ((*ECHO, "--config", "wrong.toml"), "wrong.toml: no setting named 'run.wokers'"),
        ((*ECHO, "--field", "question"), "write it as --field input=question"),
        ((*ECHO, "--out", "runs/a"), "aworld resume runs/a"),
        ((*ECHO, "--out", "full"), "full is not empty (it holds 'notes.txt'): choose a new folder"),
        ((*ECHO, "--out", "starting"), "another run is being started in starting: choose another"),
        ((*ECHO, "--out", "bad.jsonl"), "bad.jsonl is a file: choose a new folder"),
        ((*ECHO, "--out", ""), "--out needs the name of a new folder"),
        ((*ECHO, "--out", "x" * 300), "File name too long"),
        (("show", "x" * 300), "File name too long"),
        ((*ECHO, "--reward", "wrong.py:one_argument"), "must be a function of (task, trajectory)"),
        (("run", "tasks.jsonl", "--agent", "leaves.py:agent"), "it ends the program"),
        (("run", "tasks.jsonl", "--agent", "inside.py:agent"), "write 'package.module:name'"),
        (("run", "tasks.jsonl", "--agent", "wrong.py:Needy"), "needs arguments: give an object"),
        (("run", "cut.jsonl"), "cut.jsonl:2:11: "),
        (("run", "odd.jsonl"), "--field input=question"),
        ((*ECHO, "--no-such-option"), "see aworld run --help"),
        (("rnu",), "Did you mean 'run'?"),
        (("resume", "runs/b"), "runs/b holds no run: there is no such folder"),
        (("resume", "runs"), "there is no run.db in it"),
        (("resume", "runs/a", "--retry", "faild"), "did you mean 'failed'?"),
        (("show", "a1"), "did you mean runs/a?"),
        (("show", "a", "t33"), "did you mean 't3'"),
        (("show", "a", "t3", "--sample", "1"), "there is no sample 1"),
        (("show", "a", "t3", "--attempt", "2"), "there is no attempt 2"),
        (("show", "a", "--where", "prize > 1"), "no such column: prize"),
        (("show", "a", "--page", "9"), "there is no page 9"),
        (("eval", "a"), "nothing has scored the run"),
        (("eval", "runs/a", "--samples", "3"), "leave out samples"),
        (("eval", "tasks.jsonl"), "which reward?"),
        (("eval", "runs/aa"), "there is no file, folder or run 'runs/aa'; did you mean runs/a?"),
        (("eval", "taks.jsonl"), "there is no file, folder or run 'taks.jsonl'"),
        (("compare", "a", "b"), "b holds no run"),
        (("rescore", "a"), "which reward?"),
        (("export", "a", "--to", "trl-stf"), "did you mean 'trl-sft'?"),
        (("export", "a", "--to", "messages", "--option", "x"), "write it as --option"),
        (("import", "absent.jsonl", "--out", "runs/c"), "absent.jsonl"),
        (("import", "said.jsonl", "--out", "runs/c"), "its conversation is empty"),
        (("import", "said.jsonl", "--out", "full"), "full is not empty"),
        (("import", "said.jsonl", "--out", ""), "--out needs the name of a new folder"),
        (("show", "a", "--reward", "none"), "(known: none)"),
        (("cancel", "b"), "b holds no run"),
        (("doctor", "b"), "b holds no run"),
        (("doctor", "--repair"), "which run is to be repaired?"),
        (("ls", "nowhere"), "there is no folder 'nowhere'"),
    ],
)
def test_it_is_refused_in_one_line(prepared, arguments, said):
    assert said in prepared.refusal(*arguments)
    assert sorted(path.name for path in (prepared.folder / "runs").iterdir()) == ["a"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("shell"))
    shell(*ECHO, "--out", "runs/a", "-q")
    write = {
        "bad.jsonl": '{"input": 1}\n{"input": 2,}\n',
        "empty.jsonl": "",
        "broken.py": "1 / 0\n",
        "wrong.toml": "[run]\nwokers = 3\n",
    }
    write |= {
        "cut.jsonl": '{"input": 1}\n{"input": "two\n',
        "odd.jsonl": '{"riddle": 1}\n',
        "said.jsonl": '{"messages": []}\n',
        "leaves.py": "import sys\nsys.exit('no')\n",
        "inside.py": "from . import other\n",
        "wrong.py": "def one_argument(task): ...\nclass Needy:\n    def __init__(self, x): ...\n",
        "syntax.py": "one = 1\ndef = 2\n",
        "full/notes.txt": "mine",
        "starting/.config.toml.d9e0504d.unfinished": "",
    }
    (shell.folder / "full").mkdir()
    (shell.folder / "starting").mkdir()
    for name, content in write.items():
        (shell.folder / name).write_text(content)
    return shell


def test_the_traceback_is_shown_when_it_is_asked_for(prepared):
    command = [*COMMAND, "--traceback", "run", "tasks.jsonl", "--agent", "broken.py:agent"]
    done = subprocess.run(
        command, cwd=prepared.folder, env=environment(), capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert "1 / 0" in done.stderr


def test_help_is_quick_and_loads_nothing_heavy(prepared):
    begin = time.perf_counter()
    assert "resume" in prepared("--help").stdout
    assert time.perf_counter() - begin < 5  # 0.25 s on a quiet machine
    code = "import sys; import aworld.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    heavy = {"ray", "pyspark", "torch", "openai", "numpy", "pyarrow", "aworld.stream", "sqlite3"}
    assert not heavy & set(loaded.stdout.split())


def test_no_command_at_all_shows_the_help(prepared):
    assert "Usage: aworld" in prepared().stdout
    assert prepared("--version").stdout.strip()
