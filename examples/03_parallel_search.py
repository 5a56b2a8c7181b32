"""Three searchers look for the same thing at once, each in its own way; one answer is made of all.

python examples/03_parallel_search.py
"""

import asyncio
from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table

from aworld import ActionModel, ParallelizableAgent, RunConfig, Runners, Task

CORPUS = {
    "photosynthesis": "Plants turn light, water and carbon dioxide into sugar and oxygen.",
    "gradient descent": "A function is minimised by small steps against its gradient.",
    "reinforcement learning": "An agent learns from rewards which actions to take in which state.",
    "transformer": "A neural network of layers in which every token attends to all the others.",
    "sourdough": "Bread raised by wild yeast and bacteria living in a mixture of flour and water.",
    "tide": "The sea rises and falls as the moon and the sun pull at its water.",
}


def by_title(question: str) -> list[str]:
    """Finds the entries whose title is in the question."""
    return [title for title in CORPUS if title in question.lower()]


def by_words(question: str) -> list[str]:
    """Finds the entries that share the most words with the question."""
    words = set(question.lower().strip("?").split())
    shared = Counter({t: len(words & set(text.lower().split())) for t, text in CORPUS.items()})
    return [title for title, count in shared.most_common(2) if count]


async def by_letters(question: str) -> list[str]:
    """Finds the entries by groups of three letters: it forgives spelling mistakes."""
    await asyncio.sleep(0.05)  # stands in for a slow search server

    def groups(text: str) -> set[str]:
        return {text[i : i + 3] for i in range(len(text) - 2)}

    wanted = groups(question.lower())
    score = {title: len(wanted & groups(title)) / len(groups(title)) for title in CORPUS}
    return [
        title for title in sorted(score, key=lambda title: -score[title])[:2] if score[title] > 0.3
    ]


def vote(agent: ParallelizableAgent, results: dict[str, Any]) -> ActionModel:
    """The entry that most searchers have found."""
    votes = Counter(title for found in results.values() for title in found)
    best = votes.most_common(1)
    return ActionModel(policy_info=CORPUS[best[0][0]] if best else "nothing found")


search = ParallelizableAgent(
    name="parallel_search",
    agents=[by_title, by_words, by_letters],
    aggregate_func=vote,
    on_error="drop",
)
questions = [
    "What is gradient descent?",
    "How do plants make sugar from light?",
    "Explain reinforcment lerning",
    "Why does the sea rise and fall with the moon?",
    "What is a transformer?",
    "How is bread raised by wild yeast?",
]
tasks = [Task(input=question, agent=search) for question in questions]
responses = Runners.sync_run_task(tasks, RunConfig(worker_num=2))

table = Table("question", "answer", "found by")
for task in tasks:
    response = responses[task.id]
    assert response.trajectory is not None
    finders = [step["agent"].split("/")[-1] for step in response.trajectory.steps if step["action"]]
    table.add_row(task.input, response.answer, ", ".join(finders))
Console().print(table)
assert all(response.success for response in responses.values())
