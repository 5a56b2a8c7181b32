"""What came of a rollout, and what it was worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from aworld.cli.blocks import block, said
from aworld.core.shown import harmless
from aworld.progress import COLOURS

if TYPE_CHECKING:
    from aworld.store.records import Rollout


def outcome(rollout: Rollout, *, scored_by: str) -> Iterator[RenderableType]:
    response, usage = rollout.response, rollout.response.usage
    if response.error is not None:
        yield Text("error", style="bold red")
        yield block(response.error.traceback or response.msg)
    yield Text("--", style="dim")
    status = Text(response.status, style=COLOURS.get(response.status, "bold"))
    status.append(f" in {response.time_cost:.2f} s", style="default")
    if response.attempts > 1:
        status.append(f", at attempt {response.attempts}", style="default")
    yield status
    if response.success or response.answer is not None:
        yield from said("answer", response.answer)
    if rollout.task.ground_truth is not None:
        yield from said("ground truth", rollout.task.ground_truth)
    if usage:
        yield Text(
            f"{usage.get('model_calls', 0)} model calls, {usage.get('prompt_tokens', 0)} + "
            f"{usage.get('completion_tokens', 0)} tokens, cost {usage.get('cost', 0.0):.4g}",
            style="dim",
        )
    yield from _scores(rollout, scored_by)


def _scores(rollout: Rollout, scored_by: str) -> Iterator[RenderableType]:
    for name, one in rollout.scores.items():
        yield _score(name, one.value, one.parts, one.reason, one.error and one.error.message)
    trajectory = rollout.response.trajectory
    if scored_by and scored_by not in rollout.scores:  # where it was made
        more = {} if trajectory is None else trajectory.metadata.get("scored") or {}
        error = (more.get("error") or {}).get("message")
        parts = more.get("parts") or {}
        yield _score(scored_by, rollout.reward, parts, more.get("reason"), error)


def _score(
    name: str, value: float | None, parts: Mapping[str, float], reason: Any, error: Any
) -> Text:
    text = Text(f"reward by {harmless(name)}", style="bold")
    text.append(f": {'not known' if value is None else f'{value:g}'}", style="default")
    if parts:
        named = ", ".join(f"{harmless(part)} {number:g}" for part, number in parts.items())
        text.append(f" ({named})", style="default")
    for words, style in ((reason, "dim"), (error, "red")):
        if words:
            text.append(f"\n  {harmless(str(words), lines=True)}", style=style)
    return text
