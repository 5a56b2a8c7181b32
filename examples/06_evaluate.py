"""Two agents on the same questions, eight times each: how good, how sure, and which is better.

python examples/06_evaluate.py

Each does sums; the careless one errs now and then, more often where numbers are large. The chance
of an agent to be right at least once in k tries (pass@k) or every time (pass^k) is estimated with
intervals, by level, and the two runs are compared question by question.
"""

import random
import tempfile
from pathlib import Path

from rich.console import Console

from aworld import ActionModel, RunConfig, Task, evaluate, open_run
from aworld.evaluation import compare_runs

console = Console()


class Solver:
    """Stands in for a model: it errs by chance, and the chance comes from the task's seed."""

    def __init__(self, name: str, errs: dict[str, float]):
        self.name = name
        self.errs = errs

    def policy(self, observation, info):
        question, chance = observation.content, random.Random(info["seed"])
        errs = chance.random() < self.errs[question["level"]]
        return [ActionModel(policy_info=str(question["a"] + question["b"] + errs))]


def questions() -> list[Task]:
    chance = random.Random(1)
    found = []
    for level, most in (("easy", 9), ("hard", 9999)):
        for number in range(20):
            a, b = chance.randint(0, most), chance.randint(0, most)
            asked = {"a": a, "b": b, "level": level}
            facts = {"level": level}
            found.append(
                Task(asked, id=f"{level}-{number}", ground_truth=str(a + b), metadata=facts)
            )
    return found


folder = Path(tempfile.mkdtemp(prefix="aworld-"))
solvers = [
    Solver("careless", {"easy": 0.1, "hard": 0.5}),
    Solver("careful", {"easy": 0.02, "hard": 0.2}),
]
for solver in solvers:
    conf = RunConfig(worker_num=2, run_dir=folder / solver.name, seed=7)
    console.rule(solver.name)
    console.print(evaluate(questions(), solver, "exact_match", samples=8, run_conf=conf))

console.rule("careless against careful")
with open_run(folder / "careless") as before, open_run(folder / "careful") as after:
    console.print(compare_runs(before, after))
console.print(f"look at both: aworld view {folder}", soft_wrap=True)
