"""What Python costs around the engine, by pytest-benchmark; every answer is checked.

    python bench/run.py --python            all of them, as a table; --json FILE adds them there
    python -m pytest bench/bench_python.py  the same with pytest-benchmark's own output

By run.py times are CPU time of one call. `rows` in a benchmark's extra information is what a call
reads or gives, so that seconds become rows per second.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import catena
from gate import TWELVE_ATOMS
from workloads import FOLDER, Workload, load_file

CALLS = 1_000
CEL = {workload.query: workload for workload in load_file(FOLDER / "cel.toml")}
Q1: Workload = CEL["Q1"]
ROWS = Q1.sizes["small"]
MATCHES = Q1.answers["small", "STRICT"].count
QUERY = catena.Query(Q1.text.replace("{strategy}", "STRICT"))


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return Q1.stream.table(ROWS)


def note(benchmark: Any, rows: int) -> None:
    benchmark.extra_info["rows"] = rows


def test_compile_12_atoms(benchmark: Any) -> None:
    query = benchmark(catena.Query, TWELVE_ATOMS)
    row = {f"T{at}": at + 1 for at in range(12)}
    events = [{"type": name, "value": value} for name, value in row.items()]
    assert query.count(events) == 1
    assert query.count(events[:-1]) == 0


def test_compile_absence(benchmark: Any) -> None:
    query = benchmark(catena.Query, "SELECT * WHERE A ; NOT (B ; D) ; C WITHIN 100 EVENTS")
    assert query.count({"type": list("ABC")}) == 1
    assert query.count({"type": list("ABDC")}) == 0


def test_push_one_mapping(benchmark: Any) -> None:
    """CALLS pushes of one event each, of which every third ends a match."""
    events = [{"type": kind} for kind in "ABC" * CALLS]
    query = catena.Query("SELECT STRICT * WHERE A ; B ; C")

    def push_all() -> catena.Matches:
        stream = query.stream()
        matches = stream.push(events[0])
        for event in events[1:CALLS]:
            matches = stream.push(event)
        return matches

    note(benchmark, CALLS)
    assert not list(benchmark(push_all))  # The last one is an A.


def test_push_batches_of_one_row(benchmark: Any, table: pa.Table) -> None:
    batches = table.slice(0, CALLS).to_batches(max_chunksize=1)

    def push_all() -> int:
        stream = QUERY.stream()
        for batch in batches:
            stream.push(batch)
        return stream.position

    note(benchmark, CALLS)
    assert benchmark(push_all) == CALLS


def test_push_a_list_of_mappings(benchmark: Any, table: pa.Table) -> None:
    events = table.to_pylist()
    note(benchmark, ROWS)
    assert benchmark(lambda: QUERY.count(events)) == MATCHES


def test_read_match_objects(benchmark: Any) -> None:
    events = {"type": list("ABC") * CALLS}

    def read() -> int:
        return sum(match["x"][0] for match in QUERY.run(events))

    note(benchmark, CALLS)
    assert benchmark(read) == sum(range(0, 3 * CALLS, 3))


def test_read_arrow(benchmark: Any, table: pa.Table) -> None:
    query = catena.Query(Q1.text.replace("{strategy}", "ALL"))
    expected = Q1.answers["small", "ALL"].count
    note(benchmark, expected)
    assert benchmark(lambda: query.run(table).to_arrow().num_rows) == expected


def test_snapshot_and_restore(benchmark: Any, table: pa.Table) -> None:
    stream = QUERY.stream()
    stream.push(table)

    def there_and_back() -> int:
        return QUERY.restore(stream.snapshot()).position

    assert benchmark(there_and_back) == ROWS
