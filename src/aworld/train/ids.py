"""The names that chosen tasks run under: `q7@3` is the fourth that was chosen, of the task `q7`."""

from __future__ import annotations


def original(chosen_id: str) -> str:
    """The id of the user's task: that of `q7@3` is `q7`."""
    return chosen_id.rpartition("@")[0] or chosen_id


def number_of(chosen_id: str) -> int:
    """The how-manieth it was."""
    return int(chosen_id.rpartition("@")[2])
