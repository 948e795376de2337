"""Time bounds compiled to clocks, against the oracle: runs by brute force, without the engine."""

from __future__ import annotations

import random

import pytest
from clock_runner import complex_events
from hypothesis import assume, given, settings
from test_semantics import COMMON

import catena
import oracle
from catena.compile.automaton import ColumnNames, build
from catena.compile.cea import Automaton
from catena.query.normalize import normalize
from catena.query.parse import parse_formula
from generators import (
    SELECTED,
    TERMS,
    TIMED,
    UNARY,
    Features,
    formulas,
    formulas_of_size,
    rows,
    type_streams,
)


def automaton(text: str) -> Automaton:
    return build(normalize(parse_formula(text)), ColumnNames("type", None))


def is_timed(formula: oracle.Formula) -> bool:
    return any(
        isinstance(part, oracle.Within) or getattr(part, "interval", None) is not None
        for part in oracle.subformulas(formula)
    )


def compare(formula: oracle.Formula, events: list[dict]) -> None:
    """The runs of the formula's automaton give what the oracle says."""
    try:
        made = automaton(formula.text())
    except catena.CatenaLimitError:
        assume(False)
    except catena.CatenaError as error:
        assume("not supported yet" not in str(error))
        raise
    try:
        expected = oracle.complex_events(formula, events, time="ts", budget=20_000)
    except oracle.OverBudget:
        assume(False)
    assert complex_events(made, events) == expected


# ---------------------------------------------------------------------------------------------
# Against the oracle


def compare_exhaustively(size: int, features: Features, length: int, every: int, seed: int) -> int:
    compared = 0
    rng = random.Random(seed)
    streams = [list(stream) for stream in type_streams(length)]
    for formula in filter(is_timed, formulas_of_size(size, features)):
        for stream in streams:
            if rng.randrange(every) == 0:
                compare(formula, stream)
                compared += 1
    return compared


SMALL: Features = frozenset({"or", "and", ";", "+", ":"}) | TIMED


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(2, UNARY | TIMED, length=4, every=2, seed=1) > 50
    assert compare_exhaustively(3, UNARY | TIMED, length=4, every=40, seed=2) > 100
    assert compare_exhaustively(4, SMALL, length=5, every=50, seed=3) > 300


timed = formulas(UNARY | TIMED | TERMS, max_depth=4).filter(is_timed)
nested = formulas(UNARY | TIMED | TERMS | SELECTED, max_depth=4).filter(is_timed)


@settings(max_examples=150, **COMMON)
@given(timed, rows(max_size=7))
def test_random_formulas(formula: oracle.Formula, events: list[dict]) -> None:
    compare(formula, events)


@settings(max_examples=80, **COMMON)
@given(nested, rows(max_size=6))
def test_random_formulas_with_strategies(formula: oracle.Formula, events: list[dict]) -> None:
    compare(formula, events)


@pytest.mark.slow
@settings(max_examples=3000, **COMMON)
@given(nested | timed, rows(max_size=8))
def test_many_random_formulas(formula: oracle.Formula, events: list[dict]) -> None:
    compare(formula, events)
