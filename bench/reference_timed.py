"""The expected answers of `workloads/timed.toml`, found without the engine and without its code.

    python bench/reference_timed.py            the table of answers, as it stands in the file

The queries ask for an A, a B and a C in order, the rows' times being their numbers: the whole in a
window, each gap within a bound, or both. The matches that end at a C are counted by sums over the
rows before it: with a(i), b(i) the numbers of As, of Bs among the first i rows, an A at p and a C
at q have b(q) - b(p) Bs between them, and a B at p has a(p) - a(p - gap) As at most `gap` before.
Cost: linear in the rows.
"""

from __future__ import annotations

import sys

import numpy as np

from workloads import FOLDER, load_file

BOUNDS = {
    "window_100": (None, 100),
    "window_10000": (None, 10_000),
    "gap_100": (100, None),
    "gap_10000": (10_000, None),
    "both_100": (100, 150),
    "both_10000": (10_000, 15_000),
}
"""By query: the longest gap, the longest time from start to end."""


def before(marks: np.ndarray) -> np.ndarray:
    """How much the first 0, 1, 2, ... rows add up to."""
    return np.concatenate([[0], np.cumsum(marks)])


def counts(types: np.ndarray, gap: int | None, window: int | None) -> np.ndarray:
    """For each row, the matches that it ends."""
    rows = np.arange(len(types))
    a, b = before(types == "A"), before(types == "B")
    widest = len(types)
    near = np.maximum(rows - (gap or widest), 0)  # The earliest B for a C here, and A for a B.
    far = np.maximum(rows - (window or widest), 0)  # The earliest A for a C here.
    if gap is None:
        between = before((types == "A") * b[:-1])
        found = (a[rows] - a[far]) * b[rows] - (between[rows] - between[far])
        return np.where(types == "C", found, 0)
    # Up to `split` the window is what keeps the As of a B off, from there on the gap.
    from_b = np.maximum(near, far)
    split = np.clip(far + gap, from_b, rows) if window else near
    first = before((types == "B") * a[:-1])
    second = before((types == "B") * (a[:-1] - a[near]))
    by_window = (first[split] - first[from_b]) - (b[split] - b[from_b]) * a[far]
    return np.where(types == "C", by_window + second[rows] - second[split], 0)


def answers(query: str, types: np.ndarray) -> dict[str, int]:
    """The number of matches, and of rows that end some."""
    found = counts(types, *BOUNDS[query])
    return {"ALL": sum(found.tolist()), "ANY": int(np.count_nonzero(found))}


def main() -> int:
    print("query         stream   size              ALL     ANY")
    for workload in load_file(FOLDER / "timed.toml", check=False):
        for size, row_count in workload.sizes.items():
            found = answers(workload.query, workload.stream.type_names(row_count))
            feasible = size == "small" or "10000" not in workload.query
            total = found["ALL"] if feasible else "-"
            name = f"{workload.query:13} {workload.stream.name:8} {size:5}"
            print(f"{name} {total:>15} {found['ANY']:>7}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
