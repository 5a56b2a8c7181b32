"""One page of the results of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aworld.cli.output import console, print_json, say
from aworld.core.shown import harmless, shortened
from aworld.errors import ConfigError
from aworld.store.overview import Overview, overview

if TYPE_CHECKING:
    from aworld.store.reader import Run
    from aworld.store.records import Rollout

PER_PAGE = 25
LONGEST_ID = 40
LONGEST_ANSWER = 80


def show(run: Run, *, where: str | None, number: int, as_json: bool) -> int:
    offset = (number - 1) * PER_PAGE
    found = list(run.rollouts(where, offset=offset, limit=PER_PAGE + 1))
    rollouts, more = found[:PER_PAGE], len(found) > PER_PAGE
    if number > 1 and not rollouts:
        raise ConfigError(f"there is no page {number}")
    summed = overview(run)
    if as_json:
        results = [_row(rollout) for rollout in rollouts]
        print_json({"run": summed.to_dict(), "page": number, "more": more, "results": results})
    else:
        _print(summed, rollouts, with_samples=run.samples > 1)
        if more:
            say(f"more: --page {number + 1}")
    for damage in run.damage:
        say(harmless(f"damaged, left out: {damage.task or damage.slot}: {damage.reason}"))
    return 0


def _print(run: Overview, rollouts: list[Rollout], *, with_samples: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from aworld.progress import COLOURS

    screen = console()
    counts = ", ".join(f"{count} {status}" for status, count in run.counts.items()) or "no results"
    reward = "" if run.reward is None else f"; mean reward {run.mean} by {run.scored_by}"
    screen.print(harmless(f"{run.folder}: {run.status}, {run.progress} done ({counts}){reward}"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task")
    table.add_column("status")
    for title in ("reward", "seconds", "tokens"):
        table.add_column(title, justify="right")
    table.add_column("answer, or why there is none")
    for rollout in rollouts:
        row = _row(rollout)
        reward = "-" if row["reward"] is None else f"{row['reward']:.3f}"
        name = shortened(row["task"], LONGEST_ID)
        table.add_row(
            Text(harmless(f"{name}#{row['sample']}" if with_samples else name)),
            Text(row["status"], style=COLOURS.get(row["status"], "")),
            reward,
            f"{row['seconds']:.2f}",
            str(row["tokens"]),
            Text(harmless(shortened(_said(row), LONGEST_ANSWER))),
        )
    if rollouts:
        screen.print(table)


def _row(rollout: Rollout) -> dict[str, Any]:
    response = rollout.response
    usage, trajectory = response.usage, response.trajectory
    spent = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
    return {
        "task": rollout.task.id,
        "sample": rollout.sample,
        "status": response.status,
        "reward": rollout.reward,
        "seconds": response.time_cost,
        "tokens": (trajectory and trajectory.token_count) or spent,
        "answer": response.answer,
        "error": response.msg or None,
    }


def _said(row: dict[str, Any]) -> str:
    text = row["error"] if row["error"] and row["answer"] is None else str(row["answer"])
    return " ".join(text.split())
