"""What an agent did in one task, step by step."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from aworld.core.failure import Status


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
        return asdict(self)
