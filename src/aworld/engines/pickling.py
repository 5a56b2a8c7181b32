"""Makes values ready for a process with another `__main__`, and says which ones cannot travel."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Iterator
from typing import Any

from aworld.core.failure import ErrorInfo

LARGE = 64 * 1024  # from here on it pays not to copy
PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
DEEPEST_BLAME = 8

loads = pickle.loads

# A value ready to travel inside a message. A plain one in a tuple, as it is: it cannot change or
# fail on the way. All others pickled; a large pickle as a buffer, which is sent without copying.
Payload = tuple[Any] | bytes | memoryview | pickle.PickleBuffer


class UnpicklableError(Exception):
    """A value cannot be sent to another process; the message names the part that is to blame."""

    def as_data(self, before: str = "") -> ErrorInfo:
        return ErrorInfo("PicklingError", f"{before}{self}")


def encode(value: Any, name: str = "value", parts: tuple[str, ...] = ()) -> Payload:
    """`parts` are names for the parts of a tuple, for error messages."""
    kind = type(value)
    if kind in PLAIN:
        if not ((kind is str or kind is bytes) and len(value) >= LARGE):
            return (value,)
        return pickle.PickleBuffer(pickle.dumps(value, 5))
    try:
        data = dumps(value, name)
    except UnpicklableError:
        for part_name, part in zip(parts, value if parts else (), strict=False):
            dumps(part, part_name)
        raise
    return data if len(data) < LARGE else pickle.PickleBuffer(data)


def decode(payload: Payload) -> Any:
    return payload[0] if isinstance(payload, tuple) else pickle.loads(payload)


def size_of(payload: Payload | None) -> int:
    """In bytes, about."""
    if payload is None:
        return 0
    if isinstance(payload, tuple):
        (value,) = payload
        return len(value) if isinstance(value, (str, bytes)) else 0
    return len(payload) if isinstance(payload, bytes) else memoryview(payload).nbytes


def dumps(value: Any, name: str = "value") -> bytes:
    # Plain pickle is many times faster, but it names what __main__ defines instead of carrying it
    # along, and a worker has another __main__.
    try:
        data = pickle.dumps(value, 5)
        if b"__main__" not in data and not _by_value_modules():
            return data
    except Exception:
        pass
    try:
        return _dumps_by_value(value)
    except Exception as error:
        try:
            path, culprit, cause = _blame(value, name, error, set(), 0)
        except Exception:  # parts that can be neither pickled nor looked at
            path, culprit, cause = name, value, error
        kind = type(culprit).__qualname__
        raise UnpicklableError(f"{path} (a {kind}) cannot be pickled: {cause}") from error


def _dumps_by_value(value: Any) -> bytes:
    import cloudpickle

    return cloudpickle.dumps(value, 5)


def _by_value_modules() -> bool:
    cloudpickle = sys.modules.get("cloudpickle")  # nothing was registered before it was imported
    return bool(cloudpickle and cloudpickle.list_registry_pickle_by_value())


def _blame(
    value: Any, path: str, error: Exception, seen: set[int], depth: int
) -> tuple[str, Any, Exception]:
    """The deepest part of `value` that fails on its own, and how."""
    seen.add(id(value))
    if depth < DEEPEST_BLAME:
        for name, part in _parts(value):
            if id(part) in seen:
                continue
            try:
                _dumps_by_value(part)
            except Exception as cause:
                return _blame(part, f"{path}{name}", cause, seen, depth + 1)
    return path, value, error


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    elif inspect.ismethod(value):
        yield ".__self__", value.__self__
    elif inspect.isfunction(value):
        known = inspect.getclosurevars(value)
        used = {**known.nonlocals, **known.globals}
        yield from ((f": {name}", part) for name, part in used.items())
    elif not isinstance(value, type):
        yield from ((f".{name}", part) for name, part in getattr(value, "__dict__", {}).items())
        for slot in getattr(type(value), "__slots__", ()):
            if hasattr(value, slot):
                yield f".{slot}", getattr(value, slot)
