"""What the model is to learn: questions, the tools for them, what an answer is worth."""

import json
import random
import re
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from aworld import Agent, Task
from aworld.models.base import Model
from aworld.tools import Tool, calculator, tool

ITEMS = [
    "apples",
    "pears",
    "plums",
    "eggs",
    "rolls",
    "candles",
    "pencils",
    "stamps",
    "bulbs",
    "cups",
]
SHOPS = ["Anna", "Ben", "Carla", "Dan", "Emma", "Finn", "Greta", "Hugo", "Ida", "Jon"]


@tool
def calculate(expression: str) -> str:
    """Computes an arithmetic expression."""
    return calculator.function(expression)


@tool
def price(item: str, shop: str) -> int:
    """What one item costs in a shop."""
    if item not in ITEMS or shop not in SHOPS:
        raise ValueError(f"there is no {item!r} at {shop!r}")
    return 3 + zlib.crc32(f"{item} {shop}".encode()) % 37


def last_number_is_right(task, trajectory) -> float:
    numbers = re.findall(r"-?\d+", str(trajectory.final_result).replace(",", ""))
    return float(numbers[-1:] == [str(task.ground_truth)])


class Question(NamedTuple):
    text: str
    answer: int
    calls: list[tuple[str, dict[str, Any], Any]]  # that lead to it


def sum_of_a_product(draw: random.Random) -> Question:
    """One call of a tool, then its result."""
    a, b, c = draw.randint(10, 99), draw.randint(2, 20), draw.randint(1, 99)
    expression, result = f"{a} * {b} + {c}", a * b + c
    calls = [("calculate", {"expression": expression}, result)]
    return Question(f"What is {expression}?", result, calls)


def bill(draw: random.Random) -> Question:
    """The price from one tool, the sum from another: a number out of each of two places."""
    item, shop, count = draw.choice(ITEMS), draw.choice(SHOPS), draw.randint(2, 99)
    each = price.function(item, shop)
    return Question(
        f"What do {count} {item} cost at {shop}'s?",
        count * each,
        [
            ("price", {"item": item, "shop": shop}, each),
            ("calculate", {"expression": f"{count} * {each}"}, count * each),
        ],
    )


class Lesson(NamedTuple):
    question: Callable[[random.Random], Question]
    tools: list[Tool]
    max_steps: int
    rounds: int  # of the warm-up: how long it is searched for what can be imitated
    updates: int  # of the warm-up


LESSONS = {
    "calculator": Lesson(sum_of_a_product, [calculate], max_steps=3, rounds=1, updates=8),
    "shopping": Lesson(bill, [price, calculate], max_steps=5, rounds=4, updates=40),
}


def tasks_of(lesson: Lesson, count: int, seed: int) -> list[Task]:
    """All different."""
    draw, answers = random.Random(seed), {}
    while len(answers) < count:
        text, answer, _ = lesson.question(draw)
        answers[text] = answer
    return [Task(text, id=text, ground_truth=answer) for text, answer in answers.items()]


def examples_of(lesson: Lesson, count: int, seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    questions = [lesson.question(draw) for _ in range(count)]
    return [message for question in questions for message in worked(question)]


def worked(question: Question) -> list[dict[str, Any]]:
    """A conversation in which the tools are called one by one; the last result is the answer."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question.text}]
    for number, (name, arguments, result) in enumerate(question.calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": str(number), "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(number), "content": str(result)})
    return [*messages, {"role": "assistant", "content": str(question.answer)}]


def agent_of(lesson: Lesson) -> Callable[[Model], Agent]:
    """No example in its prompt: only the question, and what the tools are."""
    return lambda model: Agent(
        "calculating", model=model, tools=lesson.tools, max_steps=lesson.max_steps
    )
