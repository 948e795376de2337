"""The engine against the oracle: all small formulas, random larger ones, through every path."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from paths import PATHS, check

import catena
import oracle
from generators import (
    QUERY,
    STREAMS,
    TERMS,
    UNARY,
    formulas_up_to,
    queries,
    rows,
    type_streams,
)

FEATURES = (UNARY | QUERY) - {"strategy"}


def can_match(asked: oracle.Query) -> bool:
    """False for what the package refuses because it can never match."""
    try:
        catena.Query(asked.text(), time="ts", stream="stream")
    except catena.CatenaError as error:
        if "can never match" in str(error) or "not supported yet" in str(error):
            return False
        raise
    return True


def compare_exhaustively(
    formulas: Iterable[oracle.Formula],
    length: int,
    every: int,
    seed: int,
    ask: Callable[[oracle.Formula, random.Random], oracle.Query] = lambda f, _: oracle.Query(f),
    **columns: str,
) -> int:
    """The formulas over all streams up to a length, each `every`-th pair of them; `ask` makes a
    query of a formula."""
    compared = 0
    rng = random.Random(seed)
    streams = [list(stream) for stream in type_streams(length)]
    for formula in formulas:
        chosen = [stream for stream in streams if rng.randrange(every) == 0]
        if not chosen or not can_match(oracle.Query(formula)):
            continue
        for stream in chosen:
            check(ask(formula, rng), stream, seed=seed, **columns)
        compared += len(chosen)
    return compared


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(formulas_up_to(2, UNARY), length=4, every=1, seed=1) > 100
    assert compare_exhaustively(formulas_up_to(3, UNARY), length=4, every=30, seed=1) > 100


@pytest.mark.slow
def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_exhaustively(formulas_up_to(3, UNARY), length=4, every=1, seed=2) > 4000


COMMON = {
    "deadline": None,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
}


def compare(asked: oracle.Query, events: list[dict], seed: int) -> None:
    assume(can_match(asked))
    try:
        check(asked, events, paths=PATHS, seed=seed, time="ts", stream="stream")
    except oracle.OverBudget:
        assume(False)


@settings(max_examples=150, **COMMON)
@given(queries(FEATURES), rows(), st.integers(0, 1000))
def test_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    compare(asked, events, seed)


@settings(max_examples=100, **COMMON)
@given(queries(FEATURES | TERMS | STREAMS), rows(), st.integers(0, 1000))
def test_random_queries_with_terms_and_streams(asked, events, seed) -> None:
    compare(asked, events, seed)


@pytest.mark.slow
@settings(max_examples=250, **COMMON)
@given(queries(FEATURES | TERMS | STREAMS, max_depth=5), rows(max_size=10), st.integers(0, 1000))
def test_many_random_queries(asked, events, seed) -> None:
    compare(asked, events, seed)
