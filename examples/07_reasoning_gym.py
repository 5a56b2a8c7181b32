"""A benchmark of reasoning-gym: sums of several numbers, with and without a tool.

python examples/07_reasoning_gym.py [--puzzles 40] [--name chain_sum]

It needs: pip install '.[gym]'; for a real model '.[gym,openai]'.

The puzzles are made by the package, and it scores the answers itself. Without a key the agent has
a model that follows a script: it calls the calculator, or guesses. Set LLM_MODEL_NAME, LLM_BASE_URL
and LLM_API_KEY to see how a real one does.
"""

import argparse
import os
import re
import tempfile
from pathlib import Path

from rich.console import Console

from aworld import Agent, RunConfig, evaluate, open_run
from aworld.evaluation import compare_runs
from aworld.models.scripted import ScriptedModel, call
from aworld.tools import calculator

console = Console()


def guesses(messages):
    """Adds the first number and the last one, and hopes."""
    numbers = re.findall(r"\d+", messages[-1]["content"])
    return str(int(numbers[0]) + int(numbers[-1]))


def calculates(messages):
    """Reads the sum in the question, and asks the calculator."""
    if messages[-1]["role"] == "tool":
        return messages[-1]["content"]
    return call("calculator", expression=re.findall(r"\d[\d +*-]*\d", messages[-1]["content"])[-1])


def agent(name: str, script, **options) -> Agent:
    if "LLM_MODEL_NAME" not in os.environ:
        options["model"] = ScriptedModel(script)
    rule = "Give the result as a number, and nothing else."
    return Agent(name, system_prompt=rule, **options)


asked = argparse.ArgumentParser()
asked.add_argument("--puzzles", type=int, default=40)
asked.add_argument("--name", default="chain_sum")
options = asked.parse_args()
tasks = f"rg:{options.name}?size={options.puzzles}&seed=1"
folder = Path(tempfile.mkdtemp(prefix="aworld-"))

for one in (agent("alone", guesses), agent("with_tool", calculates, tools=[calculator])):
    conf = RunConfig(worker_num=2, timeout=120, run_dir=folder / one.name)
    console.rule(one.name)
    console.print(evaluate(tasks, one, "reasoning_gym", run_conf=conf))

console.rule("what the tool changes")
with open_run(folder / "alone") as before, open_run(folder / "with_tool") as after:
    console.print(compare_runs(before, after))
console.print(f"look at both: aworld view {folder}", soft_wrap=True)
