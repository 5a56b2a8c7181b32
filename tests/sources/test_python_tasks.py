"""Tasks from Python: a generator stays lazy, and what a file defines travels to the workers."""

from __future__ import annotations

import itertools
import sys

import pytest

from aworld import ConfigError, EchoAgent, RunConfig, Runners, Task
from aworld.core.plugins import load_object
from aworld.sources import load_tasks

FILE = """
from __future__ import annotations
from dataclasses import dataclass
from aworld import Task
import beside

TASKS = [Task("a", id="1"), {"question": "b", "answer": beside.TRUTH}]
SAME = Task("a", agent=len)

def endless(start: int = 0):
    seen.append("called")
    n = start
    while True:
        seen.append(n)
        yield {"question": n}
        n += 1

seen = []

@dataclass
class Shouter:
    name: str = "shouter"
    def policy(self, observation, info):
        from aworld import ActionModel
        return [ActionModel(policy_info=observation.content.upper())]

shouter = Shouter()

def none(): return 3
def broken(): yield 3
async def later(): yield 3
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (tmp_path / "beside.py").write_text("TRUTH = 42\n")
    (tmp_path / "my_tasks.py").write_text(FILE)
    return tmp_path / "my_tasks.py"


def test_a_list_is_taken_whole(file):
    agent = EchoAgent()
    tasks = load_tasks(f"{file}:TASKS", agent)
    assert isinstance(tasks, list)
    assert [(task.input, task.ground_truth, task.agent) for task in tasks] == [
        ("a", None, agent),
        ("b", 42, agent),
    ]
    assert load_object(f"{file}:TASKS")[0].agent is None
    assert len(list(load_tasks(f"{file}:TASKS", limit=1))) == 1


def test_a_task_keeps_the_agent_it_has(tmp_path):
    (tmp_path / "own.py").write_text("from aworld import Task\nMINE = [Task('abc', len)]")
    (task,) = load_tasks(f"{tmp_path}/own.py:MINE", EchoAgent())
    assert task.agent is len


def test_a_generator_is_read_as_the_run_goes_on(file):
    seen = load_object(f"{file}:seen")
    seen.clear()
    tasks = load_tasks(f"{file}:endless?start=5", str)
    assert seen == ["called"] or seen == []
    first = list(itertools.islice(tasks, 2))
    assert [task.input for task in first] == [5, 6]
    assert seen == ["called", 5, 6]
    assert len(list(load_tasks(f"{file}:endless", str, limit=3))) == 3


def test_what_a_file_defines_travels_to_workers_that_do_not_have_it(file, monkeypatch):
    shouter = load_object(f"{file}:shouter")
    assert load_object(f"{file}:shouter") is shouter
    file.unlink()
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(file.parent)])
    answer = Runners.sync_run("hello", shouter, RunConfig(worker_num=1))
    assert answer.answer == "HELLO"


def test_a_bad_entry_is_said_with_its_position(file):
    with pytest.raises(ConfigError, match=r"my_tasks.py:broken\[0\]: give a Task, or a dict"):
        list(load_tasks(f"{file}:broken"))
    with pytest.raises(
        ConfigError, match=r"endless\[0\]: no column named 'text' \(known: question"
    ):
        list(load_tasks(f"{file}:endless", fields={"input": "text"}))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "must give a list or generator of tasks, got a int"),
        ("later", "got a async_generator: make it a plain generator"),
        ("seen?x=1", "is no function: it takes no options"),
        ("endless?x=1", "cannot be called: got an unexpected keyword argument 'x'"),
        ("endless?start", "write the options like"),
        ("endless?start=1&start=2", "the option 'start' is there twice"),
        ("endles", r"no object in .*my_tasks.py named 'endles'; did you mean 'endless'\?"),
        ("seen", "holds no tasks"),
    ],
)
def test_what_gives_no_tasks_is_said(file, name, message):
    load_object(f"{file}:seen").clear()
    with pytest.raises(ConfigError, match=message):
        load_tasks(f"{file}:{name}")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nothing.py:x", "there is no file 'nothing.py'"),
        ("my_tasks.py", "is a whole file: write 'my_tasks.py:name'"),
        ("here:x", "No module named 'here'; for the file write 'here.py:x'"),
        ("nowhere:x", "No module named 'nowhere'"),
        ("here.py:x", r"'here.py' cannot be loaded: ZeroDivisionError"),
        ("here", "is no dotted path"),
    ],
)
def test_what_cannot_be_loaded_is_said(tmp_path, monkeypatch, spec, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    (tmp_path / "here.py").write_text("x = 1 / 0")
    with pytest.raises(ConfigError, match=message):
        load_object(spec)


def test_a_module_is_named_with_or_without_a_colon():
    assert load_object("aworld.core.task:Task") is load_object("aworld.core.task.Task") is Task
