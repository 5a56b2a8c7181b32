"""Changes to the database of a recorded run, as no program of ours makes them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from aworld.store.schema import FILE


def change(folder: Path, statement: str, *values: Any) -> None:
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute(statement, values)
    connection.close()  # which leaving the `with` does not do
