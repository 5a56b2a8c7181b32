"""Files that are there as a whole or not at all, written row by row."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from aworld.core.plain import as_json, plain
from aworld.errors import ConfigError, StoreError
from aworld.store import durable

Row = dict[str, Any]
Columns = dict[str, Any]  # from name to type, in Arrow's words
Write = Callable[[Row], None]

ROWS_AT_ONCE = 256  # that are put into Arrow's form together
GROUP_BYTES = 32 * 1024 * 1024  # of a row group
GROUP_ROWS = 20_000

_writer = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=as_json, allow_nan=False
)
# line ends to some readers, though not to JSON
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def json_text(value: Any) -> str:
    """As JSON that any reader takes: valid Unicode, numbers that are finite, one line."""
    try:
        text = _writer.encode(value)
        if text.isascii():
            return text
        text.encode()
    except (TypeError, ValueError, RecursionError):
        text = _writer.encode(_finite(plain(value)))
    return text.translate(_LINE_ENDS)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def jsonl_rows(file: BinaryIO, columns: Columns) -> Iterator[Write]:
    def write(row: Row) -> None:
        file.write(json_text(row).encode() + b"\n")

    yield write


@contextmanager
def parquet_rows(file: BinaryIO, columns: Columns) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(columns)
    # left open, it would write to a closed file when it is forgotten
    with pq.ParquetWriter(file, schema) as writer:
        groups = _RowGroups(pa, schema, writer)
        yield groups.add
        groups.finish()


class _RowGroups:
    """Rows on their way into Parquet. Columns of JSON take any value."""

    def __init__(self, pa: Any, schema: Any, writer: Any):
        self._pa = pa
        self._schema = schema
        self._texts = pa.schema({field.name: _as_text(pa, field.type) for field in schema})
        self._converters = {field.name: _converter(pa, field.type) for field in schema}
        self._writer = writer
        self._rows: list[Row] = []
        self._size = 0  # of the texts in these rows
        self._batches: list[Any] = []

    def add(self, row: Row) -> None:
        values = {
            name: None if row.get(name) is None else converted(row[name])
            for name, converted in self._converters.items()
        }
        self._rows.append(values)
        self._size += sum(_size(value) for value in values.values())
        if len(self._rows) >= ROWS_AT_ONCE or self._size >= GROUP_BYTES:
            self._pack()

    def finish(self) -> None:
        self._pack()
        self._write_group()

    def _pack(self) -> None:
        batch = self._pa.RecordBatch.from_pylist(self._rows, schema=self._texts)
        self._rows, self._size = [], 0
        self._batches.append(batch.cast(self._schema))
        size = sum(batch.nbytes for batch in self._batches)
        if size >= GROUP_BYTES or sum(map(len, self._batches)) >= GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        batches, self._batches = self._batches, []
        table = self._pa.Table.from_batches(batches, schema=self._schema)
        if len(table):
            self._writer.write_table(table)


def _converter(pa: Any, kind: Any) -> Callable[[Any], Any]:
    """What makes of a value one that Arrow takes for a column of this kind."""
    if isinstance(kind, pa.JsonType):
        return json_text
    if not pa.types.is_list(kind):
        return plain
    if isinstance(kind.value_type, pa.JsonType):
        return lambda parts: [json_text(part) for part in parts]
    # there are many numbers, and they are plain
    return list if pa.types.is_primitive(kind.value_type) else plain


def _size(value: Any) -> int:
    """About how many bytes it takes."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, list):
        return 8
    return sum(map(_size, value)) if value and isinstance(value[0], str) else 8 * len(value)


def _as_text(pa: Any, kind: Any) -> Any:
    """Arrow makes its JSON of texts, not of Python's values."""
    if isinstance(kind, pa.JsonType):
        return pa.string()
    return pa.list_(_as_text(pa, kind.value_type)) if pa.types.is_list(kind) else kind


FORMS = {"jsonl": jsonl_rows, "parquet": parquet_rows}


def check_form(form: str) -> None:
    if form == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise ConfigError("Parquet needs: pip install 'aworld[data]'") from None


@contextmanager
def whole_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Takes its place when the block ends, on disk by then; before that, nobody sees it."""
    if path.is_dir():
        raise ConfigError(f"{path} is a folder: give the path of a file")
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} is there already: choose another path, or overwrite it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with durable.whole_file(path) as file:
            yield file
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}") from error
