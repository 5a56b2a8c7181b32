"""A training while it goes on: a line for each step, and at a terminal a bar below them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from aworld.cli.board import as_time
from aworld.cli.display import REFRESHED
from aworld.cli.output import console

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = {  # name of a figure, and how it is said
    "reward": "reward {:.3f}",
    "success": "success {:.0%}",
    "loss": "loss {:.3g}",
    "entropy": "entropy {:.3f}",
    "kl": "kl {:.3g}",
    "sampler_kl": "sampler kl {:.2g}",
    "tokens_per_second": "{:.0f} tokens/s",
    "pass@1": "pass@1 {:.3f}",
}


class TrainScreen:
    """A tracker: it is told the figures of each step, in the thread that trains."""

    def __init__(self, steps: int, *, before: int = 0, quiet: bool = False):
        self.steps = steps
        self.step = before
        self.asked = ""  # what it was asked for meanwhile, in words
        self._quiet = quiet
        self._console = console(error=True)
        self._live: Any = None
        self._before = before
        self._began = self._last = time.monotonic()

    @property
    def is_live(self) -> bool:
        return self._live is not None

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self.step, self._last = step, time.monotonic()
        if not self._quiet:
            self._console.print(_line_of(step, self.steps, figures), soft_wrap=True)

    def close(self) -> None:
        """The screen outlives the training: how that ended is still to be said."""

    def __enter__(self) -> Self:
        if not self._quiet and self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                get_renderable=self._picture,
                refresh_per_second=REFRESHED,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def state(self) -> str:
        """`step 3/20 for 0:05, 1:40 left`."""
        now = f"step {min(self.step + 1, self.steps)}/{self.steps}"
        parts = [f"{now} for {as_time(time.monotonic() - self._last)}"]
        done = self.step - self._before
        if done > 0:
            each = (self._last - self._began) / done
            parts.append(f"{as_time(each * (self.steps - self.step))} left")
        return ", ".join(parts)

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self.steps, completed=self.step, width=40)
        line.add_row(bar, Text(self.state(), style="bold"))
        return Group(line, Text(self.asked, style="yellow")) if self.asked else line


def _line_of(step: int, steps: int, figures: Mapping[str, float]) -> str:
    """`step 3/20: reward 0.512, success 100%, ...`; before the first step, how good it is then."""
    if "start_pass@1" in figures or "start_eval_reward" in figures:
        named = {name.removeprefix("start_"): value for name, value in figures.items()}
        return f"before the warm-up: {_shown(named)}"
    if not step:
        return f"before the first step: {_shown(figures)}"
    trained = ""
    if figures.get("trained") != figures.get("episodes"):
        trained = f", {figures.get('trained', 0):.0f} of {figures['episodes']:.0f} episodes trained"
    return f"step {step}/{steps}: {_shown(figures)}{trained}"


def _shown(figures: Mapping[str, float]) -> str:
    said = [words.format(figures[name]) for name, words in SHOWN.items() if name in figures]
    if "reward" not in figures and "eval_reward" in figures:
        said.append(f"reward {figures['eval_reward']:.3f}")
    return ", ".join(said)
