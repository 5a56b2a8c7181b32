"""The questions of the demo, and the agent that answers them."""

from __future__ import annotations

import random
import re
from typing import Any

from aworld.agents.llm_agent import Agent
from aworld.cli.job import where_it_asks
from aworld.cli.machine import embedded_model
from aworld.core.task import Task
from aworld.models.embedded import EmbeddedModel
from aworld.models.scripted import ScriptedModel, call
from aworld.tools.arithmetic import calculator

QUESTIONS = 20


def questions() -> list[Task]:
    draw = random.Random(1)
    tasks = []
    for number in range(1, QUESTIONS + 1):
        a, b, c = draw.randint(10, 99), draw.randint(2, 20), draw.randint(1, 99)
        question, truth = f"What is {a} * {b} + {c}?", str(a * b + c)
        tasks.append(Task(question, id=f"question-{number}", ground_truth=truth))
    return tasks


class Calculating(Agent):
    """Asks the model of the environment, the embedded one, or else one that follows a script."""

    def __init__(self) -> None:
        super().__init__("calculating", tools=[calculator], max_steps=4)
        self.remark = f"asking {where_it_asks(self)}"
        if isinstance(self.model, EmbeddedModel):
            look = embedded_model()
            self.remark = "the model runs inside the workers: a very small one, see its mistakes"
            if look.state != "ok":
                self.model = ScriptedModel(from_a_script)
                self.remark = f"the model follows a script; for a real one: {look.advice}"


def from_a_script(messages: list[dict[str, Any]]) -> Any:
    last = messages[-1]
    if last["role"] == "tool":
        return f"The answer is {last['content']}."
    found = re.search(r"What is (.+)\?", str(last["content"]))
    return call("calculator", expression=found[1] if found else "0")
