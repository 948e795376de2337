"""The expected answers of the families that compare several events, found without the engine.

    python bench/reference_blocks.py --family stock     the table of answers of stock.toml
    python bench/reference_blocks.py --family windows --rows small
    python bench/reference_blocks.py --family real --data FILE

The patterns of Alevizos, Artikis and Paliouras, section 7, are blocks one after the other. A block
is a first row, rows in the middle that spell a word of a small language, and a last row whose value
compares with that of the first. Rows in between may be skipped, but those that must be absent, and
every row plays at most one part, known from its own values. So a match is the set of its rows.

From the first row of a block the ways to choose the middle are counted forwards, state by state of
the language's machine, over the rows of the window: the ways to reach each last row. A pattern's
start fixes its window; from there the ways of block after block are multiplied and added up.
Nothing is determinized, indexed or shared between starts. Counts are Python's integers, exact.

Cost: for each block, first rows x rows with a part in the window; then for each start, pairs of a
first and a last row in the window.
"""

from __future__ import annotations

import argparse
import operator
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from workloads import FOLDER, Workload, load_file

Rows: TypeAlias = Mapping[str, np.ndarray]
Test: TypeAlias = Callable[[Rows], np.ndarray]
"""Which rows can play a part."""
Ways: TypeAlias = list[tuple[int, int]]
"""Last rows in order, and in how many ways each is reached; never in none."""

FAMILIES = ("stock", "smart_home", "taxi", "windows")
ON_FILES = ("real",)
"""Families over a data file."""
MIDDLES = {
    "seq": "0b1",
    "k": "0b1 1b1",
    "kn": "0b1 1c2 2c2 2b1",
    "not": "0n- 0b1 1b1",
    "q": "0b1 1c2",
    "pair": "",
}
"""The languages of the middle: state, part, next state; `-` is a part that must be absent in a
state. The last state accepts."""
LETTERS = {"seq": "abd", "k": "abd", "kn": "abcd", "not": "anbd"}
"""The parts of a block in the order of the values that tell them apart."""
COMPARE = {"<": operator.lt, "=": operator.eq, ">": operator.gt}


@dataclass(frozen=True)
class Block:
    """`a`, the middle, `d` with `d.attribute op a.attribute`; `parts` tests rows for each part."""

    parts: dict[str, Test]
    middle: str
    attribute: str
    op: str


# ---------------------------------------------------------------------------------------------
# The patterns


def equal(**wanted: Any) -> Test:
    """Rows with these values."""
    return lambda rows: np.logical_and.reduce([rows[name] == wanted[name] for name in wanted])


def both(one: Test, other: Test) -> Test:
    return lambda rows: one(rows) & other(rows)


def above(attribute: str, limit: float) -> Test:
    return lambda rows: rows[attribute] > limit


def series(middle: str, length: int, attribute: str, place: str, values: list[Any]) -> list[Block]:
    """seq, k, kn and not: blocks over values of `place`, in order, a new one for each part."""
    letters = LETTERS[middle]
    blocks = []
    for begin in range(0, length, len(letters)):
        own = dict(zip(letters, values[begin:], strict=False))
        parts = {letter: equal(**{place: value}) for letter, value in own.items()}
        blocks.append(Block(parts, MIDDLES[middle], attribute, ">"))
    return blocks


COMPANIES = [
    "INTC", "RIMM", "QQQ", "MSFT", "ORCL", "CSCO", "AMAT", "DELL", "YHOO", "AAPL", "GOOG",
    "AMZN", "EBAY", "ADBE", "NVDA", "QCOM",
]  # fmt: skip
ZONES = [
    "Harlem", "Midtown", "Chelsea", "Soho", "Tribeca", "Astoria", "Flushing", "Jamaica",
    "Midwood", "Bushwick", "Greenpoint", "Gowanus", "Fordham", "Belmont", "Tremont",
    "Riverdale",
]  # fmt: skip
PLACES = {
    "stock": ("price", "name", COMPANIES),
    "windows": ("price", "name", COMPANIES),
    "real": ("volume", "name", COMPANIES),
    "smart_home": ("value", "plug", list(range(16))),
    "taxi": ("fare", "pickup", ZONES),
}
"""By family: what the first and the last row of a block compare, and what tells the parts apart."""


def mixed(number: int) -> Block:
    """q1 to q5, with BUY and SELL, with thresholds, with either, with an iteration."""
    sell = {"a": equal(type="SELL", name="MSFT"), "d": equal(type="SELL", name="AMAT")}
    if number == 5:
        return Block(sell | {"b": equal(name="QQQ", volume=4000)}, MIDDLES["k"], "price", "<")
    wanted = {"type": "BUY"} if number in (1, 2) else {}
    parts = sell | {"b": equal(name="ORCL", **wanted), "c": equal(name="CSCO", **wanted)}
    if number in (2, 4):
        limits = {"a": 22, "b": 21, "c": 21, "d": 20.5}
        parts = {part: both(test, above("price", limits[part])) for part, test in parts.items()}
    return Block(parts, MIDDLES["q"], "price", "<")


def blocks_of(family: str, query: str) -> list[Block]:
    """The pattern of a query: seq3, k6, kn16 and q5 as in the paper, not4, and pair2, which is the
    paper's example 16."""
    middle = query.rstrip("0123456789")
    length = int(query[len(middle) :])
    if middle == "q":
        return [mixed(length)]
    if middle == "pair":
        parts = {"a": equal(type="BUY"), "d": equal(type="SELL")}
        return [Block(parts, MIDDLES["pair"], "name", "=")]
    return series(middle, length, *PLACES[family])


# ---------------------------------------------------------------------------------------------
# Counting


def block_ways(block: Block, rows: Rows, window: int) -> dict[int, Ways]:
    """For each first row of the block, its last rows and the ways to choose what is between."""
    tests = {part: test(rows) for part, test in block.parts.items()}
    assert np.sum(list(tests.values()), axis=0).max(initial=0) <= 1, "a row has two parts"
    played = sorted((int(i), part) for part, test in tests.items() for i in np.flatnonzero(test))
    values, holds = rows[block.attribute].tolist(), COMPARE[block.op]
    found = {}
    for number, (first, part) in enumerate(played):
        if part == "a":
            ways = reached(block.middle, played, number, window)
            found[first] = [(last, n) for last, n in ways if holds(values[last], values[first])]
    return found


def reached(
    middle: str, played: list[tuple[int, str]], number: int, window: int
) -> Iterator[tuple[int, int]]:
    """The last rows after a first row, compared or not, and the ways to choose the middle."""
    moves = [(int(a), part, int(b)) for a, part, b in middle.split() if b != "-"]
    stops = [(int(a), part) for a, part, b in middle.split() if b == "-"]
    counts = [1] + [0] * max((target for _, _, target in moves), default=0)
    for at in range(number + 1, len(played)):
        row, part = played[at]
        if row >= played[number][0] + window:
            break
        if part == "d" and counts[-1]:
            yield row, counts[-1]
        more = [(target, counts[source]) for source, read, target in moves if read == part]
        for target, count in more:
            counts[target] += count
        for source, read in stops:
            if read == part:
                counts[source] = 0


def followed(ways: Ways, block: dict[int, Ways], firsts: list[int], limit: int) -> Ways:
    """The ways continued by another block, whose last row comes before the limit."""
    found: Counter[int] = Counter()
    before = done = 0
    for first in firsts[bisect_left(firsts, ways[0][0] + 1) if ways else len(firsts) :]:
        if first >= limit:
            break
        while done < len(ways) and ways[done][0] < first:
            before += ways[done][1]
            done += 1
        for last, count in block[first]:
            if last < limit:
                found[last] += before * count
    return sorted(found.items())


def totals(blocks: list[Block], rows: Rows, window: int) -> dict[str, int]:
    """The number of matches, and of rows that end some."""
    head, *rest = [block_ways(block, rows, window) for block in blocks]
    firsts = [sorted(block) for block in rest]
    total, ending = 0, set()
    for start, ways in head.items():
        for block, own in zip(rest, firsts, strict=True):
            ways = followed(ways, block, own, start + window)
        total += sum(count for _, count in ways)
        ending |= {last for last, _ in ways}
    return {"ALL": total, "ANY": len(ending)}


def answers(workload: Workload, size: str) -> dict[str, int]:
    """The answers as they stand in the workload file, by column."""
    rows = workload.stream.values(workload.sizes[size])
    blocks = blocks_of(workload.family, workload.series or workload.query)
    return totals(blocks, rows, workload.window)


def main() -> None:
    parser = argparse.ArgumentParser(description="The table of answers of a family of workloads.")
    parser.add_argument("--family", choices=FAMILIES + ON_FILES, default=FAMILIES[0])
    parser.add_argument("--rows", choices=("small", "full"), help="only this size")
    parser.add_argument("--data", type=Path, help="the file, for a family over one")
    options = parser.parse_args()
    path = FOLDER / f"{options.family}.toml"
    print(f"{'query':8}  {'stream':8}  {'size':5}  {'ALL':>36}  {'ANY':>7}")
    for workload in load_file(path, data=options.data, check=False):
        for size in workload.sizes:
            if options.rows in (None, size):
                found = answers(workload, size)
                name = f"{workload.query:8}  {workload.stream.name:8}  {size:5}"
                print(f"{name}  {found['ALL']:>36}  {found['ANY']:>7}", flush=True)


if __name__ == "__main__":
    main()
