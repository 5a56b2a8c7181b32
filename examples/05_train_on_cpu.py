"""A byte-level model learns to use a tool by reward: on two cores, in about two minutes.

    python examples/05_train_on_cpu.py [--seed 0] [--engine ray] [--staleness 1]

It needs: pip install '.[train]', with PyTorch; for --engine ray '.[train,ray]'.

The task has two steps: asked "3+4", call add(3,4), read what it gives, and answer with that. The
model has 0.1 million parameters and random weights. First it imitates 102 short demonstrations for
some seconds: they show how the tool is called, but two of three shrug ("?") instead. Then it is run
by real workers through the policy server, and finds out by reward alone which of the two pays.
"""

import argparse
import itertools
import json
import random
import tempfile
import time

import torch
from rich.console import Console

from aworld import Agent, RunConfig, Task
from aworld.policies import ByteConfig, BytePolicy
from aworld.train import TrainConfig, WarmUp, train

console = Console()


def add(a: int, b: int) -> int:
    return a + b


def reward(task, trajectory) -> float:
    used_tool = any(step.get("tool_calls") for step in trajectory.steps)
    return float(used_tool and trajectory.final_result == task.ground_truth)


def with_tool(a: int, b: int) -> dict:
    function = {"name": "add", "arguments": json.dumps({"a": a, "b": b})}
    call = {"id": "1", "type": "function", "function": function}
    return {
        "messages": [
            {"role": "user", "content": f"{a}+{b}"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": str(a + b)},
            {"role": "assistant", "content": str(a + b)},
        ]
    }


def shrug(a: int, b: int) -> dict:
    asked = {"role": "user", "content": f"{a}+{b}"}
    return {"messages": [asked, {"role": "assistant", "content": "?"}]}


class Curve:
    """Shows how it goes, step by step."""

    def log(self, step, figures):
        if "reward" in figures:
            bar = "█" * round(40 * figures["reward"])
            console.print(f"step {step:3}  reward {figures['reward']:.2f} {bar}", highlight=False)

    def close(self):
        pass


options = argparse.ArgumentParser()
options.add_argument("--seed", type=int, default=0)
options.add_argument("--engine", default="local")
options.add_argument("--folder", default=None)
options.add_argument("--steps", type=int, default=60)
options.add_argument("--staleness", type=int, default=0, help="how old rollouts may be, in steps")
asked = options.parse_args()

torch.set_num_threads(1)  # the model is small, and the workers need the other core
pairs = list(itertools.product(range(10), repeat=2))
random.Random(0).shuffle(pairs)
tasks = [Task(f"{a}+{b}", id=f"{a}+{b}", ground_truth=str(a + b)) for a, b in pairs]
by_sum = itertools.groupby(sorted(pairs[20:], key=sum), key=sum)
demonstrated = [pair for _, same in by_sum for pair in list(same)[:2]]

config = TrainConfig(
    run_dir=asked.folder or tempfile.mkdtemp(prefix="aworld-"),
    algorithm="grpo",
    steps=asked.steps,
    tasks_per_step=32,
    samples=8,
    updates_per_batch=4,
    max_staleness=asked.staleness,
    learning_rate=1e-3,
    schedule="linear",
    warm_up_steps=3,
    reply_tokens=16,
    seed=asked.seed,
    warm_up=WarmUp(steps=300, batch=48, learning_rate=3e-3),
    engine=RunConfig(engine_name=asked.engine, worker_num=2, tasks_per_worker=32, timeout=60),
)
policy = BytePolicy(ByteConfig(width=64, layers=2, inner=168, context_tokens=128), seed=asked.seed)
began = time.perf_counter()
result = train(
    lambda model: Agent("adding", model=model, tools=[add], max_steps=3),
    tasks[20:],
    reward,
    config,
    policy=policy,
    held_out=tasks[:20],
    demonstrations=[
        demonstration
        for a, b in demonstrated
        for demonstration in (with_tool(a, b), shrug(a, b), shrug(a, b))
    ],
    trackers=[Curve()],
)
seconds = time.perf_counter() - began

first, *_, last = result.evaluations.values()
console.print(
    f"{sum(weight.numel() for weight in policy.parameters()):,} parameters, {seconds:.0f} s. "
    f"Success on questions that it was never asked before: {result.start:.0%} at "
    f"first, {first:.0%} after imitation, {last:.0%} after {result.steps} steps. All of it is in "
    f"{result.run_dir}",
    highlight=False,
)
