"""Run many LLM-agent tasks at once, and make the agent better from what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aworld.agents.echo import EchoAgent
    from aworld.config import EngineName, RunConfig
    from aworld.core.action import ActionModel, Observation
    from aworld.core.failure import ErrorInfo
    from aworld.core.task import Task, TaskResponse
    from aworld.core.trajectory import Trajectory
    from aworld.engines.base import RuntimeEngine
    from aworld.engines.local_runtime import LocalRuntime
    from aworld.errors import AWorldError, ConfigError, EngineError, InputError, RunError, TaskError
    from aworld.executor import DistributedExecutor
    from aworld.node_executor import RemoteNodeExecutor
    from aworld.runner import Runners
    from aworld.stream import TaskStream
    from aworld.utils.run_util import exec_tasks

__version__ = "0.1.0.dev0"

# Imported when first asked for: a worker process needs few of them, and starts the faster for it.
_HOMES = {
    "AWorldError": "aworld.errors",
    "ActionModel": "aworld.core.action",
    "ConfigError": "aworld.errors",
    "DistributedExecutor": "aworld.executor",
    "EchoAgent": "aworld.agents.echo",
    "EngineError": "aworld.errors",
    "EngineName": "aworld.config",
    "ErrorInfo": "aworld.core.failure",
    "InputError": "aworld.errors",
    "LocalRuntime": "aworld.engines.local_runtime",
    "Observation": "aworld.core.action",
    "RemoteNodeExecutor": "aworld.node_executor",
    "RunConfig": "aworld.config",
    "RunError": "aworld.errors",
    "Runners": "aworld.runner",
    "RuntimeEngine": "aworld.engines.base",
    "Task": "aworld.core.task",
    "TaskError": "aworld.errors",
    "TaskResponse": "aworld.core.task",
    "TaskStream": "aworld.stream",
    "Trajectory": "aworld.core.trajectory",
    "exec_tasks": "aworld.utils.run_util",
}

__all__ = [
    "AWorldError",
    "ActionModel",
    "ConfigError",
    "DistributedExecutor",
    "EchoAgent",
    "EngineError",
    "EngineName",
    "ErrorInfo",
    "InputError",
    "LocalRuntime",
    "Observation",
    "RemoteNodeExecutor",
    "RunConfig",
    "RunError",
    "Runners",
    "RuntimeEngine",
    "Task",
    "TaskError",
    "TaskResponse",
    "TaskStream",
    "Trajectory",
    "exec_tasks",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'aworld' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
