"""What the tests of agents share: a tool or two, and a quick way to run one task."""

from __future__ import annotations

import asyncio

from aworld import (
    Agent,
    RunConfig,
    Runners,
    Task,
    tool,
)
from aworld.models.scripted import ScriptedModel

QUICK = RunConfig(worker_num=1, seed=5)


@tool
def double(number: int) -> int:
    """Doubles a number."""
    return 2 * number


@tool
async def slowly(word: str) -> str:
    """Says a word after a while."""
    await asyncio.sleep(0.3)
    return word


def scripted(*lines, **options):
    return Agent("a", model=ScriptedModel(list(lines)), **options)


def run(agent, question="?", conf=QUICK, **task):
    task = Task(input=question, agent=agent, **task)
    return Runners.sync_run_task(task, conf)[task.id]


def observations(response):
    return [
        used["result"]
        for step in response.trajectory.steps
        for used in step.get("tool_calls") or ()
    ]
