"""Reads the rows of a file by its kind. A new kind is one function and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from aworld.core.failure import first_line
from aworld.errors import ConfigError, unknown_name
from aworld.sources.rows import Row, check_header
from aworld.sources.text_files import read_csv, read_json, read_jsonl


def read_parquet(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ConfigError("reading Parquet needs: pip install 'aworld[data]'") from None
    index = 0
    try:
        with ParquetFile(path) as file:
            check_header(file.schema_arrow.names, str(path))
            for batch in file.iter_batches():
                for values in batch.to_pylist():
                    yield Row(f"{path}[{index}]", values)
                    index += 1
    except ArrowException as error:
        raise ConfigError(f"{path}: not Parquet: {first_line(error)}") from None


READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
}


def read_file(path: Path) -> Iterator[Row]:
    reader = READERS.get(path.suffix.lower())
    if path.suffix == ".py":
        raise ConfigError(f"{path}: say which function gives the tasks: '{path}:function'")
    if reader is None:
        raise ConfigError(f"{path}: {unknown_name('kind of file', path.suffix, READERS)}")
    return reader(path)
