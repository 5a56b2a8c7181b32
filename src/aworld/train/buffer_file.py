"""A buffer on disk: one .npz file of plain arrays and JSON, nothing that could run code."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from aworld.errors import StoreError
from aworld.store.durable import whole_file
from aworld.train.episodes import Episode
from aworld.train.rows import TokenRow

FORMAT = 1
PARTS = {
    "ids": np.int32,
    "sampled": np.bool_,
    "logprobs": np.float32,
    "versions": np.int32,
    "turns": np.int32,
}
FACTS = [field.name for field in fields(Episode) if field.name != "rows"]


def write_buffer(path: Path, state: dict[str, Any], episodes: Sequence[Episode]) -> None:
    """Whole or not at all: the file that was there stays until the new one is on disk."""
    rows = [row for episode in episodes for row in episode.rows]
    facts = [[getattr(one, name) for name in FACTS] for one in episodes]
    index = {"format": FORMAT, "state": state, "facts": FACTS, "episodes": facts}
    arrays: dict[str, Any] = {
        name: _joined((getattr(row, name) for row in rows), kind) for name, kind in PARTS.items()
    }
    with whole_file(path) as file:
        np.savez(
            file,
            index=np.frombuffer(json.dumps(index).encode(), np.uint8),
            rows_of=np.array([len(episode.rows) for episode in episodes], np.int64),
            lengths=np.array([len(row) for row in rows], np.int64),
            temperatures=np.array([row.temperature for row in rows], np.float64),
            **arrays,
        )


def read_buffer(path: Path) -> tuple[dict[str, Any], list[Episode]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        index = json.loads(arrays["index"].tobytes())
        if index["format"] != FORMAT:
            raise StoreError(f"{path} is of format {index['format']}: a newer aworld wrote it")
        rows = iter(_rows(arrays))
        return index["state"], [
            _episode(dict(zip(index["facts"], facts, strict=True)), [next(rows) for _ in range(n)])
            for facts, n in zip(index["episodes"], arrays["rows_of"], strict=True)
        ]
    except (ValueError, TypeError, LookupError, EOFError, zipfile.BadZipFile, OSError) as error:
        raise StoreError(f"{path} cannot be read as a saved buffer: {error}") from None


def _episode(facts: dict[str, Any], rows: list[TokenRow]) -> Episode:
    returns = facts["returns"]
    facts["returns"] = None if returns is None else tuple(returns)
    facts["turn_rewards"] = tuple(facts["turn_rewards"])
    return Episode(rows=tuple(rows), **facts)


def _rows(arrays: dict[str, np.ndarray]) -> list[TokenRow]:
    ends = np.cumsum(arrays["lengths"])[:-1]
    if not len(arrays["lengths"]):
        return []
    parts = [np.split(arrays[name], ends) for name in PARTS]
    return [TokenRow(*row) for row in zip(*parts, arrays["temperatures"].tolist(), strict=True)]


def _joined(arrays: Iterable[np.ndarray], kind: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0, kind), *arrays])
