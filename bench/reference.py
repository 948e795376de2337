"""The expected answers of `workloads/*.toml`, found without the engine and without its code.

    python bench/reference.py                      the table of answers of cel.toml
    python bench/reference.py --family absence     that of absence.toml
    python bench/reference.py --rows small         of the small size only

In each of the queries a row's type says which variable marks it, and the first and the last row of
a match are marked. So a match is a set D of rows, no more: D is a match if the types of its rows,
in order, spell a word of the query's language. What is left is to count sets. Where something must
be absent, N1 to N4, the language also reads the rows that D skips.

The language is read backwards, from the row that ends a match, by a small deterministic machine.
A strategy turns it into another machine that reads, row by row, whether D has the row or not, and
accepts D if the strategy reports it. For MAX its state is D's own state with those of all proper
supersets of D: they were different somewhere and had every row of D. The number of sets that a
machine accepts is a sum over its states, moved row by row over the window, for all ends at once.

Counts are exact: arrays of int64 give way to Python's integers before they could overflow.
Cost: rows x window x moves of the machine. The full size takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from workloads import FOLDER, NOT_RUN, aligned, load_file

Config: TypeAlias = Any  # A state of a strategy's machine; hashable.
States: TypeAlias = frozenset[int]

WINDOW = 100
ENDS_AT_ONCE = 16_384
NOTHING: States = frozenset()
OTHER = "-"
"""Stands for the types that a query does not read, and for what is before the first row."""

BACKWARDS = {
    "Q1": "0C1 1B2 2A3",
    "Q2": "0D1 1C2 2B3 3A4",
    "Q3": "0D1 1A2 1B2 1C2",
    "Q4": "0B1 1A2 2A2",
    "Q5": "0C1 1B2 2B2 2A3 3A3",
    "Q6": "0C1 1B2 2A3 3A3 3B2",
    "N1": "0C1 1A2",
    "N2": "0C1 1B2 2A3",
    "N3": "0C1 1B2 2A3",
    "N4": "0C1 1A3 2A3",
}
"""The queries' languages read backwards: state, type, next state. The last state accepts."""

SKIPPED = {"N1": "1B-", "N2": "1C- 2B-", "N3": "1D- 2D-", "N4": "1D2 2B-"}
"""What a skipped row does to the state, if anything: `-` is a row that cannot be skipped."""


@dataclass(frozen=True)
class Language:
    """A deterministic machine that reads the types of a match from its end to its start."""

    moves: dict[tuple[int, str], int]
    final: int
    skips: dict[tuple[int, str], int | None]
    """None where the row cannot be skipped."""

    @staticmethod
    @cache
    def of(query: str) -> Language:
        moves = {(int(a), kind): int(b) for a, kind, b in BACKWARDS[query].split()}
        skips = {
            (int(a), kind): None if b == "-" else int(b)
            for a, kind, b in SKIPPED.get(query, "").split()
        }
        return Language(moves, max(moves.values()), skips)

    def after(self, states: Iterable[int], kind: str) -> States:
        """Where the machine is after a marked row, from each of the states that can read it."""
        return frozenset(self.moves[q, kind] for q in states if (q, kind) in self.moves)

    @property
    def end(self) -> tuple[str, int]:
        """The type of the row that ends a match, and the state after it."""
        [(kind, after)] = [(kind, b) for (a, kind), b in self.moves.items() if a == 0]
        return kind, after


# ---------------------------------------------------------------------------------------------
# Strategies. A configuration is `own`, D's state of the language, with what the strategy must know
# of the sets that compete with D. Every set reads the same rows and may have a row or skip it.


@dataclass(frozen=True)
class Machine:
    """Reads whether D has a row, from the end backwards, and accepts what a strategy reports.

    `first` is the configuration after the row that ends D, which D and its rivals all have. `skip`
    and `mark` give the one after a row that D skips or has; None if D cannot skip or have it.
    """

    first: Config
    skip: Callable[[Config, str], Config | None]
    mark: Callable[[Config, str], Config | None]
    accepts: Callable[[Config], bool]


def all_of(lang: Language) -> Machine:
    """ALL: the language itself."""

    def mark(own: int, kind: str) -> int | None:
        return lang.moves.get((own, kind))

    def skip(own: int, kind: str) -> int | None:
        return lang.skips.get((own, kind), own)

    return Machine(lang.end[1], skip, mark, lambda own: own == lang.final)


def strict_of(lang: Language) -> Machine:
    """STRICT: (own, whether a row was skipped); after that, which is earlier, D has no more."""

    def skip(config: tuple[int, bool], kind: str) -> Config:
        return config[0], True

    def mark(config: tuple[int, bool], kind: str) -> Config | None:
        own, skipped = config
        return None if skipped or (own, kind) not in lang.moves else (lang.moves[own, kind], False)

    return Machine((lang.end[1], False), skip, mark, lambda config: config[0] == lang.final)


def max_of(lang: Language) -> Machine:
    """MAX: (own, states of the proper supersets so far); none of these may be a match."""

    def skip(config: tuple[int, States], kind: str) -> Config:
        own, above = config
        return own, above | lang.after(above | {own}, kind)

    def mark(config: tuple[int, States], kind: str) -> Config | None:
        own, above = config
        if (own, kind) not in lang.moves:
            return None
        return lang.moves[own, kind], lang.after(above, kind)

    return Machine((lang.end[1], NOTHING), skip, mark, lambda config: is_best(lang, config))


def last_of(lang: Language) -> Machine:
    """LAST: (own, states of the sets that are better, as the first difference read was theirs)."""

    def skip(config: tuple[int, States], kind: str) -> Config:
        own, better = config
        return own, better | lang.after(better | {own}, kind)

    def mark(config: tuple[int, States], kind: str) -> Config | None:
        own, better = config
        if (own, kind) not in lang.moves:
            return None
        return lang.moves[own, kind], better | lang.after(better, kind)

    return Machine((lang.end[1], NOTHING), skip, mark, lambda config: is_best(lang, config))


def next_of(lang: Language) -> Machine:
    """NEXT: (own, states of the sets that are better so far, of those that are worse so far).

    The difference read last decides, and there may be another still.
    """

    def skip(config: tuple[int, States, States], kind: str) -> Config:
        own, better, worse = config
        return own, better | lang.after(better | worse | {own}, kind), worse

    def mark(config: tuple[int, States, States], kind: str) -> Config | None:
        own, better, worse = config
        if (own, kind) not in lang.moves:
            return None
        behind = lang.after(worse, kind) | worse | better | {own}
        return lang.moves[own, kind], lang.after(better, kind), behind

    first = lang.end[1], NOTHING, NOTHING
    return Machine(first, skip, mark, lambda config: is_best(lang, config))


def is_best(lang: Language, config: Config) -> bool:
    """Whether D is a match and none of the sets that would beat it is."""
    return config[0] == lang.final and lang.final not in config[1]


MACHINES = {"ALL": all_of, "MAX": max_of, "STRICT": strict_of, "NEXT": next_of, "LAST": last_of}
COLUMNS = ("ALL", "MAX", "STRICT", "ANY", "NEXT", "LAST", "NEXT.distances", "LAST.distances")


# ---------------------------------------------------------------------------------------------
# Counting


@dataclass(frozen=True)
class Move:
    """From one configuration to the next; one that points counts as often as its row is away."""

    source: int
    target: int
    points: bool


@dataclass(frozen=True)
class Table:
    """A machine with numbers for configurations; the first of them is number 0."""

    kinds: str
    moves: dict[str, list[Move]]
    accepting: list[int]
    size: int


@cache
def tabulate(query: str, strategy: str, pointing: bool) -> Table:
    """The configurations that can be reached and from which some match can still come.

    With `pointing`, a configuration also says whether a row of D has been pointed at, once, at
    any of its rows: what is counted then are pairs of a match and a row of it.
    """
    language = Language.of(query)
    machine = MACHINES[strategy](language)
    kinds = "".join(sorted({kind for _, kind in [*language.moves, *language.skips]})) + OTHER
    first = (machine.first, False)
    edges: dict[Config, list[tuple[str, Config, bool]]] = {}
    waiting = [first]
    while waiting:
        config = waiting.pop()
        if config not in edges:
            edges[config] = [edge for kind in kinds for edge in edges_of(machine, config, kind)]
            waiting += [after for _, after, _ in edges[config] if pointing or not after[1]]
    accepting = {c for c in edges if machine.accepts(c[0]) and c[1] == pointing}
    alive, before = set(accepting), -1
    while len(alive) > before:
        before = len(alive)
        alive |= {c for c, out in edges.items() if any(after in alive for _, after, _ in out)}
    assert first in alive, "the query has no match at all"
    number = {config: at for at, config in enumerate(c for c in edges if c in alive)}
    moves: dict[str, list[Move]] = {kind: [] for kind in kinds}
    for config, at in number.items():
        for kind, after, points in edges[config]:
            if after in number:
                moves[kind].append(Move(at, number[after], points))
    return Table(kinds, moves, [number[c] for c in accepting], len(number))


def edges_of(machine: Machine, config: Config, kind: str) -> list[tuple[str, Config, bool]]:
    """The moves over a row: skip it, mark it, or mark it and point at it."""
    inner, pointed = config
    skipped, marked = machine.skip(inner, kind), machine.mark(inner, kind)
    edges = [] if skipped is None else [(kind, (skipped, pointed), False)]
    if marked is not None:
        edges.append((kind, (marked, pointed), False))
        if not pointed:
            edges.append((kind, (marked, True), True))
    return edges


def accepted_by_end(
    table: Table, codes: np.ndarray, ends: np.ndarray, lows: np.ndarray, window: int
) -> list[int]:
    """For each of the ends, what the table counts over the rows of its window from its low on.

    `codes` are the rows' types as positions in `table.kinds`, after `window` rows of OTHER.
    """
    other = table.kinds.index(OTHER)
    counts = np.zeros((table.size, len(ends)), dtype=np.int64)
    counts[0] = 1
    safe = 2**62 // (window * sum(map(len, table.moves.values())))
    for back in range(1, window):
        if counts.dtype == np.int64 and counts.max(initial=0) >= safe:
            counts = counts.astype(object)
        here = np.where(ends - back < lows, other, codes[ends + (window - back)])
        after = np.zeros_like(counts)
        for code, kind in enumerate(table.kinds):
            [columns] = np.nonzero(here == code)
            before = counts[:, columns]
            moved = np.zeros_like(before)
            for move in table.moves[kind]:
                moved[move.target] += before[move.source] * (back if move.points else 1)
            after[:, columns] = moved
        counts = after
    return counts[table.accepting].sum(axis=0).tolist()


def codes_of(table: Table, types: np.ndarray) -> np.ndarray:
    """The rows' types as positions in `table.kinds`."""
    codes = np.full(len(types), table.kinds.index(OTHER), dtype=np.int8)
    for code, kind in enumerate(table.kinds):
        codes[types == kind] = code
    return codes


def by_end(
    query: str,
    types: np.ndarray,
    window: int,
    strategy: str,
    pointing: bool = False,
    lows: np.ndarray | None = None,
) -> Iterator[int]:
    """The number of matches of each row that can end some.

    With `pointing`, the sum over all marked rows of how many rows before the end they lie. `lows`
    says for each row where the matches that it ends may start at the earliest.
    """
    table = tabulate(query, strategy, pointing)
    [ends] = np.nonzero(types == Language.of(query).end[0])
    if lows is None:
        lows = np.zeros(len(types), dtype=np.int64)
    window = min(window, int((ends - lows[ends]).max(initial=0)) + 1)
    codes = codes_of(table, np.concatenate([np.full(window, OTHER), types]))
    for begin in range(0, len(ends), ENDS_AT_ONCE):
        own = ends[begin : begin + ENDS_AT_ONCE]
        yield from accepted_by_end(table, codes, own, lows[own], window)


def totals(
    query: str,
    types: np.ndarray,
    window: int,
    strategy: str,
    pointing: bool = False,
    lows: np.ndarray | None = None,
) -> tuple[int, int]:
    """The number of matches in an array of types, and the number of rows that end some."""
    total = ending = 0
    for count in by_end(query, types, window, strategy, pointing, lows):
        total, ending = total + count, ending + (count > 0)
    return total, ending


def answers(
    query: str,
    types: np.ndarray,
    window: int = WINDOW,
    lows: np.ndarray | None = None,
    columns: Sequence[str] = COLUMNS,
) -> dict[str, int]:
    """The answers as they stand in the workload file, by column; only the given columns.

    ANY reports one match of every end that has some. So do NEXT and LAST, as their orders are
    total: their counts say little, so the distances of the marked rows are given as well. With
    something absent only ALL and ANY are counted.
    """
    found = {}
    for column in columns if query not in SKIPPED else ("ALL", "ANY"):
        strategy, _, pointing = column.partition(".")
        name, wanted = ("ALL", 1) if strategy == "ANY" else (strategy, 0)
        found[column] = totals(query, types, window, name, bool(pointing), lows)[wanted]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="The table of answers of a family of workloads.")
    parser.add_argument("--family", choices=("cel", "absence"), default="cel")
    parser.add_argument("--rows", choices=("small", "full"), help="only this size")
    options = parser.parse_args()
    rows = []
    for workload in load_file(FOLDER / f"{options.family}.toml", check=False):
        for size, count in workload.sizes.items():
            if options.rows in (None, size):
                found = answers(workload.query, workload.stream.type_names(count))
                columns = (found.get(name, NOT_RUN) for name in COLUMNS)
                rows.append([workload.query, workload.stream.name, size, *map(str, columns)])
                if sys.stderr.isatty():
                    print(f"\r{workload.name} {size} ", end="", file=sys.stderr, flush=True)
    print(aligned([["query", "stream", "size", *COLUMNS], *rows]))


if __name__ == "__main__":
    main()
