"""Figures of runs: of one that is recorded, of one that is run for them, by another reward."""

from __future__ import annotations

import difflib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli import driving, specs
from aworld.cli.finding import damage_told, found_run, run_folder
from aworld.cli.job import prepared
from aworld.cli.output import console, print_json, say
from aworld.cli.places import RUNS
from aworld.cli.settings import Tables
from aworld.core.shown import as_word, harmless, shortened
from aworld.errors import ConfigError
from aworld.store.overview import Overview, overview, runs_in

if TYPE_CHECKING:
    from aworld.evaluation import Evaluation
    from aworld.rescoring import OnProgress, Rescored
    from aworld.store.reader import Run

MOST_ERRORS = 5
WHICH_REWARD = "which reward? as in --reward exact_match"


def refuse(run: str, given: list[str]) -> None:
    if given:
        raise ConfigError(
            f"{run} is a recorded run, and is not run again: leave out {', '.join(given)}"
        )


def recorded(name: str, rewards: list[str], how: dict[str, Any], *, as_json: bool) -> int:
    """What the recorded scores say; `rewards` may name those to go by."""
    if len(rewards) > 1:
        raise ConfigError("several rewards: score the run by them first, with `aworld rescore`")
    with found_run(name, reward=rewards[0] if rewards else None) as run:
        evaluation = _assessed(run, how)
        summed = overview(run)
        damaged = len(run.damage)
    if as_json:
        print_json({"run": summed.to_dict(), "evaluation": evaluation.to_dict()})
    elif not summed.is_unscored:
        console().print(evaluation)
        console().print(f"{summed.status}, {summed.progress} recorded: {summed.folder}")
    if damaged:
        folder = as_word(summed.folder)
        say(f"{driving.damaged_in_words(damaged)}, left out: see `aworld doctor {folder}`")
    if summed.is_unscored:
        say(_nothing_scored(summed))
        return driving.SOME_FAILED
    return driving.ALL_DONE


def _nothing_scored(run: Overview) -> str:
    return harmless(
        f"nothing is scored: {run.scored_by!r} gave no reward to any of {run.done} results; score "
        f"them with `aworld rescore {as_word(run.folder)} --reward ...`"
    )


def run_first(tables: Tables, how: dict[str, Any], *, quiet: bool, as_json: bool) -> int:
    _check_there(tables["command"]["tasks"])
    if not tables["command"]["reward"]:
        raise ConfigError(WHICH_REWARD)
    job = prepared(tables)
    for remark in job.remarks:
        say(remark)
    with driving.driven(job.stream(), job.folder, quiet=quiet) as ending:
        if ending.discarded:
            return driving.told(ending, as_json=as_json)
        with found_run(str(job.folder)) as run:
            evaluation = _assessed(run, how)
        return _both_told(ending, evaluation, as_json=as_json)


def _check_there(what: str) -> None:
    """A mistyped run is no source of tasks that lacks a reward."""
    if what == "-" or ":" in what or specs.is_there(what):
        return
    runs = [str(run) for run in {*runs_in(Path(what).parent), *runs_in(RUNS)}]
    close = difflib.get_close_matches(what, runs, n=1)
    meant = f"; did you mean {close[0]}?" if close else ""
    raise ConfigError(f"there is no file, folder or run {what!r}{meant}")


def _both_told(ending: driving.Ending, evaluation: Evaluation, *, as_json: bool) -> int:
    """What came of the run, and what it is worth."""
    if as_json:
        print_json({"run": ending.to_dict(), "evaluation": evaluation.to_dict()})
    else:
        driving.report(ending)
        if not ending.run.is_unscored:
            console().print(evaluation)
    driving.last_words(ending)
    if ending.run.is_unscored:
        say(_nothing_scored(ending.run))
        return ending.exit_code or driving.SOME_FAILED
    return ending.exit_code


def rescored(run: str, rewards: list[str], *, quiet: bool, as_json: bool, **how: Any) -> int:
    from aworld.rescoring import rescore

    folder = run_folder(run)
    specs.look_in()
    reward = specs.reward_of(rewards)
    if reward is None:
        raise ConfigError(WHICH_REWARD)
    with damage_told(folder):
        scored = rescore(folder, reward, on_progress=None if quiet else _counted(), **how)
    with found_run(str(folder)) as opened:
        summed = overview(opened)
    failed = scored.errors or not scored.recorded
    if as_json:
        print_json({"run": summed.to_dict(), **scored._asdict()})
    elif scored.recorded:
        console().print(
            f"{scored.scored} scored as {scored.name!r}, mean reward {summed.mean}; "
            f"{scored.unscored} without a score: {folder}"
        )
    if not scored.recorded:
        none = f"0 of {scored.unscored} scored by {scored.name!r}"
        say(f"{none}: nothing is recorded, {folder} is as it was")
    if not as_json or not scored.recorded:
        _tell_errors(scored)
    return driving.SOME_FAILED if failed else driving.ALL_DONE


def _assessed(run: Run, how: dict[str, Any]) -> Evaluation:
    from aworld.evaluation import assess, judged_of_run

    return assess(judged_of_run(run), **how)


def _tell_errors(scored: Rescored) -> None:
    for response, error in scored.errors[:MOST_ERRORS]:
        said = f"{error.kind}: {error.message}" if error.message else error.kind
        say(shortened(harmless(f"{response}: {said}"), 200))
    if len(scored.errors) > MOST_ERRORS:
        say(f"and {len(scored.errors) - MOST_ERRORS} more errors")
    for damage in scored.damage[:MOST_ERRORS]:
        say(harmless(f"damaged, left out: {damage.task or damage.slot}: {damage.reason}"))


def _counted() -> OnProgress:
    """A line on a terminal, a few lines elsewhere."""
    terminal, told = sys.stderr.isatty(), time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= (0.1 if terminal else 2.0) or (terminal and done == total):
            told = now
            end = "\n" if not terminal or done == total else "\r"
            print(f"{done}/{total} scored", file=sys.stderr, end=end, flush=True)

    return show
