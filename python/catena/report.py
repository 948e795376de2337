"""Matches written out: as a table for the eye, CSV, JSON lines or Parquet, batch by batch."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catena.errors import CatenaError

FORMATS: Final = ("table", "csv", "jsonl", "parquet")


class Writer(Protocol):
    """Takes batches of matches, all of one schema."""

    def write(self, batch: pa.RecordBatch) -> None: ...


@contextmanager
def open_writer(path: str | None, format: str | None) -> Iterator[Writer]:
    """A writer to a file, or to standard output if there is no path."""
    kind = format or _kind_of(path)
    if kind == "parquet":
        if path is None:
            raise CatenaError("Parquet cannot be written to the screen", hint="add --output FILE")
        writer = _ParquetWriter(path)
        try:
            yield writer
        finally:
            writer.close()
        return
    writers: dict[str, Callable[[TextIO], Writer]] = {
        "table": _TableWriter,
        "csv": _CsvWriter,
        "jsonl": _JsonWriter,
    }
    make = writers[kind]
    if path is None:
        yield make(sys.stdout)
        return
    with open(path, "w", encoding="utf-8", newline="") as file:
        yield make(file)


def _kind_of(path: str | None) -> str:
    ending = Path(path).suffix.lower().lstrip(".") if path else "table"
    return ending if ending in FORMATS else "table"


class _TableWriter:
    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._widths: list[int] = []

    def write(self, batch: pa.RecordBatch) -> None:
        names = batch.schema.names
        columns = [[_shown(value) for value in column.to_pylist()] for column in batch.columns]
        is_first = not self._widths
        if is_first:
            self._widths = [len(name) for name in names]
        for i, column in enumerate(columns):
            self._widths[i] = max([self._widths[i], *map(len, column)])
        if is_first:
            self._line(names)
            self._line(["-" * width for width in self._widths])
        for row in zip(*columns, strict=True):
            self._line(row)

    def _line(self, cells: Any) -> None:
        padded = (cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True))
        print("  ".join(padded).rstrip(), file=self._file)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return "null" if value is None else str(value)


class _CsvWriter:
    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._has_header = False

    def write(self, batch: pa.RecordBatch) -> None:
        arrays = [_flat(column) for column in batch.columns]
        flat = pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
        sink = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=not self._has_header)
        pyarrow.csv.write_csv(pa.Table.from_batches([flat]), sink, options)
        self._has_header = True
        self._file.write(sink.getvalue().to_pybytes().decode())


def _flat(column: pa.Array) -> pa.Array:
    """Lists as JSON text, since a CSV cell holds one value."""
    if not pa.types.is_list(column.type):
        return column
    values = column.to_pylist()
    return pa.array([None if v is None else json.dumps(v, default=str) for v in values])


class _JsonWriter:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            print(json.dumps(row, default=_as_json), file=self._file)


def _as_json(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


class _ParquetWriter:
    def __init__(self, path: str) -> None:
        self._path = path
        self._writer: pyarrow.parquet.ParquetWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._path, batch.schema)
        self._writer.write_batch(self._cast(batch, self._writer.schema))

    def _cast(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """The batch in the types that the file has."""
        arrays = []
        for column, field in zip(batch.columns, schema, strict=True):
            try:
                arrays.append(column.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise CatenaError(
                    f"{self._path}: column {field.name!r} begins as {field.type} and goes on as "
                    f"{column.type}, and a Parquet file has one type for it",
                    hint="give the input files the same types, or write .csv or .jsonl",
                ) from None
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
