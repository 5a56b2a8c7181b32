"""One recorded run for all tests that only read it; and nothing is fetched from anywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from recorded import full_run

from aworld.store.reader import Run

os.environ["HF_HUB_OFFLINE"] = "1"  # before datasets, transformers and trl are imported


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with full_run(tmp_path_factory.mktemp("runs") / "full") as found:
        yield found


@pytest.fixture
def load(tmp_path: Path) -> Callable[[Path], Any]:
    """A file as the `datasets` library reads it."""
    import datasets

    datasets.disable_progress_bars()

    def read(path: Path) -> Any:
        kind = "parquet" if path.suffix == ".parquet" else "json"
        cache = str(tmp_path / "cache")
        return datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=cache)

    return read
