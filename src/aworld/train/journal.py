"""Lines of JSON, each with the step that it belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aworld.store.durable import whole_file

METRICS = "metrics.jsonl"
VERDICTS = "verdicts.jsonl"


class Journal:
    """Only ever grows, but for what came after the checkpoint that training goes on from."""

    def __init__(self, path: Path, *, after: int):
        """after: the step that is gone on from; what was written later is dropped."""
        if path.exists():
            kept = [line for line in read_journal(path) if line["step"] <= after]
            with whole_file(path) as file:
                file.writelines(f"{_text(line)}\n".encode() for line in kept)
        self._file = path.open("a", encoding="utf-8")

    def write(self, step: int, lines: Iterable[Mapping[str, Any]]) -> None:
        self._file.writelines(f"{_text({'step': step, **line})}\n" for line in lines)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """A line that was being written when the process died is none."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


def readable_lines(path: Path) -> Iterator[dict[str, Any]]:
    """For those who look on: one line may be written right now, another be damaged."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text) if text.endswith("\n") else None
                except ValueError:
                    continue
                if isinstance(line, dict):
                    yield line
    except OSError:
        return


def start_of(history: Sequence[Mapping[str, float]]) -> float | None:
    """pass@1 before the warm-up, where there was one."""
    return next((line["start_pass@1"] for line in history if "start_pass@1" in line), None)


def evaluations_of(history: Sequence[Mapping[str, float]]) -> dict[int, float]:
    """pass@1 on the held-out tasks, by step; 0 is before the first."""
    return {int(line["step"]): line["pass@1"] for line in history if "pass@1" in line}


def _text(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False)
