"""Reads the rows of a dataset's folder: of what `save_to_disk` wrote, or of files by split."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aworld.core.failure import first_line
from aworld.errors import ConfigError, unknown_name
from aworld.sources.files import read_file
from aworld.sources.rows import Row

KINDS = {".parquet", ".jsonl", ".ndjson", ".csv", ".tsv"}
SPLITS = {  # the words in file names that the Hugging Face hub knows
    "train": "train", "training": "train",
    "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation",
    "test": "test", "testing": "test", "eval": "test", "evaluation": "test",
}  # fmt: skip
SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}.*")
NO_SPLIT = "other"


def read_folder(folder: Path, split: str | None) -> Iterator[Row]:
    index = folder / "dataset_dict.json"
    if index.is_file():
        try:
            splits = json.loads(index.read_bytes())["splits"]
        except (ValueError, KeyError) as error:
            raise ConfigError(f"{index} cannot be read: {error!r}") from None
        return _read_saved(folder / _chosen(folder, splits, split))
    if (folder / "state.json").is_file():
        if split is not None:
            raise ConfigError(f"{folder} has no splits: leave out the split {split!r}")
        return _read_saved(folder)
    return _read_files(folder, split)


def _read_saved(folder: Path) -> Iterator[Row]:
    try:
        from datasets import load_from_disk
    except ImportError:
        raise ConfigError("reading a saved dataset needs: pip install 'aworld[data]'") from None
    try:
        dataset: Any = load_from_disk(str(folder))
    except Exception as error:
        raise ConfigError(f"{folder} cannot be read: {first_line(error)}") from error
    index = 0
    # as Arrow: pictures and sounds stay as they were saved, and need no other package
    for table in dataset.with_format("arrow").iter(1000):
        for values in table.to_pylist():
            yield Row(f"{folder}[{index}]", values)
            index += 1


def _read_files(folder: Path, split: str | None) -> Iterator[Row]:
    splits: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        is_hidden = any(part.startswith((".", "_")) for part in inside.parts)
        if path.suffix.lower() in KINDS and path.is_file() and not is_hidden:
            splits.setdefault(split_of(inside), []).append(path)
    if not splits:
        raise ConfigError(f"{folder} holds no files of tasks ({', '.join(sorted(KINDS))})")
    for path in splits[_chosen(folder, splits, split)]:
        yield from read_file(path)


def split_of(path: Path) -> str:
    """By a word in its name or its folders, as on the hub: 'data/test-00000-of-00002.parquet'."""
    words = re.split(r"[^a-z0-9]+", path.with_suffix("").as_posix().lower())
    known = next((SPLITS[word] for word in words if word in SPLITS), None)
    shard = SHARD.fullmatch(path.stem)
    return known or (shard[1] if shard else NO_SPLIT)


def _chosen(folder: Path, splits: Iterable[str], split: str | None) -> str:
    names = list(splits)
    if split is None:
        if len(names) == 1:
            return names[0]
        raise ConfigError(
            f"{folder} has the splits {', '.join(names)}: choose one, as in '{folder}#{names[0]}'"
        )
    if split in names:
        return split
    if SPLITS.get(split) in names:
        return SPLITS[split]
    raise ConfigError(f"{folder}: {unknown_name('split', split, names)}")
