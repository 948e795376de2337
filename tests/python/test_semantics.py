"""The engine against the oracle: all small formulas, random larger ones, through every path."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from paths import PATHS, check, run, snapshot_at_every_cut

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


def compare_exhaustively(size: int, length: int, every: int, seed: int) -> int:
    """All formulas of a size over all streams of a length, each `every`-th pair of them."""
    compared = 0
    rng = random.Random(seed)
    streams = [list(stream) for stream in type_streams(length)]
    for formula in formulas_up_to(size, UNARY):
        asked = oracle.Query(formula)
        if not can_match(asked):
            continue
        for stream in streams:
            if rng.randrange(every) == 0:
                check(asked, stream, paths=(run, snapshot_at_every_cut))
                compared += 1
    return compared


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(size=3, length=4, every=40, seed=1) > 100


@pytest.mark.slow
def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_exhaustively(size=3, length=4, every=4, seed=2) > 1000


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
