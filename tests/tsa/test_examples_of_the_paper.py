"""The paper's examples on DuckDB: every push against the oracle; all cuts; what is kept."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from list_engine import ListEngine
from tsa_checks import as_set, passed, rows_of
from tsa_examples import EXAMPLES, Example, Rows

from catena import tsa
from oracle import tsa as oracle


def expected(example: Example, until: int) -> dict[str, Rows]:
    return oracle.fixpoint(example.queries, example.rows, until)


def cut(example: Example, ends: list[int], seed: int = 0) -> list[dict[str, Rows]]:
    """Rows by push: each at the latest when progress reaches it, often before, in any order."""
    random = Random(seed)
    program = tsa.Program(*example.queries)
    found: list[dict[str, Rows]] = [{} for _unused in ends]
    for stream in program.inputs:
        for row in [] if stream.is_static else example.rows[stream.name]:
            time = row[stream.progressing[0]]
            last = next(i for i, end in enumerate(ends) if time <= end)
            push = max(0, last - random.choice([0, 0, 0, 1, 2]))
            found[push].setdefault(stream.name, []).append(row)
    for push in found:
        for rows in push.values():
            random.shuffle(rows)
    return found


def run_example(example: Example, ends: list[int], engine: Any, seed: int = 0) -> tsa.Run[Any]:
    """Runs it cut at these times; after each push exactly what is complete has come, once."""
    program = tsa.Program(*example.queries)
    static = {s.name: example.rows[s.name] for s in program.inputs if s.is_static}
    run = program.run(engine, static=static)
    moving = [stream.name for stream in program.inputs if not stream.is_static]
    seen: dict[str, Rows] = {stream.name: [] for stream in program.outputs}
    whole = expected(example, ends[-1] + 500)
    for rows, end in zip(cut(example, ends, seed), ends, strict=True):
        step = run.push(rows, dict.fromkeys(moving, end))
        for stream in program.outputs:
            seen[stream.name] += rows_of(step[stream.name])
            assert as_set(seen[stream.name]) == passed(stream, run, whole[stream.name])
            assert len(seen[stream.name]) == len(as_set(seen[stream.name]))
    assert all(seen.values()), "every stream of the example has rows"
    return run


@pytest.mark.parametrize("name", EXAMPLES)
def test_on_duckdb(name: str) -> None:
    run_example(EXAMPLES[name](), [40, 41, 90, 150, 400], tsa.DuckDB())


@pytest.mark.parametrize("name", EXAMPLES)
def test_cut_and_shuffled(name: str) -> None:
    random = Random(name)
    for seed in range(12):
        ends = sorted(random.sample(range(300), random.randrange(1, 7)))
        run_example(EXAMPLES[name](), [*ends, 400], ListEngine(), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_cut_at_every_second(name: str) -> None:
    run_example(EXAMPLES[name](), [*range(300), 400], ListEngine())


EXPLAINED = {
    "static_data": ["TRaw:time", "keeps TRaw where time > Temp:time"],
    "tumbling_windows": ["AFRaw:time", "keeps AFRaw where time > Airflow:time - 20"],
    "sliding_windows": [
        "min(FireStart:time, max(Windows:start + 30, Windows:end + 10), FireEnd:time + 40)",
    ],
    "frames": [
        "min(FireStart:time + 60, Smoke:time, FireEnd:time)",
        "keeps FireEnd where time > MaxSmoke:end",
        "keeps Smoke: nothing bounds results from above by its times",
    ],
    "missing_messages": ["Temp:time - 20", "keeps Temp where time > Malfunction:time - 10"],
    "missing_reports": ["min(Detection:time, Report:time - 120)"],
    "two_time_lines": [
        "min(Detection:time, Report:received - 120)",
        "keeps Report where sent > Alarm:time and received > Alarm:time",
    ],
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_explained(name: str) -> None:
    text = tsa.Program(*EXAMPLES[name]().queries).explain()
    for line in EXPLAINED[name]:
        assert line in text, text


@pytest.mark.parametrize("name", EXAMPLES)
def test_all_but_frames_forget(name: str) -> None:
    """Section 5: all but the query for frames without fragments can be garbage collected."""
    example = EXAMPLES[name]()
    run = run_example(example, [40, 90, 150, 400], ListEngine())
    held = {
        n for n, count in run.buffered.items() if count and not run.program.streams[n].is_static
    }
    assert held == ({"FireStart", "Smoke"} if name == "frames" else set())
