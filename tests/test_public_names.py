"""The public surface: as small as it looks, and light to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lazy_names import seen_by_type_checkers

import aworld

PUBLIC = [
    "AWorldError",
    "AccessError",
    "ActionModel",
    "Agent",
    "AgentConfig",
    "BudgetError",
    "ConfigError",
    "DistributedExecutor",
    "EchoAgent",
    "EngineError",
    "EngineName",
    "ErrorInfo",
    "Event",
    "InputError",
    "LocalRuntime",
    "ModelError",
    "Observation",
    "ParallelizableAgent",
    "RemoteNodeExecutor",
    "RunConfig",
    "RunError",
    "Runners",
    "RuntimeEngine",
    "SerialAgent",
    "StoreError",
    "Task",
    "TaskError",
    "TaskResponse",
    "TaskStream",
    "Tool",
    "Trajectory",
    "TruncatedError",
    "evaluate",
    "exec_tasks",
    "load_tasks",
    "open_run",
    "tool",
]


def test_the_public_names_are_these_and_no_others():
    assert sorted(aworld.__all__) == PUBLIC
    assert dir(aworld) == PUBLIC
    for name in PUBLIC:
        assert getattr(aworld, name).__name__ == name


def test_type_checkers_see_the_same_names_as_python():
    assert seen_by_type_checkers(aworld) == aworld._HOMES


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(aworld, "Nothing")


def test_the_seeds_import_paths_work():
    from aworld.config import EngineName, RunConfig
    from aworld.core.task import Task
    from aworld.runner import Runners
    from aworld.utils.run_util import exec_tasks

    assert (Task, Runners, RunConfig, EngineName, exec_tasks) == (
        aworld.Task,
        aworld.Runners,
        aworld.RunConfig,
        aworld.EngineName,
        aworld.exec_tasks,
    )


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {name.split(".")[0] for name in out.stdout.split()}


def test_importing_aworld_loads_nothing_heavy():
    assert not loaded_after("import aworld") & {"asyncio", "cloudpickle", "rich", "dataclasses"}
    heavy = {"ray", "pyspark", "torch", "transformers", "openai", "pydantic", "numpy", "rich"}
    assert not loaded_after("from aworld import *") & heavy


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("from aworld.train import train", "training needs: pip install 'aworld[train]'"),
        ("from aworld.policies import BytePolicy", "need: pip install 'aworld[train]'"),
        ("from aworld.serve import PolicyServer", "needs: pip install 'aworld[serve]'"),
    ],
)
def test_without_its_extra_a_name_says_what_to_install(statement, remedy):
    code = f"import sys; sys.modules['torch'] = None; {statement}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("aworld.errors.ConfigError: ")
    assert f"{remedy} (there is no 'torch' here)" in last


def test_a_module_of_our_own_that_is_missing_is_told_as_it_is():
    code = (
        "import sys; sys.modules['aworld.policies.opening'] = None; "
        "from aworld.policies import open_policy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: ")


def test_the_package_is_typed():
    assert (Path(aworld.__file__).parent / "py.typed").exists()
