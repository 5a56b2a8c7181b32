"""Runs a tool as an agent would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from aworld.tools import Tool, ToolResult


def run_tool(tool: Tool, arguments: Any = None, /, **named: Any) -> ToolResult:
    return asyncio.run(tool.run(named if arguments is None else arguments))


@pytest.fixture
def run() -> Callable[..., ToolResult]:
    return run_tool
