"""SELECT NEXT, LAST, MAX and STRICT against the oracle: all small formulas, random larger ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import check, run, snapshot_at_every_cut
from test_semantics import COMMON, FEATURES, can_match, compare

import oracle
from generators import (
    SELECTED,
    STREAMS,
    TERMS,
    UNARY,
    formulas_up_to,
    queries,
    rows,
    type_streams,
)

STRATEGIES = ("NEXT", "LAST", "MAX", "STRICT")
WINDOWS = (None, oracle.Events(2), oracle.Events(3))


def compare_exhaustively(size: int, length: int, every: int, seed: int) -> int:
    """All formulas of a size over all streams of a length, each `every`-th combination of them
    with a strategy and a window."""
    compared = 0
    rng = random.Random(seed)
    streams = [list(stream) for stream in type_streams(length)]
    for formula in formulas_up_to(size, UNARY):
        if not can_match(oracle.Query(formula)):
            continue
        for stream in streams:
            if rng.randrange(every) == 0:
                asked = oracle.Query(formula, rng.choice(STRATEGIES), window=rng.choice(WINDOWS))
                check(asked, stream, paths=(run, snapshot_at_every_cut))
                compared += 1
    return compared


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(size=3, length=5, every=60, seed=1) > 100


@pytest.mark.slow
def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_exhaustively(size=3, length=5, every=6, seed=2) > 1000


selected = st.builds(
    lambda asked, strategy: replace(asked, strategy=strategy),
    queries(FEATURES | TERMS | STREAMS | SELECTED),
    st.sampled_from(STRATEGIES),
)


@settings(max_examples=200, **COMMON)
@given(selected, rows(), st.integers(0, 1000))
def test_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    compare(asked, events, seed)


@pytest.mark.slow
@settings(max_examples=300, **COMMON)
@given(selected, rows(max_size=10), st.integers(0, 1000))
def test_many_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    compare(asked, events, seed)
