"""SmolLM2 (135 million parameters) learns to use tools, on one GPU in some minutes.

    python examples/train_calculator/train.py [--lesson calculator|shopping] [--folder FOLDER]
    python examples/train_calculator/train.py --small   # one step on a CPU, to see it go

At first it hardly ever gives the right answer, and never calls a tool. With worked examples before
the question it does; what it did well is imitated without them (warm-up), and then GRPO goes on by
reward alone. Success is that of greedy answers to questions that are in none of its lessons.
"""

import argparse
import json
import random
import time
from dataclasses import replace
from pathlib import Path

from lessons import LESSONS, agent_of, examples_of, last_number_is_right, tasks_of

from aworld import RunConfig
from aworld.policies import open_policy
from aworld.train import TrainConfig, WarmUp, train

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--lesson", choices=LESSONS, default="calculator")
options.add_argument("--folder", default="runs/train_calculator")
options.add_argument("--model", default="smollm2")
options.add_argument("--steps", type=int, default=40)
options.add_argument("--rate", type=float, default=2e-5)
options.add_argument("--workers", type=int, default=8)
options.add_argument("--seed", type=int, default=0)
options.add_argument("--small", action="store_true", help="a step of a few questions, for a CPU")


class Curve:
    """Shows how it goes, step by step."""

    def __init__(self):
        self.began = time.perf_counter()

    def log(self, step, figures):
        seconds = time.perf_counter() - self.began
        shown = ["start_pass@1", "imitated", "pass@1", "reward", "entropy", "sampler_kl"]
        shown += ["tokens_per_second", "wait_seconds", "train_seconds"]
        said = "  ".join(f"{name} {figures[name]:.3g}" for name in shown if name in figures)
        print(f"{seconds:6.1f} s  step {step:3}  {said}", flush=True)

    def close(self):
        pass


def main() -> None:
    asked = options.parse_args()
    lesson = LESSONS[asked.lesson]
    began = time.perf_counter()
    policy = open_policy(asked.model, context_tokens=2048)
    print(f"{time.perf_counter() - began:6.1f} s  opened {policy.name} on {policy.device}")
    config = TrainConfig(
        run_dir=asked.folder,
        algorithm="grpo",
        steps=asked.steps,
        tasks_per_step=32,
        samples=16,
        updates_per_batch=2,
        learning_rate=asked.rate,
        reply_tokens=64,
        token_budget=131_072,
        eval_every=10,
        checkpoint_every=20,
        seed=asked.seed,
        warm_up=WarmUp(
            steps=lesson.updates,
            batch=32,
            rounds=lesson.rounds,
            temperature=0.7,
            learning_rate=3e-5,
        ),
        engine=RunConfig(worker_num=asked.workers, tasks_per_worker=64, timeout=600),
    )
    examined = 200
    if asked.small:
        warm_up = replace(config.warm_up, steps=1, batch=2, rounds=2)
        sizes = {"steps": 1, "tasks_per_step": 2, "samples": 2}
        config = replace(config, **sizes, warm_up=warm_up)
        examined = 2
    questions = tasks_of(lesson, 2200, asked.seed)
    random.Random(asked.seed).shuffle(questions)
    result = train(
        agent_of(lesson),
        questions[200:],
        last_number_is_right,
        config,
        policy=policy,
        held_out=questions[:examined],
        worked_examples=examples_of(lesson, count=6, seed=99),
        trackers=[Curve()],
    )
    seconds = time.perf_counter() - began
    summary = {
        "lesson": asked.lesson,
        "parameters": sum(weight.numel() for weight in policy.parameters()),
        "seconds": round(seconds, 1),
        "start": result.start,
        "evaluations": result.evaluations,
    }
    print(json.dumps(summary))
    (Path(asked.folder) / "summary.json").write_text(json.dumps(summary) + "\n")


if __name__ == "__main__":
    main()
