"""What an agent did in one task, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from aworld.core.failure import Status
from aworld.core.plain import plain

SCHEMA_VERSION = 1


@dataclass(slots=True)
class Trajectory:
    """One rollout of one task. `reward` is None where nothing has scored it."""

    task_id: str
    agent_id: str
    steps: list[dict[str, Any]] = field(default_factory=list)
    final_result: Any = None
    success: bool = False
    reward: float | None = None
    token_count: int = 0
    execution_time: float = 0.0
    status: Status = "success"
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        values = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return {"schema_version": SCHEMA_VERSION, **values}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trajectory:
        values = dict(data)
        version = values.pop("schema_version", SCHEMA_VERSION)
        if version != SCHEMA_VERSION:
            raise ValueError(
                f"a trajectory of schema_version {version}: this is {SCHEMA_VERSION}, a newer "
                "aworld has written it"
            )
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"no part of a trajectory: {', '.join(sorted(unknown))}")
        return cls(**values)
