"""A response as one record, in which a repeated message is kept once.

Every model call of a trajectory holds the whole conversation so far. In the record the parts of it
(messages, lists of tools) stand once, in `parts`, and are referred to by their number there. A part
that other records have too stands in the run's table of messages; `rows` says in which row.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from aworld.core.failure import ErrorInfo
from aworld.core.task import TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.errors import DamagedError
from aworld.store.blobs import BIG
from aworld.store.encoding import json_of

REPEATED = "$"  # the key, in a step, of what is kept in `parts`
SMALL = 100  # a shorter part is not worth a row of its own
MOST_SEEN = 500_000  # parts that are remembered, to know them when they come again


class SharedParts:
    """Which parts have a row of their own: those that came a second time."""

    def __init__(self, rows: dict[bytes, int], last_row: int):
        self._rows = rows
        self._last_row = last_row
        self._seen: set[int] = set()  # hashes: what is alike by chance gets a row in vain, no more
        self.new: list[tuple[int, bytes, bytes]] = []  # to be written with the record that has them

    def row_of(self, part: bytes) -> int | None:
        if not SMALL <= len(part) < BIG:
            return None
        mark = hash(part)
        if mark not in self._seen:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            self._seen.add(mark)
            return None
        digest = blake2b(part, digest_size=16).digest()
        row = self._rows.get(digest)
        if row is None:
            row = self._rows[digest] = self._last_row = self._last_row + 1
            self.new.append((row, digest, part))
        return row


class _Parts:
    """The parts of one record."""

    def __init__(self, shared: SharedParts):
        self._row_of = shared.row_of
        self._by_identity: dict[int, int] = {}  # one object is mostly used in many places
        self._by_content: dict[bytes, int] = {}
        self.contents: list[bytes] = []
        self.rows: dict[int, int] = {}  # of the parts that stand in the table of messages

    def number_of(self, value: Any) -> int:
        known = self._by_identity
        if id(value) in known:
            return known[id(value)]
        content = json_of(value)
        number = self._by_content.setdefault(content, len(self.contents))
        if number == len(self.contents):
            row = self._row_of(content)
            if row is not None:
                self.rows[number] = row
            self.contents.append(content if row is None else b"null")
        known[id(value)] = number
        return number

    def numbers_of(self, values: list[Any]) -> list[int]:
        known = self._by_identity
        return [
            known[id(value)] if id(value) in known else self.number_of(value) for value in values
        ]


def packed(response: TaskResponse, shared: SharedParts) -> bytes:
    """As JSON."""
    trajectory, error = response.trajectory, response.error
    record: dict[str, Any] = {}
    if not _is_last_action(response):
        record["answer"] = response.answer
    if error is not None:
        record["error"] = [error.kind, error.message, error.traceback]
    if response.usage:
        record["usage"] = response.usage
    if trajectory is None:
        return b'{"response":%b}' % json_of(record)
    record["agent_id"] = trajectory.agent_id
    record["token_count"] = trajectory.token_count
    record["execution_time"] = trajectory.execution_time
    record["metadata"] = trajectory.metadata
    parts = _Parts(shared)
    record["steps"] = [_packed_step(step, parts) for step in trajectory.steps]
    record["rows"] = parts.rows
    return b'{"parts":[%b],"response":%b}' % (b",".join(parts.contents), json_of(record))


def _is_last_action(response: TaskResponse) -> bool:
    """Whether the answer stands in the trajectory already, as it does for most functions."""
    steps = response.trajectory.steps if response.trajectory else []
    last = steps[-1] if steps else {}
    return "model_call" not in last and last.get("action", ...) is response.answer


def _packed_step(step: dict[str, Any], parts: _Parts) -> dict[str, Any]:
    call = step.get("model_call")
    if not isinstance(call, dict) or REPEATED in step:
        return step
    rest, call = step.copy(), call.copy()
    seen = rest.pop("observation", None)
    rest["model_call"] = call
    rest[REPEATED] = {
        "messages": parts.numbers_of(call.pop("messages", None) or []),
        "tools": parts.number_of(call.pop("tools", None)),
        "reply": parts.number_of(call.pop("reply", None)),
        "action": parts.number_of(rest.pop("action", None)),
        "observation": parts.numbers_of(seen) if type(seen) is list else parts.number_of(seen),
    }
    return rest


def unpacked(
    record: Any, shared: Callable[[int], Any], response: TaskResponse, task_id: str
) -> TaskResponse:
    """Fills in what the columns of the record's row do not say."""
    try:
        found = record["response"]
        parts = record.get("parts", [])
        for number, row in found.get("rows", {}).items():
            parts[int(number)] = shared(row)
        response.answer = found["answer"] if "answer" in found else found["steps"][-1]["action"]
        response.error = ErrorInfo(*found["error"]) if "error" in found else None
        response.usage = found.get("usage", {})
        if "steps" in found:
            response.trajectory = Trajectory(
                task_id=task_id,
                agent_id=found["agent_id"],
                steps=[_unpacked_step(step, parts) for step in found["steps"]],
                final_result=response.answer,
                success=response.success,
                token_count=found["token_count"],
                execution_time=found["execution_time"],
                status=response.status,
                metadata=found["metadata"],
            )
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise DamagedError(f"a record has another form than it should: {error!r}") from None
    return response


def _unpacked_step(step: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
    kept = step.get(REPEATED)
    if not isinstance(kept, dict) or "messages" not in kept:
        return step
    seen = kept["observation"]
    whole = {key: value for key, value in step.items() if key != REPEATED}
    whole["action"] = parts[kept["action"]]
    whole["observation"] = [parts[n] for n in seen] if isinstance(seen, list) else parts[seen]
    whole["model_call"] = {
        **step["model_call"],
        "messages": [parts[number] for number in kept["messages"]],
        "tools": parts[kept["tools"]],
        "reply": parts[kept["reply"]],
    }
    return whole
