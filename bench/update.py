"""Rows per second of the update, and the ratio to a plain scan of the type column in the same run.

    python bench/update.py [rows]

Each query reads uniform rows of five types with a window of 100 rows; matches are not read. The
count of each is compared with a second engine run row batch by row batch, so a wrong answer is no
result.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

import catena

QUERIES = {
    "A ; B ; C": "SELECT * WHERE A ; B ; C WITHIN 100 EVENTS",
    "A ; B+ ; C": "SELECT * WHERE A ; B+ ; C WITHIN 100 EVENTS",
    "A ; (B OR C) ; D": "SELECT * WHERE A ; (B OR C) ; D WITHIN 100 EVENTS",
}


def events(count: int) -> pa.Table:
    codes = np.random.default_rng(1).integers(0, 5, count, dtype=np.int8)
    return pa.table({"type": pa.DictionaryArray.from_arrays(codes, list("ABCDE"))})


def seconds(work) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def check(query: catena.Query, table: pa.Table) -> int:
    stream = query.stream()
    sample = table.slice(0, 2_000)
    pushed = sum(stream.push(sample.slice(at, 17)).count() for at in range(0, 2_000, 17))
    assert pushed == query.count(sample), "the same rows in other batches give another count"
    return pushed


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = events(count)
    codes = table["type"].chunk(0).indices.to_numpy()
    scan = seconds(lambda: np.count_nonzero(codes == 1))
    print(f"plain scan: {count / scan / 1e6:.0f} million rows per second")
    for name, text in QUERIES.items():
        query = catena.Query(text)
        matches = check(query, table)
        taken = seconds(lambda query=query: query.stream().push(table))
        print(
            f"{name}: {count / taken / 1e6:.1f} million rows per second, "
            f"{taken / scan:.0f} times the scan ({matches} matches in 2,000 rows)"
        )


if __name__ == "__main__":
    main()
