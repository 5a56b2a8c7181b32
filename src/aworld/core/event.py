"""What is seen of a task while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from aworld.core.task import TaskResponse

EventKind = Literal["text", "retry", "tool_call", "tool_result", "finished"]


@dataclass(frozen=True, slots=True)
class Event:
    """A piece of the model's text, a tool call, its result, or the end with the response.

    After `retry` the model is asked again: the text of its reply until then does not count.
    """

    kind: EventKind
    agent: str = ""
    text: str = ""
    tool: str = ""
    arguments: str = ""
    id: str | None = None  # of the tool call
    response: TaskResponse | None = None
