"""Rows of a data file that somebody has, as columns of a stream: nothing of it is kept here.

A CSV file, also compressed (.gz), with a header. Texts become dictionary columns, whose names are
in the order of their code points, so the same file always gives the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from streams import Column, StreamError, Words


def columns(path: Path, names: Mapping[str, str], row_count: int) -> dict[str, Column]:
    """The first rows: for each column of the stream the one of the file that it is."""
    table = _read(path)
    if table.num_rows < row_count:
        raise StreamError(f"{path} has {table.num_rows} rows, {row_count} are needed")
    missing = sorted(set(names.values()) - set(table.column_names))
    if missing:
        raise StreamError(f"{path} has no column {', '.join(missing)}")
    head = table.slice(0, row_count)
    return {name: _column(head[given].combine_chunks()) for name, given in names.items()}


@cache
def _read(path: Path) -> pa.Table:
    try:
        return pyarrow.csv.read_csv(path)
    except (OSError, pa.ArrowException) as error:
        raise StreamError(f"{path}: {error}") from None


def _column(values: pa.Array) -> Column:
    array = values.to_numpy(zero_copy_only=False)
    if array.dtype != object:
        return array
    names, codes = np.unique(array.astype("U"), return_inverse=True)
    return Words(codes.astype(np.int32), tuple(names.tolist()))
