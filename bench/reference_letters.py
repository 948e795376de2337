"""The expected answers of the workloads whose queries are Q1 to Q6 over letters of the rows.

    python bench/reference_letters.py --family consume         the table of answers of consume.toml
    python bench/reference_letters.py --family long --rows small

Whatever says which variable marks a row (its type, its value, its name) is a letter, and what is
left to count are sets of rows, as in `reference.py`. What is new here is where a match may start:

    consume      after the last row before its end that ended a match. Whether a row ends one is
                 found forwards, from the latest start of a run in each state of the language
    partitions   at the first row of its part; the rows are first put in order of their parts
    long, and other windows of more than 1,000 rows: see reference_long.py

Nothing of the engine is used. Cost: rows x the longest way back x moves; some minutes for a family.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

import numpy as np

import reference
import reference_long
from reference import OTHER, Language
from workloads import DISTANCES, FOLDER, NOT_RUN, RESIDUE, RESIDUE_OF, Workload, aligned, load_file

LONG = 1_000
"""Windows of more rows than this are not counted end by end."""
CONFIGURATIONS_MAX = 20
"""Machines with more are not run over the full size in a long window."""

FAMILIES = {
    "long": ("ALL", "ANY", "NEXT", "LAST", "MAX", "NEXT.distances", "LAST.distances"),
    "consume": ("ALL", "NEXT", "LAST", "MAX", "NEXT.distances", "LAST.distances"),
    "stress_q1": ("ALL",),
    "stress_q2": ("ALL",),
    "selective": ("ALL", "ANY"),
    "strings": ("ALL", "ANY"),
    "partitions": ("ALL", "ANY"),
    "events": ("ALL", "ANY"),
}
"""By family: the columns of its table."""

NAMES: Mapping[str, Mapping[str, Callable[[str], bool]]] = {
    "equal": {
        "A": lambda name: name == "INTC",
        "B": lambda name: name == "RIMM",
        "C": lambda name: name == "QQQ",
    },
    "set": {
        "A": lambda name: name in ("INTC", "MSFT", "ORCL"),
        "B": lambda name: name in ("RIMM", "CSCO", "AMAT"),
        "C": lambda name: name in ("QQQ", "DELL", "YHOO"),
    },
    "like": {
        "A": lambda name: name.startswith("A"),
        "B": lambda name: name.endswith("C") and name[0] != "A",
        "C": lambda name: "Q" in name,
    },
    "range": {
        "A": lambda name: name < "C",
        "B": lambda name: "C" <= name < "N",
        "C": lambda name: name >= "N",
    },
}
"""The queries of strings.toml, which are Q1: by letter, which names it stands for."""


def letters_of(workload: Workload, rows: Mapping[str, np.ndarray]) -> tuple[str, np.ndarray]:
    """The query of `reference.py` that a workload asks, and for each row its letter."""
    query = workload.series or workload.query
    if query in NAMES:
        names = np.unique(rows["name"])
        letter = {
            name: next((kind for kind, test in NAMES[query].items() if test(name)), OTHER)
            for name in names.tolist()
        }
        return "Q1", np.array([letter[name] for name in rows["name"].tolist()], dtype="U1")
    if query.endswith("v"):
        return query[:-1], np.array(list("ABCD" + OTHER))[np.minimum(rows["value"] // 10, 4)]
    return query, rows["type"]


def consumed(query: str, types: np.ndarray, window: int) -> np.ndarray:
    """For each row where the matches that it ends may start: after what was consumed before."""
    language = Language.of(query)
    by_type: dict[str, list[tuple[int, int]]] = {}
    for (after, kind), before in language.moves.items():
        by_type.setdefault(kind, []).append((before, after))
    latest = [-1] * (language.final + 1)  # Of the runs in each state, from start to end: the start.
    lows, low = np.zeros(len(types), dtype=np.int64), 0
    for row, kind in enumerate(types.tolist()):
        lows[row] = low
        latest[language.final] = row
        reached = [(after, latest[before]) for before, after in by_type.get(kind, ())]
        latest[0] = -1
        for after, start in reached:
            latest[after] = max(latest[after], start)
        if latest[0] >= max(low, row - window + 1):
            low = row + 1
            latest = [-1] * (language.final + 1)
    return lows


def in_parts(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows in order of their parts, and for each of these where its part begins."""
    order = np.argsort(keys, kind="stable")
    inside = keys[order]
    begins = np.flatnonzero(np.concatenate([[True], inside[1:] != inside[:-1]]))
    return order, np.repeat(begins, np.diff([*begins, len(keys)]))


def answers(workload: Workload, size: str) -> dict[str, str]:
    """The answers as they stand in the workload file, by column."""
    rows = workload.stream.values(workload.sizes[size])
    query, types = letters_of(workload, rows)
    window = workload.window or len(types)
    columns = FAMILIES[workload.family]
    if workload.family in ("long", "selective") and window > LONG:
        return {column: in_long(query, types, window, column, size) for column in columns}
    lows = None
    if workload.family == "partitions":
        order, lows = in_parts(rows["id"])
        types = types[order]
    if workload.family == "consume":
        lows = consumed(query, types, window)
    found = reference.answers(query, types, window, lows, columns)
    return {column: str(count) for column, count in found.items()}


def in_long(query: str, types: np.ndarray, window: int, column: str, size: str) -> str:
    """The answer in a long window; none where finding it, or counting it, would take too long."""
    strategy, _, pointing = column.partition(".")
    if strategy in ("ANY", "NEXT", "LAST") and not pointing:
        found = reference_long.by_end(query, types, window, "LAST")
        return str(int(np.count_nonzero(found)))
    is_large = reference.tabulate(query, strategy, bool(pointing)).size > CONFIGURATIONS_MAX
    has_iteration = query in ("Q4", "Q5", "Q6") and not pointing
    if size == "full" and (is_large or has_iteration):
        return NOT_RUN
    found = reference_long.by_end(query, types, window, strategy, bool(pointing))
    total = int(found.sum())
    return str(total) if pointing else f"{RESIDUE}{total % RESIDUE_OF}"


def main() -> None:
    parser = argparse.ArgumentParser(description="The table of answers of a family of workloads.")
    parser.add_argument("--family", choices=FAMILIES, required=True)
    parser.add_argument("--rows", choices=("small", "full"), help="only this size")
    options = parser.parse_args()
    columns = FAMILIES[options.family]
    plain = [column for column in columns if not column.endswith(DISTANCES)]
    head = ["query", "stream", "size", *plain, *(c for c in columns if c not in plain)]
    table = [head]
    for workload in load_file(FOLDER / f"{options.family}.toml", check=False):
        for size in workload.sizes:
            if options.rows in (None, size):
                found = answers(workload, size)
                cells = [found[column] for column in head[3:]]
                table.append([workload.query, workload.stream.name, size, *cells])
                if sys.stderr.isatty():
                    print(f"\r{workload.name} {size} ", end="", file=sys.stderr, flush=True)
    print(aligned(table))


if __name__ == "__main__":
    main()
