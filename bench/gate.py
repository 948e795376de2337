"""Measures every target that the engine is to reach, and ends with 1 if one of a ratio is missed.

    python bench/gate.py                     all targets: target, measured, met or missed
    python bench/gate.py update window       some of them, by name
    python bench/gate.py --rows small        few rows: for the answers, not the times
    python bench/gate.py --markdown          the table of bench/README.md
    python bench/gate.py --json FILE         the figures as JSON too

Each target is a small function below that gives lines (judge.py says when a line is missed). What
is compared takes turns in one process, and every answer is compared with the workload's file before
its time counts. Times are CPU time, but those of threads. Absolute targets never fail: they are of
one machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

import catena
import reference
from judge import Figure, Line, ceiling, figure_of, floor, rate, ratio, rounds_of
from measure import positions_in, query_of, update
from workloads import FOLDER, Workload, WorkloadError, load

BATCH_ROWS = 65_536
QUERIES = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
SCAN_SOURCE = Path(__file__).parent / "micro" / "bare_scan.cc"
LIMIT = 1_000
LONG_ROWS = 20_000
"""Rows of which the long results are read."""
THREADS = 2
_ATOMS = " ; ".join(f"T{at} AS v{at}" for at in range(12))
TWELVE_ATOMS = f"SELECT * WHERE ({_ATOMS}) FILTER " + " AND ".join(
    f"v{at}[value > {at}]" for at in range(12)
)


class WrongAnswer(Exception):
    """What was measured gave another answer than it must."""


@dataclass(frozen=True)
class Settings:
    """How much is measured, and how often."""

    size: str = "full"
    rounds: int = 7


Target: TypeAlias = Callable[[Settings], Iterator[Line]]


# ---------------------------------------------------------------------------------------------
# What targets have in common


@cache
def workloads() -> dict[str, Workload]:
    return {workload.name: workload for workload in load(FOLDER)}


class Job:
    """A workload under a strategy, at hand: its query, rows in batches, the codes of its types."""

    def __init__(self, name: str, strategy: str, settings: Settings, added: str = "") -> None:
        self.workload = workloads()[name]
        self.text = self.workload.text.replace("{strategy}", strategy) + added
        self.query = catena.Query(self.text) if added else query_of(self.workload, strategy)
        self.table = self.workload.stream.table(self.workload.sizes[settings.size])
        self.batches = self.table.to_batches(max_chunksize=BATCH_ROWS)
        self.rows = self.table.num_rows
        self.expected = self.workload.answers.get((settings.size, strategy))

    @property
    def codes(self) -> np.ndarray:
        codes: np.ndarray = self.table["type"].chunk(0).indices.to_numpy()
        return codes

    def update(self) -> None:
        update(self.query, self.batches)

    def count(self) -> int:
        return self.query.count(self.table)

    def checked(self) -> Job:
        """The same, if its answer is right."""
        check(self.text, self.count(), self.expected.count if self.expected else None)
        return self


def check(what: str, found: int, expected: int | None) -> None:
    if found != expected:
        raise WrongAnswer(f"{what}: {found} matches, but there are {expected}")


BareScan: TypeAlias = Callable[[np.ndarray], int]


@cache
def bare_scan() -> BareScan | None:
    """The bare scan of bench/micro, compiled; None without a C++ compiler."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        return None
    folder = tempfile.mkdtemp(prefix="catena-scan-")
    library = Path(folder) / "bare_scan.so"
    flags = ["-O2", "-std=c++20", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(SCAN_SOURCE), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).catena_bare_scan
    function.restype = ctypes.c_int64
    shutil.rmtree(folder)

    def scan(codes: np.ndarray) -> int:
        state = ctypes.c_uint8(0)
        return int(
            function(
                ctypes.c_void_p(SCAN_TABLE.ctypes.data), ctypes.c_int64(SCAN_TABLE.shape[1]),
                ctypes.c_void_p(codes.ctypes.data), ctypes.c_int64(len(codes)),
                ctypes.c_uint8(3), ctypes.byref(state),
            )
        )  # fmt: skip

    return scan


SCAN_TABLE = np.array(
    [[1, 0, 0, 0, 0], [1, 2, 1, 1, 1], [2, 2, 3, 2, 2], [1, 0, 0, 0, 0]], dtype=np.uint8
)
"""An A, then a B, then a C, then from the beginning; state 3 is after a C."""


def scanned_answer(codes: np.ndarray) -> int:
    """What the bare scan must give: where the next letter is, one after the other."""
    places = [np.flatnonzero(codes == letter) for letter in range(3)]
    at, read = -1, 0
    while True:
        own = places[read % 3]
        next_at = np.searchsorted(own, at, side="right")
        if next_at == len(own):
            return read // 3
        at, read = int(own[next_at]), read + 1


# ---------------------------------------------------------------------------------------------
# The targets


def update_target(settings: Settings) -> Iterator[Line]:
    """Update, Q1 to Q6, window of 100 rows, results not read."""
    scan = bare_scan()
    for query in QUERIES:
        job = Job(f"cel.{query}.uniform", "ALL", settings).checked()
        codes = job.codes
        works: list[Callable[[], object]] = [job.update]
        if scan is not None:
            check("bare scan", scan(codes), scanned_answer(codes))
            works.append(lambda codes=codes, scan=scan: scan(codes))  # type: ignore[misc]
        times = rounds_of(works, settings.rounds)
        found = ratio(times[0], times[1]) if scan is not None else None
        yield floor("absolute", "update", f"{query}, Mrows/s", 50, rate(job.rows / 1e6, times[0]))
        yield ceiling(
            "ratio", "update", f"{query}, times the bare scan", 15, found,
            reason="there is no C++ compiler",
        )  # fmt: skip


def selective_target(settings: Settings) -> Iterator[Line]:
    """The same where 1 % of the rows are relevant, against numpy's scan of the type column."""
    for query in QUERIES:
        job = Job(f"selective.{query}_100.one_in_100", "ALL", settings).checked()
        codes = job.codes
        found = against_scan(job, job.table["type"], codes, 0, settings)
        yield ceiling("ratio", "selective", f"{query}, times numpy's scan of int8 codes", 4, found)
    job = Job("selective.Q1_100.one_in_100", "ALL", settings)
    codes = job.codes.astype(np.int32)
    types = job.table["type"].combine_chunks()
    column = pa.DictionaryArray.from_arrays(pa.array(codes), types.dictionary)
    found = against_scan(job, column, codes, 0, settings)
    yield ceiling("ratio", "selective", "Q1, times numpy's scan of int32 codes", 4, found)
    plain = types.dictionary_decode()
    texts = plain.to_numpy(zero_copy_only=False).astype("U1")
    found = against_scan(job, plain, texts, "A", settings)
    yield ceiling("ratio", "selective", "Q1, times numpy's scan of plain strings", 4, found)


def against_scan(
    job: Job, types: pa.Array | pa.ChunkedArray, array: np.ndarray, wanted: object,
    settings: Settings,
) -> Figure:  # fmt: skip
    """The update over a column of types in some layout, over numpy's pass over the same."""
    batches = pa.table({"type": types}).to_batches(max_chunksize=BATCH_ROWS)
    works: list[Callable[[], object]] = [
        lambda: update(job.query, batches),
        lambda: np.count_nonzero(array == wanted),
    ]
    times = rounds_of(works, settings.rounds)
    return ratio(times[0], times[1])


def window_target(settings: Settings) -> Iterator[Line]:
    """The time per row in a window of 10,000 rows over that in one of 100."""
    for query in QUERIES:
        # ANY reads rows as ALL does, and its matches can be counted in any window.
        long = Job(f"long.{query}.uniform", "ANY", settings).checked()
        short = Job(f"cel.{query}.uniform", "ANY", settings).checked()
        times = rounds_of([long.update, short.update], settings.rounds)
        yield ceiling(
            "ratio", "window", f"{query}, 10,000 over 100 rows", 1.3, ratio(times[0], times[1])
        )


def read_positions(matches: catena.Matches) -> tuple[int, int]:
    """Reads matches into Arrow columns; how many, with how many positions."""
    count = positions = 0
    for batch in matches.batches():
        count, positions = count + batch.num_rows, positions + positions_in(batch)
    return count, positions


def enumeration_target(settings: Settings) -> Iterator[Line]:
    """Reading the matches of the Q2 stress test into Arrow columns."""
    job = Job("stress_q2.Q2.rows_2000", "ALL", settings).checked()
    matches = job.query.stream().push(job.table)
    count, positions = read_positions(matches)
    check(job.text, count, job.expected.count if job.expected else None)
    check("positions of Q2", positions, 4 * count)
    [times] = rounds_of([lambda: read_positions(matches)], min(settings.rounds, 3))
    yield floor("absolute", "enumeration", "Q2 stress, Mresults/s", 40, rate(count / 1e6, times))


def long_results_target(settings: Settings) -> Iterator[Line]:
    """Reading long matches: Q5, window of 100 rows, LIMIT 1000."""
    job = Job("cel.Q5.uniform", "ALL", settings, f" LIMIT {LIMIT}")
    table = job.table.slice(0, LONG_ROWS)
    by_end = reference.by_end("Q5", job.workload.stream.type_names(table.num_rows), 100, "ALL")
    matches = job.query.stream().push(table)
    count, positions = read_positions(matches)
    check(job.text, count, sum(min(LIMIT, found) for found in by_end))
    [times] = rounds_of([lambda: read_positions(matches)], settings.rounds)
    yield floor(
        "absolute", "long_results", "Q5, LIMIT 1000, Mpositions/s", 100,
        rate(positions / 1e6, times),
    )  # fmt: skip


def memory_target(settings: Settings) -> Iterator[Line]:
    """The graph of the Q2 stress test, before its results are read."""
    job = Job("stress_q2.Q2.rows_2000", "ALL", settings).checked()
    stream = job.query.stream()
    stream.push(job.table)
    figure = Figure(stream.stats()["graph_bytes"] / 1e6)
    yield ceiling("exact", "memory", "Q2 stress, MB of graph", 1, figure)


def count_target(settings: Settings) -> Iterator[Line]:
    """count() of matches that are not made, over the update alone; exact beyond 2^64."""
    for query in QUERIES:
        job = Job(f"cel.{query}.uniform", "ALL", settings).checked()
        times = rounds_of([job.count, job.update], settings.rounds)
        what = f"{query}, count() over the update"
        yield ceiling("ratio", "count", what, 1.1, ratio(times[0], times[1]))
    job = Job("cel.Q6.skewed", "ALL", settings).checked()
    found = Figure(np.log2(float(job.count())))
    yield floor("exact", "count", "Q6 over skewed types, bits of an exact count", 64, found)


def partitions_target(settings: Settings) -> Iterator[Line]:
    """100,000 parts, one row of each in turn, over one part; bytes of a part."""
    many = Job("partitions.Q1.hundred_thousand", "ALL", settings).checked()
    one = Job("partitions.Q1.one", "ALL", settings).checked()
    times = rounds_of([many.update, one.update], settings.rounds)
    yield ceiling("ratio", "partitions", "Q1, 100,000 parts over one", 5, ratio(times[0], times[1]))
    stream = many.query.stream()
    for batch in many.batches:
        stream.push(batch)
    stats = stream.stats()
    # A part without an open match is dropped, so there are fewer than keys.
    figure = Figure(stats["part_bytes"] / stats["parts"])
    yield ceiling("exact", "partitions", "bytes of a part between its rows", 300, figure)


def push_target(settings: Settings) -> Iterator[Line]:
    """One mapping after the other."""
    job = Job("events.Q1.uniform", "ALL", settings)
    events = job.table.to_pylist()
    stream = job.query.stream()
    found = sum(stream.push(event).count() for event in events)
    check(job.text, found, job.expected.count if job.expected else None)
    [times] = rounds_of([lambda: update(job.query, events)], settings.rounds)
    figure = figure_of([seconds / len(events) * 1e6 for seconds in times])
    yield ceiling("absolute", "push", "microseconds a mapping", 2, figure)


def compile_target(settings: Settings) -> Iterator[Line]:
    """A query of twelve atoms, each with a condition."""
    events = [{"type": f"T{at}", "value": at + 1} for at in range(12)]
    check(TWELVE_ATOMS, catena.Query(TWELVE_ATOMS).count(events), 1)
    [times] = rounds_of([lambda: catena.Query(TWELVE_ATOMS)], settings.rounds)
    figure = figure_of([seconds * 1e3 for seconds in times])
    yield ceiling("absolute", "compile", "milliseconds for 12 atoms", 20, figure)


def threads_target(settings: Settings) -> Iterator[Line]:
    """Elapsed time of one thread over that of two, over a thousand parts."""
    job = Job("partitions.Q1.thousand", "ANY", settings).checked()
    what = f"Q1, 1,000 parts, one thread over {THREADS}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    reason = f"there are fewer than {THREADS} cores" if (cores or 1) < THREADS else ""

    def work(threads: int) -> Callable[[], object]:
        return lambda: check(
            what,
            job.query.run(job.table, threads=threads).count(),  # type: ignore[call-arg]
            job.expected.count if job.expected else None,
        )

    try:
        work(THREADS)()
    except TypeError:
        reason = "run() has no threads"
    figure = None
    if not reason:
        times = rounds_of([work(1), work(THREADS)], settings.rounds, time.perf_counter)
        figure = ratio(times[0], times[1])
    yield floor("ratio", "threads", what, 1.7, figure, reason=reason)


TARGETS: dict[str, Target] = {
    "update": update_target,
    "selective": selective_target,
    "window": window_target,
    "enumeration": enumeration_target,
    "long_results": long_results_target,
    "memory": memory_target,
    "count": count_target,
    "partitions": partitions_target,
    "push": push_target,
    "compile": compile_target,
    "threads": threads_target,
}


# ---------------------------------------------------------------------------------------------
# Output


def cells(line: Line) -> list[str]:
    limit = f"{'at most' if line.is_ceiling else 'at least'} {line.limit:g}"
    measured = "" if line.figure is None else f"{line.figure.value:.3g}"
    noise = "" if line.figure is None or not line.figure.noise else f"± {line.figure.noise:.2g}"
    return [line.what, line.kind, limit, f"{measured} {noise}".strip(), line.verdict]


HEAD = ["", "kind", "target", "measured", ""]
WIDTHS = [50, 9, 14, 18, 0]


def shown(texts: list[str], target: str, markdown: bool) -> str:
    if markdown:
        command = f" `python bench/gate.py {target}` |" if target else " command |"
        return f"| {' | '.join(texts)} |{command}"
    texts = [f"  {texts[0]}", *texts[1:]]
    return " ".join(text.ljust(width) for text, width in zip(texts, WIDTHS, strict=True)).rstrip()


def title_of(target: Target) -> str:
    """What is measured, in a line."""
    return (target.__doc__ or "").partition("\n")[0]


def report(names: list[str], settings: Settings, markdown: bool) -> tuple[list[Line], list[str]]:
    """Measures and prints line by line; the lines, and what went wrong."""
    lines, wrong = [], []
    print(shown(HEAD, "", markdown))
    if markdown:
        print("| --- | --- | ---: | ---: | --- | --- |")
    for name in names:
        if not markdown:
            print(f"{title_of(TARGETS[name])}   python bench/gate.py {name}")
        try:
            for line in TARGETS[name](settings):
                lines.append(line)
                print(shown(cells(line), name, markdown), flush=True)
        except (WrongAnswer, WorkloadError, catena.CatenaError) as error:
            wrong.append(f"{name}: {error}")
            print(f"{name}: WRONG: {error}", flush=True)
    return lines, wrong


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measures the engine's targets.")
    parser.add_argument("names", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--rows", choices=("small", "full"), default="full")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--markdown", action="store_true", help="print the README's table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(given)
    unknown = sorted(set(options.names) - set(TARGETS))
    if unknown or options.rounds < 1:
        parser.error(f"no target {', '.join(unknown)}" if unknown else "--rounds is at least 1")
    settings = Settings(options.rows, options.rounds)
    lines, wrong = report(options.names or list(TARGETS), settings, options.markdown)
    if options.json:
        content = [asdict(line) | {"verdict": line.verdict} for line in lines]
        options.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    failed = [line for line in lines if line.fails]
    print(f"\n{sum(line.is_met for line in lines)} of {len(lines)} lines met", end="")
    print(f", {len(failed)} that must be are missed" if failed else "")
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
