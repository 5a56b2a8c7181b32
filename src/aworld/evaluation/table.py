"""An evaluation and a comparison as tables for a person."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from aworld.core.shown import harmless, plural, shortened
from aworld.statistics import Comparison, Estimate

if TYPE_CHECKING:
    from aworld.evaluation.comparing import RunComparison
    from aworld.evaluation.figures import Evaluation, Figures

LONGEST_NAME = 60
MOST_ROWS = 40  # tags or levels
MOST_CHANGES = 10
MOST_NAMES = 5
WIDTH = 100


def as_text(shown: RenderableType) -> str:
    """Without colours, for a log or a plain `print`."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, legacy_windows=False)
    console.print(shown)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines)


def _name(text: str) -> Text:
    """What somebody else has written. It can neither style nor steer the terminal."""
    return Text(shortened(harmless(text), LONGEST_NAME))


def evaluation_table(evaluation: Evaluation) -> Group:
    parts: list[RenderableType] = [_figures_table(evaluation)]
    parts += [Text(line) for line in _remarks(evaluation)]
    for name, slices in (("level", evaluation.by_level), ("tag", evaluation.by_tag)):
        if slices:
            parts.append(_slices_table(name, slices))
            if len(slices) > MOST_ROWS:
                parts.append(Text(f"and {len(slices) - MOST_ROWS} more"))
    return Group(*parts)


def comparison_table(comparison: RunComparison) -> Group:
    scores, (first, second) = comparison.scores, comparison.names
    table = Table("", "mean reward", _interval_title([scores.difference]), "tasks")
    count = str(scores.difference.count)
    table.add_row(_name(f"first: {first}"), _number(comparison.means[0]), "", count)
    table.add_row(_name(f"second: {second}"), _number(comparison.means[1]), "", count)
    table.add_row("difference", *_cells(scores.difference, sign=True))
    counts = f"{scores.better} better, {scores.worse} worse, {scores.same} the same"
    parts: list[RenderableType] = [table, Text(f"{counts}: {_verdict(scores)}")]
    if comparison.rewards[0] != comparison.rewards[1]:
        names = " and ".join(str(_name(name)) for name in comparison.rewards)
        parts.append(Text(f"scored by rewards of different names, {names}: are they comparable?"))
    for said, tasks in (
        ("only in the first", scores.only_first),
        ("only in the second", scores.only_second),
        ("not the same task in both, left out", comparison.changed),
    ):
        if tasks:
            parts.append(_named(f"{len(tasks)} {said}", tasks))
    if comparison.changes:
        parts.append(_changes_table(comparison))
    return Group(*parts)


def _figures_table(evaluation: Evaluation) -> Table:
    rows: list[tuple[str, Estimate]] = []
    if evaluation.reward is not None:
        rows.append(("reward", evaluation.reward))
    rows += [(f"pass@{k}", estimate) for k, estimate in evaluation.pass_at.items()]
    # pass^1 is pass@1
    rows += [(f"pass^{k}", estimate) for k, estimate in evaluation.pass_hat.items() if k > 1]
    table = Table("", "mean", _interval_title([estimate for _, estimate in rows]), "tasks")
    for name, estimate in rows:
        table.add_row(name, *_cells(estimate))
    return table


def _slices_table(name: str, slices: Mapping[str, Figures]) -> Table:
    ks = sorted({k for figures in slices.values() for k in figures.pass_at})
    shown = ks if len(ks) < 3 else [ks[0], ks[-1]]
    hats = shown[-1:] if ks and ks[-1] > 1 else []
    titles = (*(f"pass@{k}" for k in shown), *(f"pass^{k}" for k in hats))
    rewards = [figures.reward for figures in slices.values() if figures.reward is not None]
    table = Table(name, "tasks", "samples", "reward", _interval_title(rewards), *titles)
    for label, figures in list(slices.items())[:MOST_ROWS]:
        mean, between, _ = ("-", "-", "") if figures.reward is None else _cells(figures.reward)
        chances = [figures.pass_at.get(k) for k in shown] + [figures.pass_hat.get(k) for k in hats]
        cells = ("-" if one is None else _number(one.mean) for one in chances)
        row = (str(figures.tasks), str(figures.samples), mean, between, *cells)
        table.add_row(_name(label), *row)
    return table


def _changes_table(comparison: RunComparison) -> Table:
    more = len(comparison.changes) - MOST_CHANGES
    title = f"the largest of {len(comparison.changes)} changes" if more > 0 else "changes"
    table = Table("task", "first", "second", "change", title=title, title_justify="left")
    for change in comparison.changes[:MOST_CHANGES]:
        table.add_row(
            _name(change.task_id),
            _number(change.first),
            _number(change.second),
            f"{change.difference:+.3f}",
        )
    return table


def _remarks(evaluation: Evaluation) -> Iterable[str]:
    statuses = ", ".join(f"{n} {_name(name)}" for name, n in evaluation.statuses.items())
    yield (
        f"{plural(evaluation.tasks, 'task')}, {plural(evaluation.samples, 'sample')}"
        f"{f' ({statuses})' if statuses else ''}; passed means a reward of at least "
        f"{evaluation.passes_at:g}"
    )
    if evaluation.failures:
        yield (
            f"{plural(evaluation.failures, 'sample')} failed without a score: counted as not "
            "passed, and as 0 in the mean"
        )
    if evaluation.unscored:
        yield (
            f"{plural(evaluation.unscored, 'sample')} left out: cancelled, skipped, or without a "
            "score although they succeeded"
        )
    for k, tasks in evaluation.left_out.items():
        yield f"k={k}: {plural(tasks, 'task')} left out, with fewer samples that count"


def _verdict(scores: Comparison) -> str:
    difference = scores.difference
    if not scores.better + scores.worse:
        return "no difference"
    if difference.low is None or difference.high is None:
        return "one task says nothing of others"
    if difference.low <= 0 <= difference.high:
        return "it may be chance"
    return "the second is better" if difference.low > 0 else "the first is better"


def _named(said: str, tasks: tuple[str, ...]) -> Text:
    text = Text(f"{said}: ")
    text.append_text(Text(", ").join(_name(task) for task in tasks[:MOST_NAMES]))
    return text.append(", ..." if len(tasks) > MOST_NAMES else "")


def _cells(estimate: Estimate, *, sign: bool = False) -> tuple[str, str, str]:
    mean = f"{estimate.mean:+.3f}" if sign else _number(estimate.mean)
    if estimate.low is None or estimate.high is None:
        return mean, "-", str(estimate.count)
    between = (
        f"{estimate.low:+.3f} to {estimate.high:+.3f}"
        if sign
        else f"{_number(estimate.low)} to {_number(estimate.high)}"
    )
    return mean, between, str(estimate.count)


def _interval_title(estimates: list[Estimate]) -> str:
    return f"{100 * estimates[0].confidence:g} % interval" if estimates else "interval"


def _number(value: float) -> str:
    return f"{value:.3f}"
