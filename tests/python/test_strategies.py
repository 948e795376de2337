"""SELECT NEXT, LAST, MAX and STRICT against the oracle: all small formulas, random larger ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_semantics import COMMON, FEATURES, compare, compare_exhaustively

import oracle
from generators import (
    SELECTED,
    STREAMS,
    TERMS,
    UNARY,
    formulas_up_to,
    queries,
    rows,
)

STRATEGIES = ("NEXT", "LAST", "MAX", "STRICT")
WINDOWS = (None, oracle.Events(2), oracle.Events(3))


def ask(formula: oracle.Formula, rng: random.Random) -> oracle.Query:
    return oracle.Query(formula, rng.choice(STRATEGIES), window=rng.choice(WINDOWS))


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(formulas_up_to(3, UNARY), 5, every=60, seed=1, ask=ask) > 100


@pytest.mark.slow
def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_exhaustively(formulas_up_to(3, UNARY), 5, every=1, seed=2, ask=ask) > 5000


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
