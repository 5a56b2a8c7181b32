"""Chooses results by a condition in SQL: `reward > 0.5 and status = 'success'`."""

from __future__ import annotations

import sqlite3

from aworld.errors import ConfigError
from aworld.store.scores import reward_column

# What a condition can speak of.
VIEW = """
select r.slot as slot, t.id as task, r.slot % {samples} as sample, r.status as status,
    {reward} as reward, r.seconds as seconds, r.tokens as tokens, r.cost as cost,
    r.attempts as attempts, r.round as round, r.ended as ended,
    {facts} '$.metadata') end as metadata,
    {facts} '$.metadata.level') end as level,
    {facts} '$.metadata.tags') end as tags
from results r left join tasks t on t.position = r.slot / {samples}
"""
# NaN and the like are no JSON to SQLite: such a task has no facts, but it is there
FACTS = "case when json_valid(cast(t.body as text)) then json_extract(cast(t.body as text),"
COLUMNS = ("task", "sample", "status", "reward", "seconds", "tokens", "cost", "attempts", "round")
COLUMNS += ("ended", "metadata", "level", "tags")

FAR = 2**62  # beyond every slot, and still a number to SQLite
ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)


def chosen_slots(
    connection: sqlite3.Connection,
    where: str | None,
    *,
    samples: int,
    scoring: int,
    offset: int = 0,
    limit: int | None = None,
) -> list[int]:
    """The slots of the results that fit, in order."""
    most = -1 if limit is None else min(int(limit), FAR)
    page = f"order by slot limit {most} offset {min(int(offset), FAR)}"
    if where is None:
        return [slot for (slot,) in connection.execute(f"select slot from results {page}")]
    view = VIEW.format(samples=int(samples), reward=reward_column(scoring), facts=FACTS)
    connection.set_authorizer(_reading_only)
    try:
        rows = connection.execute(f"select slot from ({view}) where ({where}\n) {page}")
        return [slot for (slot,) in rows]
    except sqlite3.DatabaseError as error:
        mistaken = isinstance(error, (sqlite3.OperationalError, sqlite3.ProgrammingError))
        if mistaken or "not authorized" in str(error):
            raise ConfigError(
                f"the condition {where!r} cannot be read: {error}; it may use "
                f"{', '.join(COLUMNS)}, as in: reward > 0.5 and status = 'success'"
            ) from None
        raise
    finally:
        connection.set_authorizer(None)


def _reading_only(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY
