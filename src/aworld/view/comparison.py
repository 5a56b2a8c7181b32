"""Two runs task by task: what got better, what got worse."""

from __future__ import annotations

from typing import Any

from aworld.evaluation.comparing import compare_runs
from aworld.view.library import Library

MOST_CHANGES = 2_000
LISTS = ("changes", "only_first", "only_second", "changed")


def side_by_side(library: Library, first: str, second: str) -> dict[str, Any]:
    """Lists may be cut short; `counts` says how long they are."""

    def make() -> dict[str, Any]:
        with library.open(first) as one, library.open(second) as other:
            data = compare_runs(one, other).to_dict()
        counts = {name: len(data[name]) for name in LISTS}
        short = {name: data[name][:MOST_CHANGES] for name in LISTS}
        return {**data, **short, "counts": counts, "names": [first, second]}

    return library.remembered(f"beside {second} {library.mark(second)}", first, make)
