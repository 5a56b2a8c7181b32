"""Run many LLM-agent tasks at once, and make the agent better from what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.agents.echo import EchoAgent
    from aworld.agents.llm_agent import Agent
    from aworld.agents.parallel_agent import ParallelizableAgent, SerialAgent
    from aworld.config import AgentConfig, EngineName, RunConfig
    from aworld.core.action import ActionModel, Observation
    from aworld.core.event import Event
    from aworld.core.failure import ErrorInfo
    from aworld.core.task import Task, TaskResponse
    from aworld.core.trajectory import Trajectory
    from aworld.engines.base import RuntimeEngine
    from aworld.engines.local_runtime import LocalRuntime
    from aworld.errors import (
        AccessError,
        AWorldError,
        BudgetError,
        ConfigError,
        EngineError,
        InputError,
        ModelError,
        RunError,
        StoreError,
        TaskError,
        TruncatedError,
    )
    from aworld.evaluation.running import evaluate
    from aworld.executor import DistributedExecutor
    from aworld.node_executor import RemoteNodeExecutor
    from aworld.runner import Runners
    from aworld.sources.loading import load_tasks
    from aworld.store.reader import open_run
    from aworld.stream import TaskStream
    from aworld.tools.base import Tool, tool
    from aworld.utils.run_util import exec_tasks

__version__ = "0.1.0"

# Imported when first asked for: a worker process needs few of them, and starts the faster for it.
_HOMES = {
    "AWorldError": "aworld.errors",
    "AccessError": "aworld.errors",
    "ActionModel": "aworld.core.action",
    "Agent": "aworld.agents.llm_agent",
    "AgentConfig": "aworld.config",
    "BudgetError": "aworld.errors",
    "ConfigError": "aworld.errors",
    "DistributedExecutor": "aworld.executor",
    "EchoAgent": "aworld.agents.echo",
    "EngineError": "aworld.errors",
    "EngineName": "aworld.config",
    "ErrorInfo": "aworld.core.failure",
    "Event": "aworld.core.event",
    "InputError": "aworld.errors",
    "LocalRuntime": "aworld.engines.local_runtime",
    "ModelError": "aworld.errors",
    "Observation": "aworld.core.action",
    "ParallelizableAgent": "aworld.agents.parallel_agent",
    "RemoteNodeExecutor": "aworld.node_executor",
    "RunConfig": "aworld.config",
    "RunError": "aworld.errors",
    "Runners": "aworld.runner",
    "RuntimeEngine": "aworld.engines.base",
    "SerialAgent": "aworld.agents.parallel_agent",
    "StoreError": "aworld.errors",
    "Task": "aworld.core.task",
    "TaskError": "aworld.errors",
    "TaskResponse": "aworld.core.task",
    "TaskStream": "aworld.stream",
    "Tool": "aworld.tools.base",
    "Trajectory": "aworld.core.trajectory",
    "TruncatedError": "aworld.errors",
    "evaluate": "aworld.evaluation.running",
    "exec_tasks": "aworld.utils.run_util",
    "load_tasks": "aworld.sources.loading",
    "open_run": "aworld.store.reader",
    "tool": "aworld.tools.base",
}

__all__ = [
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


__getattr__ = imported_on_demand(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
