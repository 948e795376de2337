"""Detection against the oracle: all small expressions in all interpretations, and random ones.

What is detected must be a valid restriction of the meaning (Definition 13): it occurs, it has the
latest start of its end, and there is one for each end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import catena
from algebra_generators import (
    World,
    first_name,
    random_term,
    random_world,
    rows_of,
    table_of_worlds,
    terms,
    worlds,
)
from oracle.algebra import TIMES, VALUES, Term, meaning, text_of, why_not_rem
from oracle.algebra_worlds import Worlds

Rows = Sequence[dict[str, Any]]


# ---------------------------------------------------------------------------------------------
# All expressions, all interpretations


class AllWorlds:
    """All interpretations of two primitives over some ticks, as a stream and as an oracle."""

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks
        self.worlds = list(worlds(ticks))
        self.table = table_of_worlds(self.worlds)
        self.oracle = Worlds(self.worlds, ticks)

    def check(self, term: Term, *, keep: bool = True) -> None:
        a = catena.Algebra(text_of(term), time="ts", by=["world"])
        found = a.run(self.table).to_arrow()
        assert found.num_rows == len(
            set(zip(found["world"].to_pylist(), found["end_time"].to_pylist(), strict=True))
        )
        starts = np.full((len(self.worlds), self.ticks), -1)
        starts[found["world"], found["end_time"]] = found["start_time"]
        expected = self.oracle.detected(term, keep=keep)
        wrong = np.argwhere(starts != expected)
        assert not len(wrong), f"{text_of(term)} in {self.worlds[wrong[0][0]]}"


@pytest.fixture(scope="module")
def six_ticks() -> AllWorlds:
    return AllWorlds(6)


def test_the_oracle_over_many_interpretations_is_the_plain_one() -> None:
    rng = random.Random(1)
    some = [world for world in worlds(4) if rng.random() < 0.2]
    oracle = Worlds(some, 4)
    for term in [*terms(1), *rng.sample(terms(2), 60)]:
        starts = oracle.meaning(term)
        for number, world in enumerate(some):
            pairs = {tuple(map(int, pair)) for pair in np.argwhere(starts[number])}
            assert pairs == meaning(term, world, TIMES), text_of(term)


@pytest.mark.parametrize("operators", [0, 1, 2])
def test_all_small_expressions_in_all_interpretations_of_six_ticks(
    operators: int, six_ticks: AllWorlds
) -> None:
    """A and B can change places, so A comes first."""
    for term in terms(operators):
        if first_name(term) == "A":
            six_ticks.check(term)


@pytest.mark.parametrize("symbol", ["|", "+", "-", ";", "[]"])
def test_some_expressions_of_three_operators(symbol: str, six_ticks: AllWorlds) -> None:
    rng = random.Random(symbol)
    chosen = [t for t in terms(3) if getattr(t, "symbol", "[]") == symbol and first_name(t) == "A"]
    for term in rng.sample(chosen, 20):
        six_ticks.check(term, keep=False)


@pytest.mark.slow
@pytest.mark.parametrize("symbol", ["|", "+", "-", ";", "[]"])
def test_all_expressions_of_three_operators_in_all_interpretations_of_six_ticks(
    symbol: str, six_ticks: AllWorlds
) -> None:
    for term in terms(3):
        if getattr(term, "symbol", "[]") == symbol and first_name(term) == "A":
            six_ticks.check(term, keep=False)


# ---------------------------------------------------------------------------------------------
# With values


def check_values(term: Term, all_worlds: Sequence[World], table: pa.Table) -> None:
    a = catena.Algebra(text_of(term), time="ts", by=["world"], values=True)
    times, types = table["ts"].to_pylist(), table["type"].to_pylist()
    detected: dict[int, list[frozenset[tuple[str, int]]]] = {}
    for m in a.run(table):
        rows = [(name, row) for name, positions in m.rows.items() for row in positions]
        assert all(types[row] == name for name, row in rows)
        found = frozenset((name, times[row]) for name, row in rows)
        assert (m.start_time, m.end_time) == (VALUES.start(found), VALUES.end(found))
        detected.setdefault(m["world"], []).append(found)
    for number, world in enumerate(all_worlds):
        wrong = why_not_rem(meaning(term, world, VALUES), detected.get(number, []), VALUES)
        assert not wrong, f"{text_of(term)} in {world}: {wrong}"


@pytest.mark.parametrize("operators", [1, 2])
def test_rows_of_all_small_expressions(operators: int) -> None:
    all_worlds = list(worlds(3))
    table = table_of_worlds(all_worlds)
    for term in terms(operators):
        if first_name(term) == "A":
            check_values(term, all_worlds, table)


@pytest.mark.slow
def test_rows_of_many_expressions_of_three_operators() -> None:
    all_worlds = list(worlds(3))
    table = table_of_worlds(all_worlds)
    for term in random.Random(3).sample(terms(3), 1500):
        if first_name(term) == "A":
            check_values(term, all_worlds, table)


@pytest.mark.slow
def test_rows_of_small_expressions_in_all_interpretations_of_six_ticks() -> None:
    all_worlds = list(worlds(6))
    table = table_of_worlds(all_worlds)
    for term in [*terms(1), *random.Random(2).sample(terms(2), 10)]:
        check_values(term, all_worlds, table)


# ---------------------------------------------------------------------------------------------
# Every path

Path = Callable[[catena.Algebra, Rows, random.Random], list[catena.Instance]]


def by_run(a: catena.Algebra, rows: Rows, rng: random.Random) -> list[catena.Instance]:
    return list(a.run(rows))


def by_row(a: catena.Algebra, rows: Rows, rng: random.Random) -> list[catena.Instance]:
    d = a.stream()
    return [m for row in rows for m in d.push(row)] + list(d.finish())


def by_batches(a: catena.Algebra, rows: Rows, rng: random.Random) -> list[catena.Instance]:
    d, found, at = a.stream(), [], 0
    while at < len(rows):
        size = rng.randint(1, 4)
        found += list(d.push(pa.Table.from_pylist(list(rows[at : at + size]))))
        at += size
    return found + list(d.finish())


def by_snapshots(a: catena.Algebra, rows: Rows, rng: random.Random) -> list[catena.Instance]:
    d, found = a.stream(), []
    for row in rows:
        d = a.restore(d.snapshot())
        found += list(d.push(row))
    return found + list(a.restore(d.snapshot()).finish())


PATHS: list[Path] = [by_run, by_row, by_batches, by_snapshots]


def check_paths(term: Term, world: World, rng: random.Random, paths: Iterable[Path]) -> None:
    rows = rows_of(world, rng)
    if not rows:
        return
    last_row = {(row["type"], row["ts"]): at for at, row in enumerate(rows)}
    times = catena.Algebra(text_of(term), time="ts")
    values = catena.Algebra(text_of(term), time="ts", values=True)
    for path in paths:
        pairs = [(m.start_time, m.end_time) for m in path(times, rows, rng)]
        wrong = why_not_rem(meaning(term, world, TIMES), pairs, TIMES)
        assert not wrong, f"{text_of(term)} in {world} by {path.__name__}: {wrong}"
        found = []
        for m in path(values, rows, rng):
            named = [(name, row) for name, positions in m.rows.items() for row in positions]
            assert all(last_row[name, rows[row]["ts"]] == row for name, row in named)
            found.append(frozenset((name, rows[row]["ts"]) for name, row in named))
        assert [(VALUES.start(e), VALUES.end(e)) for e in found] == pairs
        wrong = why_not_rem(meaning(term, world, VALUES), found, VALUES)
        assert not wrong, f"{text_of(term)} in {world} by {path.__name__}: {wrong}"


def test_every_path_of_small_expressions() -> None:
    rng = random.Random(3)
    for world in worlds(3):
        for term in rng.sample(terms(1), 2):
            check_paths(term, world, rng, PATHS)


@pytest.mark.parametrize("operators", range(2, 8))
def test_every_path_of_random_expressions(operators: int) -> None:
    rng = random.Random(operators)
    for _ in range(25):
        world = random_world(rng, rng.randint(2, 6), "ABC")
        check_paths(random_term(rng, operators, "ABC"), world, rng, PATHS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_every_path_of_more_random_expressions(seed: int) -> None:
    rng = random.Random(100 + seed)
    for _ in range(80):
        world = random_world(rng, rng.randint(2, 7), "ABCD")
        check_paths(random_term(rng, rng.randint(2, 7), "ABCD"), world, rng, PATHS)


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions_over_longer_streams(seed: int) -> None:
    """With times only, the meaning stays small enough for twenty ticks."""
    rng = random.Random(200 + seed)
    for _ in range(12):
        term = random_term(rng, rng.randint(3, 12), "ABCD", limit_max=12)
        world = random_world(rng, 20, "ABCD")
        found = by_batches(catena.Algebra(text_of(term), time="ts"), rows_of(world, rng), rng)
        pairs = [(m.start_time, m.end_time) for m in found]
        wrong = why_not_rem(meaning(term, world, TIMES), pairs, TIMES)
        assert not wrong, f"{text_of(term)} in {world}: {wrong}"
