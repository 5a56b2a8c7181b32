"""A program of three tasks runs as written: as a script, in a notebook, in a running event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap

import pytest

MY_AGENT = """
class MyAgent:
    async def async_policy(self, observation, info, **kwargs):
        from aworld import ActionModel
        return [ActionModel(policy_info=observation.content.upper())]

my_agent = MyAgent()
"""

PRINTED = """
from aworld.core.task import Task
from aworld.runner import Runners
from aworld.config import RunConfig, EngineName

# create tasks
tasks = [
    Task(input="what is machine learning?", agent=my_agent, id="task1"),
    Task(input="explain neural networks", agent=my_agent, id="task2"),
    Task(input="what is deep learning?", agent=my_agent, id="task3")
]
# Use Ray
run_conf=RunConfig(
    engine_name=EngineName.LOCAL,
    worker_num=len(tasks)
)

# utility entry point
results = Runners.sync_run_task(
    task=tasks,
    run_conf=run_conf
)

from aworld.utils.run_util import exec_tasks

# inner utility func
exec_tasks(tasks=tasks, run_conf=run_conf)
"""

CHECK = """
assert list(results) == ["task1", "task2", "task3"], results
assert results["task2"].answer == "EXPLAIN NEURAL NETWORKS", results
assert all(response.success for response in results.values()), results
print("all three came back")
"""

AGENTS = {
    "class in __main__": MY_AGENT,
    "lambda": "my_agent = lambda question: question.upper()",
    "async function": "async def my_agent(question):\n    return question.upper()",
    "closure": "def make(f):\n    return lambda q: f(q)\nmy_agent = make(str.upper)",
}


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS.keys())
def test_as_a_plain_script_without_a_main_guard(tmp_path, agent):
    script = tmp_path / "seed.py"
    script.write_text(agent + PRINTED + CHECK)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout == "all three came back\n", done.stderr
    assert done.stderr == ""


def test_with_an_agent_from_a_module_beside_the_script(tmp_path):
    (tmp_path / "agents_of_mine.py").write_text(MY_AGENT)
    script = tmp_path / "seed.py"
    script.write_text("from agents_of_mine import my_agent\n" + PRINTED + CHECK)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "all three came back\n", done.stderr


def test_inside_a_running_event_loop(tmp_path):
    body = textwrap.indent(MY_AGENT + PRINTED + CHECK, "    ")
    script = tmp_path / "seed.py"
    script.write_text(f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "all three came back\n", done.stderr


def test_from_standard_input(tmp_path):
    done = subprocess.run(
        [sys.executable, "-"],
        input=MY_AGENT + PRINTED + CHECK,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.stdout == "all three came back\n", done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_in_a_notebook_cell_sync_and_with_await():
    import nbformat
    from nbclient import NotebookClient

    cells = [
        MY_AGENT,
        PRINTED + CHECK,
        "results = await Runners.run_task(tasks, run_conf)" + CHECK,
        "from aworld import *\nprint([r.id async for r in Runners.stream_tasks(tasks[:1])])",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    printed = [
        "".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells
    ]
    assert printed[1] == printed[2] == "all three came back\n"
    assert printed[3] == "['task1']\n"


def test_sync_run_inside_a_running_loop_of_this_process():
    from aworld import EchoAgent, Runners

    async def main():
        return Runners.sync_run("x", EchoAgent()).answer, (
            await Runners.run("y", EchoAgent())
        ).answer

    assert asyncio.run(main()) == ("x", "y")
