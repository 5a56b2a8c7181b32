"""A page of a run's results, as a table shows them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aworld.core.shown import shortened
from aworld.errors import ConfigError, DamagedError
from aworld.evaluation.judging import labels_in
from aworld.store.live import read_live
from aworld.store.reader import Run
from aworld.view.choosing import chosen
from aworld.view.wording import one_line

MOST_ROWS = 500
LONGEST = 200  # characters of an input or an answer
BIG = 2_000_000  # bytes of a record that is not opened for a line in a table
PATIENCE = 8.0  # seconds for a search
MOST_LABELLED = 20_000  # tasks that are looked through for their tags
COLUMNS = (
    "r.slot, t.id, r.status, r.reward, r.seconds, r.tokens, r.cost, r.attempts, r.round, "
    "r.worker, r.failure, r.began, r.ended, "
    "(select length(b.body) from bodies b where b.slot = r.slot)"
)


def page_of(run: Run, asked: Mapping[str, str]) -> dict[str, Any]:
    """How many results fit, and some of them."""
    if asked.get("status") == "running":
        return _running(run)
    choice = chosen(asked)
    offset, limit = _whole(asked, "offset", 0), min(_whole(asked, "limit", 50), MOST_ROWS)
    page = f"order by {choice.order} limit {limit} offset {offset}"
    with _in_time(run.connection):
        counted = run.connection.execute(choice.query(run, "count(*)"), choice.values)
        (count,) = counted.fetchone()
        query = f"{choice.query(run, COLUMNS)} {page}"
        rows = run.connection.execute(query, choice.values).fetchall()
    return {"count": count, "offset": offset, "rows": [_row(run, row) for row in rows]}


def beside(run: Run, slot: int, asked: Mapping[str, str]) -> dict[str, int | None]:
    """The results before and after this one, among those that were chosen."""
    choice = chosen({**asked, "sort": "slot"})
    found: dict[str, int | None] = {}
    with _in_time(run.connection):
        for name, sign, order in (("previous", "<", "desc"), ("next", ">", "asc")):
            query = f"{choice.query(run, 'r.slot')} and r.slot {sign} :here"
            row = run.connection.execute(
                f"{query} order by slot {order} limit 1", {**choice.values, "here": slot}
            ).fetchone()
            found[name] = None if row is None else row[0]
    return found


def labels_of(run: Run) -> dict[str, list[str]]:
    """The tags and levels that can be chosen by."""
    tags: dict[str, None] = {}
    levels: dict[str, None] = {}
    for number, (_, task) in enumerate(run.tasks()):
        if number >= MOST_LABELLED:
            break
        of_task, level = labels_in(task.metadata)
        tags |= dict.fromkeys(of_task)
        if level is not None:
            levels[level] = None
    return {"tags": sorted(tags)[:200], "levels": sorted(levels)[:200]}


@contextmanager
def _in_time(connection: sqlite3.Connection) -> Iterator[None]:
    """A search through a large run is broken off before everybody waits for it."""
    deadline = time.monotonic() + PATIENCE
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
    try:
        yield
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        raise ConfigError(
            f"the search took longer than {PATIENCE:g} s: choose by status, reward or worker first"
        ) from None
    finally:
        connection.set_progress_handler(None, 0)


def _row(run: Run, row: tuple[Any, ...]) -> dict[str, Any]:
    (slot, task, status, reward, seconds, tokens, cost, attempts, round_number) = row[:9]
    (worker, failure, began, ended, size) = row[9:]
    found = {
        "slot": slot,
        "task": task,
        "sample": slot % run.samples,
        "status": status,
        "reward": reward,
        "seconds": seconds,
        "tokens": tokens,
        "cost": cost,
        "attempts": attempts,
        "round": round_number,
        "worker": worker,
        "failure": failure,
        "began": began,
        "ended": ended,
    }
    if size is not None and size > BIG:
        return {**found, "input": "", "answer": f"({size // 1_000_000} MB: open it to see)"}
    try:
        rollout = run.rollout_at(slot)
    except (DamagedError, LookupError) as error:
        return {**found, "input": "", "answer": "", "damaged": str(error)}
    response = rollout.response
    said = response.msg if response.msg and response.answer is None else response.answer
    return {
        **found,
        "input": shortened(one_line(rollout.task.input), LONGEST),
        "answer": "" if said is None else shortened(one_line(said), LONGEST),
    }


def _running(run: Run) -> dict[str, Any]:
    live = read_live(run.folder)
    rows = []
    for running in () if live is None else live.running[:MOST_ROWS]:
        position, sample = divmod(running.slot, run.samples)
        try:
            task = run.task_at(position)
        except (DamagedError, LookupError):  # it is not written down yet
            continue
        rows.append(
            {
                "slot": running.slot,
                "task": task.id,
                "sample": sample,
                "status": "running",
                "worker": running.worker,
                "began": running.began,
                "seconds": max(time.time() - running.began, 0.0),
                "input": shortened(one_line(task.input), LONGEST),
                "answer": "",
            }
        )
    return {"count": 0 if live is None else live.count, "offset": 0, "rows": rows}


def _whole(asked: Mapping[str, str], name: str, usual: int) -> int:
    text = asked.get(name) or str(usual)
    if not text.isdecimal() or len(text) > 9:
        raise ConfigError(f"{name} must be a whole number, got {text!r:.40}")
    return int(text)
