"""One training cycle: rollouts one after another, against rollouts at once.

    python benchmarks/training_cycle.py [--model byte|smollm2|FOLDER] [--tasks N] [--samples N]
                                        [--tool-seconds S] [--engines async,processes,ray]

Each cycle runs every task `samples` times through the policy server and trains on what came of it;
the learning rate is 0, so that all contenders sample from the same weights with the same seeds and
make the same tokens, up to rounding. Seconds are those of a cycle in the middle of a training: the
workers have been started before. With --tool-seconds every rollout waits for a slow tool between
two calls of the model; the bound is what one rollout takes alone, which no engine can undercut.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from aworld import ActionModel, RunConfig, Task
from aworld.core.context import current_task
from aworld.models.base import ModelReply, ModelRequest
from aworld.policies import ByteConfig, BytePolicy, Policy, open_policy
from aworld.train import TrainConfig, train

IN_TURN = "one after another"


class TwoCalls:
    """Asks the model, waits for a tool, and asks again."""

    name = "two calls"

    def __init__(self, model: Any, tool_seconds: float):
        self.model = model
        self.tool_seconds = tool_seconds

    async def async_policy(self, observation: Any, info: Any = None, **_: Any) -> Any:
        messages = [{"role": "user", "content": observation.content}]
        first = await self._ask(messages)
        await asyncio.sleep(self.tool_seconds)
        reply = await self._ask([*messages, first.message, {"role": "user", "content": "go on"}])
        return [ActionModel(policy_info=reply.text, agent_name=self.name)]

    async def _ask(self, messages: list[dict[str, Any]]) -> ModelReply:
        reply, record = await self.model.ask(ModelRequest(messages))
        current_task().record({"action": reply.message, "model_call": record})
        return reply


def of_even_ids(task: Task, trajectory: Any) -> float:
    """Something that differs within a group, so that all of it is trained on."""
    tokens = [token for step in trajectory.steps for token in step["model_call"]["completion_ids"]]
    return sum(token % 2 == 0 for token in tokens) / len(tokens)


def cycle(policy: Policy, engine: RunConfig, options: argparse.Namespace) -> dict[str, float]:
    in_turn = engine.worker_num == 1 and engine.tasks_per_worker == 1
    tasks = [Task(f"question {n}", id=str(n)) for n in range(options.tasks)]
    with tempfile.TemporaryDirectory() as folder:
        config = TrainConfig(
            run_dir=folder,
            steps=1 if in_turn else 2,  # the first starts the workers and is left out
            tasks_per_step=options.tasks,
            samples=options.samples,
            learning_rate=0.0,
            reply_tokens=options.tokens,
            token_budget=131_072 if policy.device.type == "cuda" else 16_384,
            checkpoint_every=1000,
            engine=engine,
        )
        made = train(
            lambda model: TwoCalls(model, options.tool_seconds),
            tasks,
            of_even_ids,
            config,
            policy=policy,
        )
    found = dict(made.history[-1])
    if in_turn:  # without the start of its worker
        found["seconds"] += found["rollout_seconds"] - found["wait_seconds"]
        found["wait_seconds"] = found["rollout_seconds"]
    return found


def contenders(options: argparse.Namespace) -> dict[str, RunConfig]:
    count, each = options.tasks * options.samples, options.workers
    share = -(-count // each)
    known = {
        IN_TURN: RunConfig(worker_num=1, tasks_per_worker=1),
        "async": RunConfig(worker_num=1, tasks_per_worker=count),
        "processes": RunConfig(worker_num=each, tasks_per_worker=share),
        "ray": RunConfig(engine_name="ray", worker_num=each, tasks_per_worker=share),
    }
    wanted = [IN_TURN, *options.engines.split(",")]
    return {name: known[name] for name in wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="byte")
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=16, help="of each of the two replies")
    parser.add_argument("--tool-seconds", type=float, default=0.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engines", default="async,processes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.model == "byte":
        policy: Policy = BytePolicy(ByteConfig(width=64, layers=2, inner=168, context_tokens=256))
    else:
        policy = open_policy(options.model, context_tokens=1024)
    policy.stop_ids = frozenset()  # every reply has the same length
    count = options.tasks * options.samples
    title = f"{policy.name} on {policy.device}: {count} rollouts in a cycle"
    table = Table("", "rollouts, s", "training, s", "cycle, s", "ratios", "", title=title)
    first: dict[str, float] | None = None
    for name, engine in contenders(options).items():
        found = cycle(policy, engine, options)
        first = first or found
        seconds = [found[part] for part in ("wait_seconds", "train_seconds", "seconds")]
        ratios = [first["wait_seconds"] / seconds[0], first["seconds"] / seconds[2]]
        table.add_row(name, *(f"{one:,.2f}" for one in seconds), *(f"{one:.1f}" for one in ratios))
    if first is not None and options.tool_seconds:
        alone = first["wait_seconds"] / count
        table.add_row("the bound: one alone", f"{alone:,.2f}", "", "", f"{count:.1f}", "")
    Console().print(table)
    Console().print(f"{policy.name}: {2 * options.tokens * count:,} tokens in each cycle")


if __name__ == "__main__":
    main()
