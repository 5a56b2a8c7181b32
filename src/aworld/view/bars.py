"""The timeline of a run as bytes: one bar for each result, all 100,000 of them in one small reply.

Two floats of 8 bytes (the moment that all others count from, and up to when results are in here),
the number of bars and their samples per task as unsigned integers of 4 bytes; then, each for all
bars: beginning in 8 bytes, slot, worker (-1: not known), seconds and reward (NaN: none) in 4, and
the place of the status in STATUSES in 1. Little-endian.
"""

from __future__ import annotations

import math
import sqlite3
import struct
import sys
from array import array

from aworld.core.failure import STATUSES
from aworld.store.reader import Run
from aworld.view.figures import rows_of

PLACE = {status: place for place, status in enumerate(STATUSES)}
NONE = math.nan


def bars_of(run: Run, *, since: float = 0.0) -> bytes:
    """Those that were recorded after `since`, in the order in which they were."""
    rows = rows_of(run)
    query = f"select slot, worker, began, seconds, reward, status, ended from ({rows})"
    found = []
    try:
        for row in run.connection.execute(f"{query} where ended > ? order by ended", (since,)):
            found.append(row)
    except sqlite3.DatabaseError:  # a page is damaged: what came before it is shown
        pass
    base = min((row[2] for row in found), default=since)
    until = max((row[6] for row in found), default=since)
    slots = array("I", [row[0] & 0xFFFFFFFF for row in found])
    workers = array("i", [-1 if row[1] is None else row[1] & 0x7FFFFFFF for row in found])
    began = array("d", [row[2] - base for row in found])
    seconds = array("f", [row[3] for row in found])
    rewards = array("f", [NONE if row[4] is None else row[4] for row in found])
    statuses = bytes(PLACE.get(row[5], 255) for row in found)
    columns = (began, slots, workers, seconds, rewards)
    if sys.byteorder == "big":
        for column in columns:
            column.byteswap()
    head = struct.pack("<ddII", base, until, len(found), run.samples)
    return b"".join([head, *(column.tobytes() for column in columns), statuses])
