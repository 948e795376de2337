"""Files of events as Arrow batches: CSV, JSON lines and Parquet, by their ending, read in
pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from catena.errors import CatenaDataError

BLOCK_BYTES: Final = 8 << 20


class FileBatches:
    """The rows of all files, one file after the other, and how far their reading is.

    Of Parquet only the named columns are read.
    """

    def __init__(self, paths: Sequence[str], columns: Sequence[str]) -> None:
        self._paths = paths
        self._columns = columns
        self._fraction = 0.0

    @property
    def fraction(self) -> float:
        """How much of the files' bytes has been read, from 0 to 1."""
        return self._fraction

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        sizes = [Path(path).stat().st_size if Path(path).is_file() else 0 for path in self._paths]
        total, before = max(sum(sizes), 1), 0
        for path, size in zip(self._paths, sizes, strict=True):
            for batch, part in _read(path, self._columns):
                self._fraction = (before + size * part) / total
                yield batch
            before += size


Parts: TypeAlias = Iterator[tuple[pa.RecordBatch, float]]
"""Batches, each with the part of its file that has been read, from 0 to 1."""


def _read(path: str, columns: Sequence[str]) -> Parts:
    reader = _READERS.get(_kind(path))
    if reader is None:
        raise CatenaDataError(
            f"{path}: files of this kind cannot be read",
            hint=f"the endings known are {', '.join(_READERS)}",
        )
    if not Path(path).is_file():
        raise CatenaDataError(f"{path}: there is no such file")
    try:
        yield from reader(path, columns)
    except pa.ArrowInvalid as error:
        raise CatenaDataError(f"{path}: {' '.join(str(error).split())}") from error


def _kind(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _read_csv(path: str, columns: Sequence[str]) -> Parts:
    if Path(path).stat().st_size == 0:
        raise CatenaDataError(
            f"{path}: the file is empty", hint="a CSV file begins with its header"
        )
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
    block = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES)
    size = Path(path).stat().st_size
    with (
        pa.OSFile(path) as file,
        pa.input_stream(file, compression=_compression(path)) as source,
        pyarrow.csv.open_csv(source, read_options=block, convert_options=options) as reader,
    ):
        for batch in reader:
            yield batch, file.tell() / size


def _read_json(path: str, columns: Sequence[str]) -> Parts:
    block = pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    with pa.input_stream(path) as source:
        for batch in pyarrow.json.read_json(source, read_options=block).to_batches():
            yield batch, 1.0


def _read_parquet(path: str, columns: Sequence[str]) -> Parts:
    with pyarrow.parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        wanted = [name for name in columns if name in names]
        if len(wanted) < len(columns) or not columns:
            wanted = names  # Whoever reads the batches says which column is missing.
        read, total = 0, max(file.metadata.num_rows, 1)
        for batch in file.iter_batches(columns=wanted):
            read += batch.num_rows
            yield batch, read / total


def _compression(path: str) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(Path(path).suffix.lower())


_READERS: Final[dict[str, Callable[[str, Sequence[str]], Parts]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
    ".parquet": _read_parquet,
}
