"""What `reference.py` counts, for windows so long that no end can look at all of its own.

A machine of `reference.py` reads a row by a linear map of the counts of its configurations, and the
rows of a window from the end backwards by the product of these maps. Cut the rows into blocks of
the window's length: a window is the end of one block and the beginning of the next. So two tables
of products are enough: over the first rows of a block, and over the last rows of a block.

Counts are remainders modulo RESIDUE_OF (a prime below 2^31), so that a product of two fits 64 bits;
what is smaller than that is exact. A row that is pointed at counts as often as the end is away: the
end's number times the rows pointed at, less the sum of their numbers.
Cost: rows x configurations^3, whatever the window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference import OTHER, Language, Table, codes_of, tabulate
from workloads import RESIDUE_OF


@dataclass(frozen=True)
class Maps:
    """By type of a row: the maps without pointing at the row, and what pointing at it adds."""

    plain: np.ndarray
    pointing: np.ndarray

    @staticmethod
    def of(table: Table) -> Maps:
        maps = np.zeros((2, len(table.kinds), table.size, table.size), dtype=np.int64)
        for code, kind in enumerate(table.kinds):
            for move in table.moves[kind]:
                maps[int(move.points), code, move.target, move.source] += 1
        return Maps(*maps)

    def at(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The map of each of some rows; one that is pointed at counts as its weight."""
        return self.plain[codes] + weights[:, None, None] * self.pointing[codes]


def accepted(table: Table, types: np.ndarray, window: int, weights: np.ndarray) -> np.ndarray:
    """For every row as an end, what the table counts over the rows of its window before it."""
    block_count = -(-len(types) // window) + 1  # One more, of no rows, before the first.
    size = block_count * window
    codes = np.full(size, table.kinds.index(OTHER), dtype=np.int8)
    codes[window : window + len(types)] = codes_of(table, types)
    rows = codes.reshape(block_count, window)
    weighted = np.zeros(size, dtype=np.int64)
    weighted[window : window + len(types)] = weights
    by_row = weighted.reshape(block_count, window)
    maps = Maps.of(table)
    heads = np.empty((window, block_count, table.size), dtype=np.int64)
    product = np.tile(np.eye(table.size, dtype=np.int64), (block_count, 1, 1))
    for at in range(window):
        heads[at] = product[:, :, 0]
        product = product @ maps.at(rows[:, at], by_row[:, at]) % RESIDUE_OF
    total = np.zeros((window, block_count), dtype=np.int64)
    product = np.tile(np.eye(table.size, dtype=np.int64), (block_count, 1, 1))
    for at in reversed(range(window)):
        tails = product[:-1, table.accepting, :].sum(axis=1) % RESIDUE_OF
        total[at, 1:] = (tails * heads[at, 1:] % RESIDUE_OF).sum(axis=1) % RESIDUE_OF
        product = maps.at(rows[:, at], by_row[:, at]) @ product % RESIDUE_OF
    return total.T.reshape(-1)[window : window + len(types)]


def by_end(
    query: str, types: np.ndarray, window: int, strategy: str, pointing: bool = False
) -> np.ndarray:
    """For each row that can end a match, the remainder of what `reference.totals` sums up."""
    table = tabulate(query, strategy, pointing)
    numbers = np.arange(len(types))
    [ends] = np.nonzero(types == Language.of(query).end[0])
    found = accepted(table, types, window, np.ones_like(numbers))
    if pointing:
        found = numbers * found - accepted(table, types, window, numbers)
    return found[ends] % RESIDUE_OF


def total(query: str, types: np.ndarray, window: int, strategy: str, pointing: bool = False) -> int:
    """The sum of the remainders by end: exact if each is exact, else to be reduced once more."""
    return int(by_end(query, types, window, strategy, pointing).sum())
