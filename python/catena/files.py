"""Files of events as Arrow batches: CSV, JSON lines and Parquet, by their ending, read in
pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from catena.errors import CatenaDataError

BLOCK_BYTES: Final = 8 << 20


def read_files(paths: Sequence[str], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of all files, one file after the other. Of Parquet only the named columns are
    read."""
    for path in paths:
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


def _read_csv(path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if Path(path).stat().st_size == 0:
        raise CatenaDataError(
            f"{path}: the file is empty", hint="a CSV file begins with its header"
        )
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
    block = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES)
    with (
        pa.input_stream(path) as source,
        pyarrow.csv.open_csv(source, read_options=block, convert_options=options) as reader,
    ):
        yield from reader


def _read_json(path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    block = pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    with pa.input_stream(path) as source:
        yield from pyarrow.json.read_json(source, read_options=block).to_batches()


def _read_parquet(path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pyarrow.parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        wanted = [name for name in columns if name in names]
        if len(wanted) < len(columns) or not columns:
            wanted = names  # Whoever reads the batches says which column is missing.
        yield from file.iter_batches(columns=wanted)


_READERS: Final[dict[str, Callable[[str, Sequence[str]], Iterator[pa.RecordBatch]]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
    ".parquet": _read_parquet,
}
