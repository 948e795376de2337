"""Event expressions and streams for tests: all small ones, and random larger ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from oracle.algebra import Both, Event, Never, Term, Within

SYMBOLS = "|+-;"
World = dict[str, tuple[int, ...]]


@cache
def terms(operators: int, names: str = "AB", limits: tuple[int, ...] = (1, 3)) -> tuple[Term, ...]:
    """All expressions with this many operators."""
    if operators == 0:
        return tuple(map(Event, names))
    found: list[Term] = [
        Within(operand, limit)
        for operand in terms(operators - 1, names, limits)
        for limit in limits
    ]
    for left_count in range(operators):
        sides = itertools.product(
            terms(left_count, names, limits), terms(operators - 1 - left_count, names, limits)
        )
        found += [Both(s, left, right) for left, right in sides for s in SYMBOLS]
    return tuple(found)


def first_name(term: Term) -> str:
    """The name of the leftmost primitive."""
    while not isinstance(term, Event):
        assert isinstance(term, Both | Within)
        term = term.left if isinstance(term, Both) else term.operand
    return term.name


def random_term(
    rng: random.Random, operators: int, names: Sequence[str] = "ABC", limit_max: int = 6
) -> Term:
    """An expression with this many operators; every operator is as likely as the others."""
    if operators == 0:
        return Never() if rng.random() < 0.02 else Event(rng.choice(names))
    symbol = rng.choice((*SYMBOLS, "[]"))
    if symbol == "[]":
        return Within(random_term(rng, operators - 1, names), rng.randint(0, limit_max))
    left = rng.randint(0, operators - 1)
    return Both(
        symbol,
        random_term(rng, left, names, limit_max),
        random_term(rng, operators - 1 - left, names, limit_max),
    )


def worlds(ticks: int, names: str = "AB") -> Iterator[World]:
    """All interpretations of up to this many ticks."""
    subsets = list(itertools.product((False, True), repeat=len(names)))
    for chosen in itertools.product(subsets, repeat=ticks):
        yield {name: tuple(t for t in range(ticks) if chosen[t][i]) for i, name in enumerate(names)}


def random_world(rng: random.Random, ticks: int, names: Sequence[str]) -> World:
    """An interpretation whose times have gaps."""
    times = sorted(rng.sample(range(2 * ticks), ticks))
    return {name: tuple(t for t in times if rng.random() < 0.4) for name in names}


def rows_of(world: World, rng: random.Random | None = None) -> list[dict[str, object]]:
    """The rows of an interpretation in order of time; with a source of randomness also rows of
    other types, and primitives that are told more than once in a tick."""
    rows: list[dict[str, object]] = []
    for time in sorted({t for times in world.values() for t in times}):
        types = [name for name, times in world.items() if time in times]
        if rng is not None:
            types += rng.choices([*types, "Other"], k=rng.randint(0, 2))
            rng.shuffle(types)
        rows += [{"ts": time, "type": type} for type in types]
    return rows


def table_of_worlds(all_worlds: Sequence[World]) -> pa.Table:
    """All interpretations as one stream with a key: the tick, the type, the interpretation."""
    found = [
        (time, number, name)
        for number, world in enumerate(all_worlds)
        for name, times in world.items()
        for time in times
    ]
    found.sort()
    times, numbers, names = zip(*found, strict=True)
    types = pa.array(names).dictionary_encode()
    return pa.table({"ts": np.array(times), "world": np.array(numbers), "type": types})
