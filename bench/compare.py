"""Compares two result files of run.py: what became faster, what slower, and whether answers differ.

    python bench/run.py --json before.json
    python bench/run.py --json after.json
    python bench/compare.py before.json after.json
    python bench/compare.py before.json after.json --worse 1.5   ends with 1 if a time grew by more

Times are compared twice: as they are, and in units of the plain scan of the same run, which says
more where the machine or its load was another one. Exits with 1 if an answer is wrong in the newer
file, if it is not the one of the older file, or if an entry is missing from the newer file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str, str, str]
Results: TypeAlias = dict[Key, dict[str, Any]]

COLUMNS = ("update s", "x scan", "read s/M", "count() s", "graph B/row", "peak MB")


@dataclass(frozen=True)
class Change:
    """A figure in both files; 0 where there is none."""

    before: float
    after: float

    @property
    def ratio(self) -> float:
        return self.after / self.before if self.before else 1.0

    def __str__(self) -> str:
        return f"{self.before:.3g} > {self.after:.3g} ({self.ratio:.2f})"


def load(path: Path) -> Results:
    """The results of a file, by workload, strategy and size."""
    found: Results = {}
    content = json.loads(path.read_text("utf-8"))
    for result in content["results"]:
        found[result["workload"], result["strategy"], result["size"]] = result
    for result in content.get("python", ()):
        found[result["name"], "python", "full"] = {"problem": None, "figures": result}
    return found


def figures_of(result: dict[str, Any]) -> tuple[float, ...]:
    """The figures in the order of COLUMNS; of a Python-level benchmark only the seconds."""
    figures = result["figures"]
    if "seconds" in figures:
        return (figures["seconds"], *(0.0 for _ in COLUMNS[1:]))
    update, read = figures["update_seconds"], figures["read_count"]
    return (
        update,
        update / figures["scan_seconds"],
        figures["read_seconds"] / read * 1e6 if read else 0.0,
        figures["count_seconds"],
        figures["graph_bytes_per_row"],
        (figures["peak_bytes"] - figures["idle_bytes"]) / 1e6,
    )


def problem_of(before: dict[str, Any], after: dict[str, Any] | None) -> str:
    """What is wrong with a pair of results; empty when nothing is."""
    if after is None:
        return "is missing from the newer file"
    if after["problem"]:
        return str(after["problem"])
    if before["problem"]:
        return ""
    old, new = (result["figures"].get("found") for result in (before, after))
    return "" if old == new else f"the answer was {old} and is {new}"


def compared(before: Results, after: Results) -> Iterator[tuple[Key, list[Change] | str]]:
    """For each entry of the older file the changes, or what is wrong."""
    for key, old in before.items():
        new = after.get(key)
        problem = problem_of(old, new)
        if problem:
            yield key, problem
        elif new is not None and not old["problem"]:
            pairs = zip(figures_of(old), figures_of(new), strict=True)
            yield key, [Change(*pair) for pair in pairs]


def growth(changes: list[Change]) -> float:
    """How many times as long an update takes: as it is or in scans, whichever is less."""
    update, scans = changes[:2]
    return min(update.ratio, scans.ratio) if scans.before else update.ratio


def name_of(key: Key) -> str:
    workload, strategy, size = key
    return f"{workload} {strategy}" + ("" if size == "full" else f" ({size})")


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compares two result files of run.py.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--worse", type=float, metavar="RATIO",
                        help="end with 1 if an update takes more than so many times as long, "
                        "as it is and in scans")  # fmt: skip
    options = parser.parse_args(given)
    wrong = slower = 0
    print(f"| workload | {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * len(COLUMNS)}")
    for key, changes in compared(load(options.before), load(options.after)):
        if isinstance(changes, str):
            wrong += 1
            print(f"| {name_of(key)} | WRONG: {changes} |")
            continue
        cells = " | ".join(str(c) if c.before or c.after else "" for c in changes)
        print(f"| {name_of(key)} | {cells} |")
        slower += bool(options.worse) and growth(changes) > options.worse
    if wrong:
        print(f"{wrong} answers are wrong or missing", file=sys.stderr)
    if slower:
        print(f"{slower} updates take over {options.worse} times as long", file=sys.stderr)
    return 1 if wrong or slower else 0


if __name__ == "__main__":
    sys.exit(main())
