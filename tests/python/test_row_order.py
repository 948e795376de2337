"""Rows ordered and numbered natively."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import catena
from catena import _core
from catena.spark.ordering import in_order, ordered

FLOATS = (-1e300, -0.0, 0.0, 1e-9, float("inf"))
STAMP = pa.timestamp("us", "UTC")


def columns(rng: random.Random, count: int) -> dict[str, pa.Array]:
    """A column of every type that can order rows."""
    day = dt.date(2026, 1, 1)
    return {
        "int8": pa.array([rng.randint(-128, 127) for _ in range(count)], pa.int8()),
        "int64": pa.array([rng.choice([-(2**63), 2**63 - 1, 0, 5]) for _ in range(count)]),
        "uint32": pa.array([rng.randrange(2**32) for _ in range(count)], pa.uint32()),
        "float": pa.array([rng.choice(FLOATS) for _ in range(count)]),
        "time": pa.array([rng.randrange(10**15) for _ in range(count)], STAMP),
        "date": pa.array([day + dt.timedelta(rng.randrange(99)) for _ in range(count)]),
        "bool": pa.array([rng.random() < 0.5 for _ in range(count)]),
        "text": pa.array([rng.choice("abcd") for _ in range(count)]),
        "decimal": pa.array([Decimal(rng.randrange(9)) for _ in range(count)], pa.decimal128(9, 2)),
    }  # fmt: skip


def test_columns_of_every_type_order_rows_and_ties_keep_their_order() -> None:
    rng = random.Random(1)
    table = pa.table({**columns(rng, 3000), "n": range(3000)})
    for name in table.schema.names[:-1]:
        for keys in ([name], ["bool", name], [name, "int8"]):
            expected = table.sort_by([(key, "ascending") for key in dict.fromkeys([*keys, "n"])])
            assert ordered(table, keys).column("n") == expected.column("n"), keys


def test_a_null_is_refused_in_the_first_column_and_comes_first_in_others() -> None:
    table = pa.table({"t": [1, 1, None], "s": [2, None, 1]})
    with pytest.raises(catena.CatenaDataError, match="'t' orders the rows and is null"):
        ordered(table, ["t"])
    assert ordered(table.slice(0, 2), ["t", "s"]).column("s").to_pylist() == [None, 2]
    with pytest.raises(catena.CatenaDataError, match="NaN"):
        ordered(pa.table({"t": [1.0, float("nan")]}), ["t"])
    with pytest.raises(catena.CatenaDataError, match="cannot order the rows"):
        ordered(pa.table({"t": [[1], [2]]}), ["t"])


@pytest.mark.parametrize("bytes_max", [1, 5_000, 100_000, 10**9])
def test_rows_past_the_limit_are_merged_from_runs_on_disk(bytes_max: int) -> None:
    rng = random.Random(2)
    table = pa.table({**columns(rng, 5000), "n": range(5000)})
    batches = table.to_batches(max_chunksize=700)
    found = pa.Table.from_batches(in_order(batches, ["date", "int8"], bytes_max))
    keys: list[Any] = [("date", "ascending"), ("int8", "ascending"), ("n", "ascending")]
    assert found.column("n").to_pylist() == table.sort_by(keys).column("n").to_pylist()
    assert list(in_order([], ["date"], bytes_max)) == []


def test_rows_are_numbered_by_key() -> None:
    rng = random.Random(3)
    drawn = [rng.randrange(-1, 5000) for _ in range(60_000)]
    keys = pa.array([None if key < 0 else key for key in drawn], pa.int64())
    text = pc.cast(pc.bit_wise_and(keys, 7), pa.string())
    batch = pa.record_batch({"id": keys, "text": text})
    numbers = _core.PartNumbers([1, 0])
    found = [
        number
        for part in (batch.slice(0, 1000), batch.slice(1000))
        for number in numbers.number(part.__arrow_c_array__()).tolist()
    ]
    seen: dict[int, int] = {}
    for key, number in zip(keys.to_pylist(), found, strict=True):
        assert number == (-1 if key is None else seen.get(key, 0))
        seen[key] = number + 1
    assert numbers.part_count == len(seen) - (None in seen)
