"""20 questions to an agent with a calculator; the model runs inside the workers, with no key.

    python examples/02_agent_with_tools.py

It is a very small model (135 million parameters): watch it make mistakes. Point the same agent at
any OpenAI-compatible server with LLM_MODEL_NAME, LLM_BASE_URL and LLM_API_KEY.
"""

import random
import time

from rich.console import Console
from rich.table import Table

from aworld import Agent, RunConfig, Runners, Task
from aworld.progress import summary, with_progress
from aworld.tools import calculator

draw = random.Random(1)
agent = Agent("calculating", tools=[calculator], max_steps=4)
tasks = []
for number in range(20):
    a, b, c = draw.randint(10, 99), draw.randint(2, 20), draw.randint(1, 99)
    tasks.append(
        Task(
            input=f"What is {a} * {b} + {c}?",
            agent=agent,
            id=f"question {number + 1}",
            ground_truth=a * b + c,
        )
    )

begin = time.perf_counter()
stream = Runners.stream_tasks(tasks, RunConfig(worker_num=2, tasks_per_worker=4, timeout=120))
responses = {response.id: response for response in with_progress(stream)}
seconds = time.perf_counter() - begin

table = Table("question", "the agent calculated", "its answer", "right?")
right = 0
for task in tasks:
    response = responses[task.id]
    steps = response.trajectory.steps if response.trajectory else []
    used = [call["result"] for step in steps for call in step.get("tool_calls") or ()]
    is_right = str(task.ground_truth) in str(response.answer)
    right += is_right
    table.add_row(
        task.input, ", ".join(used), str(response.answer or response.msg), "yes" if is_right else ""
    )
console = Console()
console.print(table)
console.print(summary(responses.values(), title=f"{len(responses)} tasks in {seconds:.1f} s"))
console.print(f"{right} of {len(tasks)} right, {stream.usage.tokens} tokens")
assert len(responses) == len(tasks)
