"""Runs in a folder, made of agents that really ran and of steps that are written out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aworld import Agent, tool
from aworld.core.context import TaskContext, in_task
from aworld.core.failure import ErrorInfo
from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.models.scripted import ScriptedModel, call
from aworld.store.reader import Run, open_run
from aworld.store.writer import Finished, RunWriter


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def step(
    messages: list[Any], reply: dict[str, Any], *, agent: str = "solver", **parts: Any
) -> dict[str, Any]:
    """As agents record them; `parts` are those of the model call."""
    model_call = {
        "model": "fake",
        "messages": messages,
        "tools": [],
        "settings": {},
        "reply": reply,
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0},
        "policy_version": None,
        "prompt_ids": None,
        "completion_ids": None,
        "logprobs": None,
        **parts,
    }
    return {
        "step": 0,
        "agent": agent,
        "action": reply,
        "model_call": model_call,
        "observation": None,
        "reward": None,
    }


def response(
    answer: Any = None,
    steps: Iterable[dict[str, Any]] = (),
    *,
    reward: float | None = None,
    status: Any = "success",
    error: ErrorInfo | None = None,
    agent: str = "solver",
    **parts: Any,
) -> TaskResponse:
    trajectory = Trajectory(
        "", agent, list(steps), answer, status == "success", reward, status=status
    )
    return TaskResponse(
        "", answer, status, error, trajectory=trajectory, reward=reward, time_cost=0.5, **parts
    )


def write_run(
    folder: Path, *groups: tuple[Task, list[TaskResponse]], reward: str | None = "exact_match"
) -> Run:
    samples = max(len(responses) for _, responses in groups)
    writer = RunWriter.create(folder, {"samples": samples, "total": len(groups), "reward": reward})
    agent = writer.agent_number("solver", "", "0")
    for position, (task, responses) in enumerate(groups):
        writer.note_task(position, task, agent)
        writer.record(
            Finished(position * samples + sample, one) for sample, one in enumerate(responses)
        )
    writer.close()
    return open_run(folder)


def worked(agent: Agent, input: Any) -> tuple[Any, list[dict[str, Any]]]:
    """What the agent answers, and the steps that are recorded of it."""
    task = TaskContext("t")
    with in_task(task):
        return asyncio.run(agent.run(input)), task.steps


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
async def shout(text: str, loud: bool = True) -> str:
    """Says it in capitals."""
    return text.upper()


def adder(final: str, a: int = 1, b: int = 2) -> Agent:
    script = ScriptedModel([call("add", a=a, b=b), final])
    return Agent("solver", model=script, tools=[add, shout], system_prompt="Be brief.")


def team() -> Agent:
    """A lead that asks a helper twice, at the same time; each of them has a tool of its own."""

    def lead(messages: list[dict[str, Any]]) -> Any:
        results = [message for message in messages if message["role"] == "tool"]
        if results:
            return " and ".join(message["content"] for message in results)
        ask = [("helper", {"input": word}) for word in ("one", "two")]
        functions = [{"name": name, "arguments": json.dumps(given)} for name, given in ask]
        return says(
            None,
            tool_calls=[
                {"id": f"c{number}", "type": "function", "function": function}
                for number, function in enumerate(functions)
            ],
        )

    def helper(messages: list[dict[str, Any]]) -> Any:
        if messages[-1]["role"] == "tool":
            return messages[-1]["content"] + "!"
        return call("shout", text=messages[-1]["content"])

    inner = Agent("helper", model=ScriptedModel(helper), tools=[shout])
    return Agent("lead", model=ScriptedModel(lead), tools=[inner])


def tokened(*turns: tuple[list[int], list[int]], **parts: Any) -> list[dict[str, Any]]:
    """Steps with prompt ids and completion ids."""
    return [
        step(
            [user("?")],
            says("!"),
            prompt_ids=prompt,
            completion_ids=completion,
            logprobs=[-float(token) for token in completion],
            **parts,
        )
        for prompt, completion in turns
    ]


def full_run(folder: Path) -> Run:
    """Four samples of each of five tasks: tools, failures, sub-agents, functions, token ids."""
    question = "What is 1 + 2?"
    right, steps_right = worked(adder("3"), question)
    wrong, steps_wrong = worked(adder("4", a=2), question)
    near, steps_near = worked(adder("3, or so"), question)
    failure = ErrorInfo("ModelError", "no answer", "a long traceback")
    both, steps_both = worked(team(), "Go.")
    rewritten = [
        step([user("long story")], says("so far so good")),
        step([user("in short")], says("done")),
    ]
    return write_run(
        folder,
        (
            Task(question, id="sum", ground_truth=3, metadata={"level": 1, "tags": ["easy"]}),
            [
                response(right, steps_right, reward=1.0, usage={"model_calls": 2, "cost": 0.25}),
                response(wrong, steps_wrong, reward=0.0),
                response(near, steps_near, reward=0.5),
                response(None, status="failed", error=failure),
            ],
        ),
        (
            Task("Go.", id="team", ground_truth="ONE! and TWO!"),
            [response(both, steps_both, reward=1.0, agent="lead") for _ in range(4)],
        ),
        (
            Task({"n": 2}, id="function"),
            [response({"n": n}, reward=float(n == 4), agent="double") for n in (4, 5, 4, 3)],
        ),
        (
            Task("?", id="tokens", ground_truth="!"),
            [
                response("!", tokened(([1, 2], [3, 4]), ([1, 2, 3, 4, 5], [6])), reward=0.75),
                response("!", tokened(([1, 2], [3, 4]), ([1, 2, 9], [6])), reward=0.25),
                response("!", tokened(([1, 2], [7])), reward=None),
                response("?", status="truncated"),
            ],
        ),
        (
            Task("long story", id="rewritten", metadata={"data_source": "tales"}, ground_truth=[1]),
            [response("done", rewritten, reward=1.0), response("done", rewritten, reward=0.0)],
        ),
    )
