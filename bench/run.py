"""Measures workloads and compares their answers; ends with 1 if an answer is wrong.

    python bench/run.py                                all workloads, all strategies, a million rows
    python bench/run.py Q1 cel.Q5.* --strategy ALL     some of them
    python bench/run.py --rows small                   20,000 rows: for the answers, not the times
    python bench/run.py --json FILE                    also every figure, as JSON, for compare.py
    python bench/run.py --markdown                     the table of bench/README.md
    python bench/run.py --data stock_ticks.csv.gz real the workloads over a data file
    python bench/run.py --python                       what Python itself costs, by pytest-benchmark
    python bench/run.py --python compile push          some of that

See bench/README.md for what the columns mean.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from pathlib import Path

import numpy as np

import catena
from measure import Measurement, attempt
from workloads import FOLDER, STRATEGIES, Answer, Workload, WorkloadError, choose, load

PYTHON_LEVEL = Path(__file__).parent / "bench_python.py"
PYTHON_TIMER = "--benchmark-timer=time.process_time"
PYTHON_OPTIONS = {
    "small": [PYTHON_TIMER, "--benchmark-max-time=0.01", "--benchmark-min-rounds=1"],
    "full": [PYTHON_TIMER, "--benchmark-max-time=0.5", "--benchmark-min-rounds=5"],
}
STEPS_GROWTH_MAX = 1.2
"""How much more steps for each live valuation a row may take in the largest window of a query."""
COLUMNS = (
    ("count", 24),
    ("update Mrows/s", 14),
    ("x scan", 7),
    ("read Mresults/s", 15),
    ("count() s", 9),
    ("graph B/row", 11),
    ("peak +MB", 8),
)


@dataclass(frozen=True)
class Entry:
    """A workload under a strategy, with the answer it must give."""

    workload: Workload
    strategy: str
    size: str
    expected: Answer

    @property
    def name(self) -> str:
        return f"{self.workload.name} {self.strategy}"

    @property
    def command(self) -> str:
        rows = "" if self.size == "full" else f" --rows {self.size}"
        data = "" if self.workload.stream.file is None else f" --data {self.workload.stream.file}"
        return f"python bench/run.py {self.workload.name} --strategy {self.strategy}{rows}{data}"


@dataclass(frozen=True)
class Outcome:
    """An entry with its figures, or with what went wrong."""

    entry: Entry
    figures: Measurement | None
    problem: str


def entries_of(workloads: list[Workload], strategies: list[str], size: str) -> list[Entry]:
    """What is to be measured, in the order of the files; not what reads a file we have not."""
    return [
        Entry(workload, strategy, size, workload.answers[size, strategy])
        for workload in workloads
        for strategy in strategies
        if (size, strategy) in workload.answers and workload.stream.is_at_hand
    ]


def fresh_processes() -> BaseContext:
    """Processes that have imported all that is needed and done nothing else."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    context.set_forkserver_preload(["measure"])
    return context


def outcomes(entries: list[Entry]) -> Iterator[Outcome]:
    """Measures one entry after the other, each in a new process."""
    context = fresh_processes()
    for number, entry in enumerate(entries, 1):
        with (
            progress(f"[{number}/{len(entries)}] {entry.name}"),
            ProcessPoolExecutor(1, mp_context=context) as pool,
        ):
            future = pool.submit(attempt, entry.workload, entry.strategy, entry.size)
            outcome = outcome_of(entry, future)
        yield outcome


def outcome_of(entry: Entry, future: Future[Measurement | str]) -> Outcome:
    """Waits for the figures and compares the answer."""
    try:
        figures = future.result()
    except BrokenProcessPool as error:
        return Outcome(entry, None, str(error))
    if isinstance(figures, str):
        return Outcome(entry, None, figures)
    return Outcome(entry, figures, entry.expected.difference(figures.found))


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A line on a terminal while something runs."""
    if not sys.stderr.isatty():
        yield
        return
    print(f"\r{text} ", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------------------
# Output


def cells(figures: Measurement) -> list[str]:
    """The figures in the order of COLUMNS."""
    return [
        shown(figures.found.count),
        f"{figures.rows_per_second / 1e6:.1f}",
        f"{figures.scan_ratio:.0f}",
        f"{figures.results_per_second / 1e6:.1f}",
        f"{figures.count_seconds:.2f}",
        f"{figures.graph_bytes_per_row:.0f}",
        f"{figures.update_bytes / 1e6:.1f}",
    ]


def shown(count: int) -> str:
    """A count in digits, or how large it is if there are too many of them."""
    digits = str(count)
    return (
        digits if len(digits) <= COLUMNS[0][1] else f"{digits[0]}.{digits[1:4]}e{len(digits) - 1}"
    )


def head(markdown: bool, width: int) -> str:
    names = [name for name, _ in COLUMNS]
    if markdown:
        return f"| command | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}"
    return " ".join(["".ljust(width), *(name.rjust(size) for name, size in COLUMNS)])


def line(outcome: Outcome, markdown: bool, width: int) -> str:
    """A row of the table."""
    entry, figures = outcome.entry, outcome.figures
    if figures is None or outcome.problem:
        return f"{entry.name}: WRONG: {outcome.problem}\n    {entry.command}"
    if markdown:
        return f"| `{entry.command}` | {' | '.join(cells(figures))} |"
    sized = zip(cells(figures), COLUMNS, strict=True)
    return " ".join([entry.name.ljust(width), *(cell.rjust(size) for cell, (_, size) in sized)])


def ratios(done: list[Outcome]) -> Iterator[tuple[str, bool]]:
    """For each pair of workloads that a file sets a ratio for: a line, and whether it is kept."""
    speeds = {
        (outcome.entry.workload.name, outcome.entry.strategy): outcome.figures.rows_per_second
        for outcome in done
        if outcome.figures is not None
    }
    for outcome in done:
        workload, strategy = outcome.entry.workload, outcome.entry.strategy
        own = speeds.get((workload.name, strategy))
        for query, most in workload.over.items():
            base = f"{workload.family}.{query}.{workload.stream.name}"
            if own is not None and (base, strategy) in speeds:
                ratio = speeds[base, strategy] / own
                times = f"{ratio:.2f} times the time per row of {base}, at most {most}"
                yield f"{outcome.entry.name}: {times}", ratio <= most


def growth(done: list[Outcome]) -> Iterator[tuple[str, bool]]:
    """For each query that a file has in several windows: what a row costs, by window.

    A line for each, and whether the work of a row grows at most linearly with the window: the steps
    for each live valuation may not grow with it (but for a fifth, since they are averages), and
    there may be no more valuations than rows in the window. The steps themselves are no measure: in
    a small window the later parts of a pattern are seldom reached, so few of their valuations are
    alive.
    """
    series: dict[str, dict[int, Measurement]] = {}
    for outcome in done:
        workload, strategy = outcome.entry.workload, outcome.entry.strategy
        if workload.series and outcome.figures is not None:
            name = f"{workload.family}.{workload.series}.{workload.stream.name} {strategy}"
            series.setdefault(name, {})[workload.window] = outcome.figures
    for name, by_window in series.items():
        if len(by_window) < 2:
            continue
        windows = sorted(by_window)
        times = (f"{1e9 / by_window[n].rows_per_second:.0f} in {n}" for n in windows)
        alive = (f"{by_window[n].valuations:.0f}" for n in windows)
        steps = [by_window[n].steps_per_valuation for n in windows]
        grown = steps[-1] / steps[0]
        text = (
            f"{name}: ns per row by window: {', '.join(times)}; valuations {', '.join(alive)}; "
            f"steps per row and valuation {', '.join(f'{n:.2f}' for n in steps)}: "
            f"{grown:.2f} times, at most {STEPS_GROWTH_MAX}"
        )
        is_linear = all(by_window[n].valuations <= n for n in windows)
        yield text, is_linear and grown <= STEPS_GROWTH_MAX


def as_json(outcome: Outcome) -> dict[str, object]:
    figures = outcome.figures and dataclasses.asdict(outcome.figures)
    return {
        "workload": outcome.entry.workload.name,
        "strategy": outcome.entry.strategy,
        "size": outcome.entry.size,
        "problem": outcome.problem or None,
        "figures": figures,
    }


def machine() -> dict[str, str]:
    """Where it ran."""
    return {
        "catena": catena.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {multiprocessing.cpu_count()} cores",
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures workloads and compares their answers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="as Q1, uniform, cel.Q5.*")
    parser.add_argument("--rows", choices=("small", "full"), default="full")
    parser.add_argument("--strategy", choices=STRATEGIES, action="append", help="may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument("--markdown", action="store_true", help="print the README's table")
    parser.add_argument("--workloads", type=Path, default=FOLDER, help="another folder of files")
    parser.add_argument("--data", type=Path, metavar="FILE", help="for workloads over a data file")
    parser.add_argument(
        "--python",
        action="store_true",
        help="only bench_python.py; NAMEs are words of its benchmarks",
    )
    return parser.parse_args()


def write_json(path: Path, done: list[Outcome], python: list[dict[str, object]]) -> None:
    results = [as_json(outcome) for outcome in done]
    content = {"machine": machine(), "results": results, "python": python}
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def python_level(options: argparse.Namespace) -> int:
    """Runs bench_python.py and prints a line for each benchmark whose name has one of the words."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        # In one process, whatever the tests' own options say.
        command = [sys.executable, "-m", "pytest", str(PYTHON_LEVEL), "-o", "addopts="]
        command += ["-p", "no:cacheprovider", "-k", " or ".join(options.names)]
        command += [*PYTHON_OPTIONS[options.rows], f"--benchmark-json={report}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            return 1
        benchmarks = json.loads(report.read_text("utf-8"))["benchmarks"]
    found: list[dict[str, object]] = []
    print(f"{'':34} {'microseconds':>14} {'rows/s':>14}")
    for benchmark in benchmarks:
        name = benchmark["name"].removeprefix("test_")
        seconds, rows = benchmark["stats"]["min"], benchmark["extra_info"].get("rows")
        found.append({"name": name, "seconds": seconds, "rows": rows})
        speed = f"{rows / seconds:>14,.0f}" if rows else ""
        print(f"{name:34} {seconds * 1e6:>14,.1f} {speed}".rstrip())
    if options.json:
        write_json(options.json, [], found)
    return 0


def main() -> int:
    options = arguments()
    if options.python:
        return python_level(options)
    try:
        workloads = choose(load(options.workloads, options.data), options.names)
    except WorkloadError as error:
        print(error, file=sys.stderr)
        return 2
    entries = entries_of(workloads, options.strategy or list(STRATEGIES), options.rows)
    absent = sorted({w.stream.name for w in workloads if not w.stream.is_at_hand})
    if absent:
        print(f"left out: {', '.join(absent)}, which needs --data FILE", file=sys.stderr)
    width = max((len(entry.name) for entry in entries), default=0)
    print(", ".join(f"{name} {value}" for name, value in machine().items()), end="\n\n")
    print(head(options.markdown, width))
    done = []
    for outcome in outcomes(entries):
        done.append(outcome)
        print(line(outcome, options.markdown, width), flush=True)
    if options.json:
        write_json(options.json, done, [])
    compared = [*ratios(done), *growth(done)]
    print("".join(f"\n{text}" for text, _ in compared))
    wrong = sum(1 for outcome in done if outcome.problem)
    if wrong:
        print(f"{wrong} of {len(done)} answers are wrong", file=sys.stderr)
    is_slow = options.rows == "full" and not all(kept for _, kept in compared)
    if is_slow:
        print("a ratio is larger than the file allows", file=sys.stderr)
    return 1 if wrong or is_slow or not done else 0


if __name__ == "__main__":
    sys.exit(main())
