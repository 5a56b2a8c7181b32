"""`aworld demo`: 20 questions to an agent with a calculator. No key and no server are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.cli import options

if TYPE_CHECKING:
    from aworld.store.reader import Run


def demo(out: options.Out = None, quiet: options.Quiet = False) -> int:
    """Show what aworld does: 20 questions to an agent with a calculator."""
    from aworld.cli import driving
    from aworld.cli.job import prepared
    from aworld.cli.output import say
    from aworld.cli.places import free_folder
    from aworld.store.reader import open_run

    module = "aworld.cli.demo_tasks"
    folder = free_folder("demo") if out is None else out
    job = prepared(
        {
            "run": {"worker_num": 2, "tasks_per_worker": 4, "timeout": 120, "run_dir": str(folder)},
            "command": {
                "tasks": f"{module}:questions",
                "agent": f"{module}:Calculating",
                "reward": ["contains"],
            },
        }
    )
    say(job.agent.remark)
    with driving.driven(job.stream(), job.folder, quiet=quiet) as ending:
        if not ending.discarded:
            with open_run(job.folder) as run:
                _print_answers(run)
        return driving.told(ending, as_json=False)


def _print_answers(run: Run) -> None:
    from rich.table import Table
    from rich.text import Text

    from aworld.cli.output import console
    from aworld.core.shown import harmless, shortened

    table = Table("question", "the agent calculated", "its answer", "right?")
    for rollout in run.rollouts():
        response = rollout.response
        steps = response.trajectory.steps if response.trajectory else []
        used = [str(call["result"]) for step in steps for call in step.get("tool_calls") or ()]
        answer = str(response.msg if response.answer is None else response.answer)
        table.add_row(
            str(rollout.task.input),
            Text(harmless(", ".join(used))),
            Text(shortened(harmless(answer), 60)),
            "yes" if rollout.reward else "",
        )
    console().print(table)
