"""Scores that were given after a run. Those of earlier times are kept under their names."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

from aworld.core.failure import ErrorInfo
from aworld.rewards.base import Scored
from aworld.store.schema import checksum, salvaged


class Scoring(NamedTuple):
    """One time that the results were scored. Number 0 is the run itself."""

    number: int
    name: str
    spec: str = ""


def scorings_of(connection: sqlite3.Connection, in_run: str | None) -> list[Scoring]:
    """The latest last. An earlier one of the same name is called name~1, the one before it ~2."""
    rows = salvaged(connection, "select id, name, spec, at, crc from scorings", "id")
    later_ones = [Scoring(*row[:3]) for row in rows if checksum(row[:4]) == row[4]]
    given = [Scoring(0, in_run or ""), *later_ones]
    named: list[Scoring] = []
    later: dict[str, int] = {}
    for scoring in reversed(given):
        count = later.get(scoring.name, 0)
        later[scoring.name] = count + 1
        named.append(scoring._replace(name=f"{scoring.name}~{count}") if count else scoring)
    return named[::-1]


def reward_column(scoring: int) -> str:
    """In SQL: the reward that a scoring gave to the result `r`."""
    if not scoring:
        return "r.reward"
    chosen = f"s.scoring = {int(scoring)} and s.slot = r.slot"
    return f"(select s.value from scores s where {chosen})"


def scores_of(
    connection: sqlite3.Connection, scorings: list[Scoring], slot: int
) -> dict[str, Scored]:
    """Of one result, by the names of the scorings that were made after the run."""
    found = {}
    for scoring in scorings:
        if scoring.number:
            query = "select value, body, crc from scores where scoring = ? and slot = ?"
            row = connection.execute(query, (scoring.number, slot)).fetchone()
            if row is not None:
                found[scoring.name] = _scored(scoring, slot, *row)
    return found


def add_scoring(
    connection: sqlite3.Connection, name: str, spec: str, scores: Iterable[tuple[int, Scored]]
) -> None:
    """In the transaction of the caller."""
    (last,) = connection.execute("select max(id) from scorings").fetchone()
    number = (last or 0) + 1
    row = (number, name, spec, time.time())
    connection.execute("insert into scorings values (?, ?, ?, ?, ?)", (*row, checksum(row)))
    for slot, scored in scores:
        content = {key: part for key, part in asdict(scored).items() if part and key != "value"}
        body = json.dumps(content).encode()
        score = (number, slot, scored.value)
        row = (*score, body, checksum(score, body))
        connection.execute("insert into scores values (?, ?, ?, ?, ?)", row)


def _scored(scoring: Scoring, slot: int, value: float | None, body: bytes, crc: int) -> Scored:
    if checksum((scoring.number, slot, value), body) != crc:
        return Scored(error=ErrorInfo("DamagedError", "the score is not what was written"))
    content: dict[str, Any] = json.loads(body)
    error = content.get("error")
    return Scored(
        value,
        content.get("parts", {}),
        ErrorInfo(**error) if error else None,
        content.get("reason", ""),
    )
