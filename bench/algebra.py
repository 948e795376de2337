"""Measures the event algebra, and draws how its static bounds grow.

python bench/algebra.py speed                     rows per second, a million rows
python bench/algebra.py speed --rows 20000        fewer rows
python bench/algebra.py bounds --figures FOLDER   the experiment of the paper's section 4.4, drawn
python bench/algebra.py bounds --expressions 500  with fewer expressions of each size

See bench/README.md for what the figures mean.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import catena
from algebra_reference import NONE, Reference, Term, random_term, text_of
from catena.algebra import Conjunction, Disjunction, Expression, Negation, Sequence, event
from catena.algebra.bounds import Bounds

BATCH_ROWS = 10_000
CHECKED_ROWS = 3_000
"""Rows whose answer is compared with the paper's algorithm before anything is timed."""
REPEATS = 5
SIZES = range(1, 52, 5)

BUTTON = ("-", ("[]", (";", "B", "B"), 2), ("|", "P", "T"))


@dataclass(frozen=True)
class Workload:
    """An expression over rows of random types, one row a tick."""

    name: str
    term: Term
    types: str
    values: bool = False


LARGE = random_term(random.Random(68), 51, "ABCDE")
WORKLOADS = (
    Workload("button", BUTTON, "BPT"),
    Workload("button, one row in ten", BUTTON, "BPT" + "x" * 27),
    Workload("button with rows", BUTTON, "BPT", values=True),
    Workload("51 subexpressions", LARGE, "ABCDE"),
    Workload("51 subexpressions with rows", LARGE, "ABCDE", values=True),
)


def table_of(types: str, rows: int) -> pa.Table:
    """Rows with a dictionary column of types, and the row's number as its time."""
    codes = np.random.Generator(np.random.PCG64(1)).integers(0, len(types), rows)
    names, places = sorted(set(types)), [sorted(set(types)).index(name) for name in types]
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.array(places)[codes].astype(np.int8)), pa.array(names)
    )
    return pa.table({"ts": np.arange(rows), "type": column})


def best_seconds(run: Callable[[], object], repeats: int) -> float:
    """The least processor time of several runs."""
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return best


def is_right(workload: Workload, table: pa.Table) -> bool:
    """Compares the first rows with the paper's algorithm."""
    head = table.slice(0, CHECKED_ROWS)
    reference = Reference(workload.term)
    expected = [reference.tick(at, {name}) for at, name in enumerate(head["type"].to_pylist())]
    found = catena.Algebra(text_of(workload.term), time="ts").run(head)
    return [(m.start_time, m.end_time) for m in found] == [e for e in expected if e != NONE]


def measure(workload: Workload, rows: int) -> list[str]:
    """The cells of a line: instances, speed, the ratio to a scan, nanoseconds a row."""
    table = table_of(workload.types, rows)
    if not is_right(workload, table):
        raise SystemExit(f"{workload.name}: the answer is wrong")
    algebra = catena.Algebra(text_of(workload.term), time="ts", values=workload.values)
    batches = table.to_batches(max_chunksize=BATCH_ROWS)
    codes = batches[0].column(1).indices if len(batches) == 1 else table["type"].chunk(0).indices
    codes = codes.to_numpy()

    def update() -> None:
        detector = algebra.stream()
        for batch in batches:
            detector.push(batch)

    seconds = best_seconds(update, REPEATS)
    scan = best_seconds(lambda: [np.count_nonzero(codes == 1) for _ in range(20)], 10) / 20
    return [
        f"{algebra.count(table):,}",
        f"{rows / seconds / 1e6:.1f}",
        f"{seconds / scan:.0f}",
        f"{int(algebra.memory_bound()):,}",
    ]


def speed(options: argparse.Namespace) -> int:
    print(
        "| workload | instances | Mrows/s | x scan | bytes |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for workload in WORKLOADS:
        print(f"| {workload.name} | {' | '.join(measure(workload, options.rows))} |", flush=True)
    return 0


# ---------------------------------------------------------------------------------------------
# Section 4.4


@dataclass(frozen=True)
class Point:
    """Mean and maximum of a bound over the expressions of one size."""

    size: int
    mean: float
    most: int


Curves = dict[tuple[str, str], list[Point]]
"""By what is bounded (memory or time) and the framework (times or values)."""


_OPERATORS = {"|": Disjunction, "+": Conjunction, "-": Negation, ";": Sequence}


def expression_of(term: Term) -> Expression:
    """The same expression as the package has it."""
    if isinstance(term, str):
        return event(term)
    symbol, left, right = term
    if symbol == "[]":
        return expression_of(left).within(right)
    return _OPERATORS[symbol](expression_of(left), expression_of(right))


def bounds_of_random(expressions: int, seed: int = 44) -> Curves:
    """Mean and maximum of both bounds in both frameworks, for random expressions of each size."""
    rng = random.Random(seed)
    curves: Curves = {}
    for size in SIZES:
        found: dict[tuple[str, str], list[int]] = {}
        for _ in range(expressions):
            shape = Bounds().of(expression_of(random_term(rng, size, "ABCDE")))
            for framework, with_rows in (("times", False), ("values", True)):
                found.setdefault(("memory", framework), []).append(shape.units(with_rows))
                found.setdefault(("time", framework), []).append(shape.time(with_rows))
        for key, numbers in found.items():
            point = Point(size, float(np.mean(numbers)), max(numbers))
            curves.setdefault(key, []).append(point)
    return curves


def draw(curves: Curves, folder: Path) -> list[Path]:
    """The two figures: memory and worst-case time, each in both frameworks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for what, unit in (("memory", "memory units"), ("time", "steps in the worst tick")):
        figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
        for panel, framework in zip(panels, ("times", "values"), strict=True):
            points = curves[what, framework]
            sizes = [point.size for point in points]
            panel.plot(sizes, [point.most for point in points], "o--", label="maximum")
            panel.plot(sizes, [point.mean for point in points], "s-", label="mean")
            panel.set(title=f"instances with {framework}", xlabel="subexpressions", ylabel=unit)
            panel.legend()
            panel.grid(alpha=0.3)
        paths.append(folder / f"algebra_{what}.png")
        figure.savefig(paths[-1], dpi=120)
        pyplot.close(figure)
    return paths


def bounds(options: argparse.Namespace) -> int:
    curves = bounds_of_random(options.expressions)
    print("| bound | instances | " + " | ".join(f"m = {size}" for size in SIZES) + " |")
    print("| --- | --- |" + " ---: |" * len(SIZES))
    for (what, framework), points in sorted(curves.items()):
        cells = " | ".join(f"{point.mean:.0f} ({point.most})" for point in points)
        print(f"| {what} | {framework} | {cells} |")
    if options.figures:
        for path in draw(curves, options.figures):
            print(path)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the event algebra.")
    commands = parser.add_subparsers(required=True)
    fast = commands.add_parser("speed", help="rows per second")
    fast.add_argument("--rows", type=int, default=1_000_000)
    fast.set_defaults(command=speed)
    static = commands.add_parser("bounds", help="static bounds of random expressions")
    static.add_argument("--expressions", type=int, default=10_000, help="of each size")
    static.add_argument("--figures", type=Path, metavar="FOLDER", help="draw them there")
    static.set_defaults(command=bounds)
    options = parser.parse_args()
    return int(options.command(options))


if __name__ == "__main__":
    sys.exit(main())
