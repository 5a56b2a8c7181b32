"""How much it costs to run an agent: against other frameworks, and against the bare HTTP calls.

    python benchmarks/agents.py [--repeat N] [--quick] [--out FILE]

Each task is three calls of a model that takes 100 ms and two calls of a tool. The model is a server
on loopback in a process of its own, whose CPU time is not counted. Every contender starts from
nothing: processes, imports and connections are in its seconds. CPU per call is what each further
call costs, in all its processes. Medians of N rounds, interleaved; trust the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from contenders import config
from measuring import Row, Timing, fresh_script, rounds, timed
from rich.console import Console
from rich.table import Table
from workloads import WORKERS

from aworld import Agent, Runners, Task, tool
from aworld.models.openai_model import OpenAIModel

DELAY = 0.1
CALLS = 3  # of the model, for each task

Contender = Callable[[int], Timing]

SERVER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "tests/agents")!r})
from fake_server import FakeServer
with FakeServer(delay={DELAY}) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

BARE = """
import asyncio, json, httpx2
conversations = json.load(open({file!r}))[{chosen}]
limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)  # as in openai's client
async def main():
    limit = asyncio.Semaphore({in_flight})
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:
        async def converse(bodies):
            async with limit:
                for body in bodies:
                    headers = {{"content-type": "application/json"}}
                    response = await client.post(
                        "{url}/chat/completions", content=body, headers=headers
                    )
                    message = response.raise_for_status().json()["choices"][0]["message"]
                return message["content"]
        assert all(await asyncio.gather(*map(converse, conversations)))
asyncio.run(main())
"""

FRAMEWORK_START = """
import asyncio, sys
sys.path.remove("")  # another "agents" may be there
from openai import AsyncOpenAI
def add(a: int, b: int) -> int:
    "Adds two numbers."
    return a + b
"""

FRAMEWORK_END = """
async def main():
    limit = asyncio.Semaphore({in_flight})
    async with AsyncOpenAI(base_url="{url}", api_key="none") as client:
        answer = answering(client)
        async def limited(number):
            async with limit:
                return await answer(f"Add {{number}}, 2, 3 and 4.")
        answers = await asyncio.gather(*map(limited, range({count})))
    assert answers == [str(number + 9) for number in range({count})]
asyncio.run(main())
"""

FRAMEWORKS = {
    "openai-agents": """
import agents
def answering(client):
    model = agents.OpenAIChatCompletionsModel("fake", openai_client=client)
    agent = agents.Agent("adder", model=model, tools=[agents.function_tool(add)])
    offline = agents.RunConfig(tracing_disabled=True)
    async def answer(question):
        return (await agents.Runner.run(agent, question, run_config=offline)).final_output
    return answer
""",
    "pydantic-ai-slim": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
def answering(client):
    provider = OpenAIProvider(openai_client=client)
    agent = Agent(OpenAIChatModel("fake", provider=provider), tools=[add])
    async def answer(question):
        return (await agent.run(question)).output
    return answer
""",
}


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tasks")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/agents.json")
    options = parser.parse_args()
    count = 100 if options.quick else 1_000
    with model_server() as url, tempfile.NamedTemporaryFile("w") as file:
        json.dump(conversations(url, count), file)
        file.flush()
        rows = [
            row
            for tasks_per_worker in (25, 50, 100)
            for row in compared(
                contenders(url, file.name, tasks_per_worker),
                options.repeat,
                count,
                tasks_per_worker,
            )
        ]
    show(rows)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "cpus": os.cpu_count()}
    options.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2))
    print(f"saved to {os.path.relpath(options.out)}")


@contextmanager
def model_server() -> Iterator[str]:
    command = [sys.executable, "-c", SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()  # tells it to end


def conversations(url: str, count: int) -> list[list[str]]:
    """The bodies of all requests, task by task, as we send them."""
    responses = Runners.sync_run_task(tasks_at(url, count), config())
    trajectories = [response.trajectory for response in responses.values()]
    return [[as_sent(step["model_call"]) for step in it.steps] for it in trajectories if it]


def as_sent(call: dict[str, Any]) -> str:
    return json.dumps({**call["settings"], "messages": call["messages"], "tools": call["tools"]})


def tasks_at(url: str, count: int) -> list[Task]:
    agent = Agent("adder", model=OpenAIModel("fake", base_url=url), tools=[add])
    return [Task(input=f"Add {n}, 2, 3 and 4.", agent=agent, id=str(n)) for n in range(count)]


def contenders(url: str, file: str, tasks_per_worker: int) -> dict[str, Contender]:
    """Each takes the number of tasks."""

    def through_runners(count: int) -> Timing:
        conf = config(tasks_per_worker=tasks_per_worker)
        return timed(
            count,
            lambda: Runners.sync_run_task(tasks_at(url, count), conf).values(),
            lambda response: response.answer == str(int(response.id) + 9),
        )

    def bare(count: int) -> Timing:
        """In as many processes as we have workers."""
        scripts = [
            BARE.format(
                url=url, file=file, chosen=f"{worker}:{count}:{WORKERS}", in_flight=tasks_per_worker
            )
            for worker in range(WORKERS)
        ]
        with ThreadPoolExecutor(WORKERS) as pool:
            return max(pool.map(fresh_script, scripts))

    def with_framework(script: str) -> Contender:
        """In one process, as its documentation shows it."""
        in_flight = WORKERS * tasks_per_worker
        return lambda count: fresh_script(
            FRAMEWORK_START
            + script
            + FRAMEWORK_END.format(url=url, count=count, in_flight=in_flight)
        )

    found: dict[str, Contender] = {"bare httpx2": bare, "aworld, Runners": through_runners}
    for name, script in FRAMEWORKS.items():
        try:
            found[f"{name} {version(name)}"] = with_framework(script)
        except PackageNotFoundError:
            print(f"skipped {name}: it needs pip install {name}")
    return found


def compared(
    contenders: dict[str, Contender], repeat: int, count: int, tasks_per_worker: int
) -> list[Row]:
    """Each in two sizes: what the larger one takes more is the cost of its calls alone."""
    few = count // 10
    cpu: dict[str, list[float]] = {}

    def measured(name: str, size: int) -> Callable[[], Timing]:
        def run() -> Timing:
            before = cpu_seconds()
            timing = contenders[name](size)
            cpu.setdefault(f"{name} {size}", []).append(cpu_seconds() - before)
            return timing

        return run

    runs = {f"{name} {size}": measured(name, size) for name in contenders for size in (few, count)}
    timings = rounds(runs, repeat)
    ideal = count * CALLS * DELAY / (WORKERS * tasks_per_worker)
    rows: list[Row] = []
    for name in contenders:
        seconds = median(timing.last for timing in timings[f"{name} {count}"])
        least, most = median(cpu[f"{name} {few}"]), median(cpu[f"{name} {count}"])
        per_call = (most - least) / ((count - few) * CALLS)
        rows.append(
            {
                "case": f"{count:,} tasks, {WORKERS} x {tasks_per_worker} in flight, {ideal:g} s",
                "contender": name,
                "seconds": round(seconds, 3),
                "of_ideal": round(seconds / ideal, 2),
                "cpu_seconds": round(most, 2),
                "cpu_ms_per_call": round(1000 * per_call, 3),
            }
        )
    for row in rows:
        row["of_bare"] = round(row["cpu_ms_per_call"] / rows[0]["cpu_ms_per_call"], 2)
    return rows


def cpu_seconds() -> float:
    """Of this process, and of all that it has started and that have ended."""
    return sum(os.times()[:4])


def show(rows: list[Row]) -> None:
    columns = (
        "tasks and ideal",
        "contender",
        "seconds",
        "of ideal",
        "CPU s",
        "CPU ms per call",
        "of bare",
    )
    table = Table(*columns, title="agents: 3 model calls of 100 ms and 2 tool calls in each task")
    previous = ""
    for row in rows:
        if previous and row["case"] != previous:
            table.add_section()
        values = list(row.values())
        values[0] = "" if row["case"] == previous else row["case"]
        table.add_row(*map(str, values))
        previous = row["case"]
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
