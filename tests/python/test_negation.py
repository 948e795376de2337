"""`; NOT (...) ;`, `->` and `UNLESS` against the oracle: all small formulas over all short streams,
random larger ones, under every clause and strategy, by every path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import PATHS, Path, Rows, check, push_in_batches, run, snapshot_at_every_cut
from test_semantics import COMMON, can_match, compare, compare_exhaustively

import oracle
from generators import (
    NEGATED,
    QUERY,
    SELECTED,
    STREAMS,
    TERMS,
    TIMED,
    UNARY,
    formulas_up_to,
    queries,
    rows,
    rows_of,
    type_streams,
)

A, B, C = oracle.Type("A"), oracle.Type("B"), oracle.Type("C")
ANY = oracle.AnyType()


def check_or_nothing(
    asked: oracle.Query, events: Rows, paths: Sequence[Path] = (run,), **columns: str
) -> None:
    """Compares with the oracle; what is refused because it can never match does not."""
    if can_match(asked):
        check(asked, events, paths=paths, **columns)
    else:
        assert not any(oracle.results(asked, events, **columns)), asked.text()


def negations(size: int, features: frozenset[str], types: tuple[str, ...] = ("A", "B")):
    """The formulas up to a size in which something is absent."""
    kinds = oracle.SequenceNot, oracle.Arrow, oracle.Unless
    for formula in formulas_up_to(size, features | NEGATED, types):
        if any(isinstance(part, kinds) for part in oracle.subformulas(formula)):
            yield formula


def sequence(*parts: oracle.Formula) -> oracle.Formula:
    whole = parts[0]
    for part in parts[1:]:
        whole = oracle.Sequence(whole, part)
    return whole


def x(formula: oracle.Formula) -> oracle.As:
    return oracle.As(formula, "x")


def positive(variable: str) -> oracle.Holds:
    return oracle.Holds(variable, oracle.Comparison(oracle.Attribute("v"), ">", oracle.Literal(0)))


def last_positive(variable: str) -> oracle.Comparison:
    return oracle.Comparison(oracle.VariableAttribute(variable, "v"), ">", oracle.Literal(0))


# ---------------------------------------------------------------------------------------------
# All small formulas


FEW = frozenset({"any", "or", ";", ":", "+"})


def short_streams_as_parts(length: int) -> list[dict]:
    """All streams over A and B up to a length, one after the other, told apart by their id."""
    several = [
        [{**row, "id": number, "ts": row["ts"] + number * length} for row in stream]
        for number, stream in enumerate(type_streams(length))
    ]
    return [row for stream in several for row in stream]


def compare_in_parts(formulas: Iterable[oracle.Formula], length: int, **clauses: Any) -> int:
    """The formulas over all short streams, each a part of one stream."""
    events, compared = short_streams_as_parts(length), 0
    for formula in formulas:
        check_or_nothing(oracle.Query(formula, partition=(("id",),), **clauses), events)
        compared += 1
    return compared


def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_in_parts(negations(4, UNARY), length=4) == 381


def test_small_formulas_by_every_path() -> None:
    assert compare_exhaustively(negations(4, UNARY | SELECTED), length=4, every=150, seed=1) > 80


@pytest.mark.parametrize("strategy", ["ANY", "NEXT", "LAST", "MAX", "STRICT"])
def test_all_small_formulas_under_every_strategy(strategy: str) -> None:
    window = oracle.Events(3) if strategy in ("NEXT", "MAX") else None
    assert compare_in_parts(negations(4, FEW), 4, strategy=strategy, window=window) == 99


@pytest.mark.slow
def test_all_formulas_of_five_parts_over_all_short_streams() -> None:
    assert compare_in_parts(negations(5, FEW), length=5) == 1179
    assert compare_in_parts(negations(4, UNARY | SELECTED), length=5) == 597


@pytest.mark.slow
def test_many_small_formulas_by_every_path() -> None:
    assert compare_exhaustively(negations(4, UNARY | SELECTED), length=4, every=10, seed=2) > 1000


# ---------------------------------------------------------------------------------------------
# Random larger ones

SUPPORTED = UNARY | NEGATED | SELECTED


@settings(max_examples=70, **COMMON)
@given(queries(UNARY | NEGATED | QUERY), rows(), st.integers(0, 1000))
def test_random_queries(asked, events, seed) -> None:
    compare(asked, events, seed)


@settings(max_examples=60, **COMMON)
@given(queries(SUPPORTED | TIMED | TERMS | STREAMS | QUERY), rows(), st.integers(0, 1000))
def test_random_queries_with_everything(asked, events, seed) -> None:
    compare(asked, events, seed)


@pytest.mark.slow
@settings(max_examples=300, **COMMON)
@given(
    queries(SUPPORTED | TIMED | TERMS | STREAMS | QUERY, max_depth=5),
    rows(max_size=10),
    st.integers(0, 1000),
)
def test_many_random_queries(asked, events, seed) -> None:
    compare(asked, events, seed)


# ---------------------------------------------------------------------------------------------
# Nested in each other and in everything else


NEGATIONS = {
    "between": oracle.SequenceNot(x(A), B, C),
    "between, of two rows": oracle.SequenceNot(x(A), oracle.Sequence(B, B), C),
    "between, of rows in touch": oracle.SequenceNot(x(A), oracle.Adjacent(B, C), C),
    "between, of repetitions": oracle.SequenceNot(
        x(A), sequence(B, oracle.Plus(oracle.Or(A, B)), C), C
    ),
    "next": oracle.Arrow(x(A), C),
    "next of two rows": oracle.Arrow(x(A), oracle.Sequence(B, C)),
    "next of next": oracle.Arrow(oracle.Arrow(x(A), B), C),
    "next of what has a next": oracle.Arrow(x(A), oracle.Arrow(B, C)),
    "unless": oracle.Unless(oracle.Sequence(x(A), C), B),
    "unless two rows": oracle.Unless(sequence(oracle.Plus(x(oracle.Or(A, B))), C), sequence(A, B)),
    "unless what is not undone": oracle.Unless(
        sequence(x(A), C), oracle.SequenceNot(B, oracle.Sequence(A, A), C)
    ),
    "unless unless": oracle.Unless(sequence(x(A), C), oracle.Unless(sequence(B, C), A)),
    "unless the first of its kind": oracle.Unless(
        sequence(x(A), C), oracle.Select("NEXT", sequence(B, C))
    ),
    "between, the longest of its kind": oracle.SequenceNot(
        x(A), oracle.Select("MAX", sequence(oracle.Plus(B), A)), C
    ),
    "between, the last of its kind, twice": oracle.SequenceNot(
        x(A),
        oracle.Select("LAST", sequence(B, A)),
        oracle.SequenceNot(B, oracle.Select("LAST", sequence(B, A)), C),
    ),
    "between, of rows close to each other": oracle.SequenceNot(
        x(A), oracle.Within(oracle.Sequence(B, oracle.Or(A, B)), oracle.Events(3)), C
    ),
    "unless repetitions close to each other": oracle.Unless(
        sequence(x(A), C),
        oracle.Within(
            sequence(oracle.Within(sequence(B, A), oracle.Events(2)), oracle.Plus(C)),
            oracle.Events(4),
        ),
    ),
    "between, with a condition": oracle.SequenceNot(
        x(A), oracle.Filter(oracle.As(oracle.Plus(B), "y"), positive("y")), C
    ),
    "between, with a condition on what came before": oracle.SequenceNot(
        x(A), oracle.Filter(B, last_positive("x")), C
    ),
}

AROUND = {
    "alone": lambda f: f,
    "repeated": oracle.Plus,
    "repeated in touch": oracle.AdjacentPlus,
    "after an A": lambda f: sequence(A, f),
    "before a C": lambda f: sequence(f, C),
    "or what it leaves out": lambda f: oracle.Or(f, sequence(A, B, C)),
    "and all of its kind": lambda f: oracle.And(f, oracle.Sequence(x(A), C)),
    "only x": lambda f: oracle.Project(("x",), f),
    "under a name": lambda f: oracle.Filter(oracle.As(f, "z"), positive("z")),
    "every x[P]": lambda f: oracle.Filter(f, positive("x")),
    "the last C": lambda f: oracle.Filter(f, last_positive("C")),
    "the first of its kind": lambda f: oracle.Select("NEXT", f),
    "the last of its kind": lambda f: oracle.Select("LAST", f),
    "the largest of its kind": lambda f: oracle.Select("MAX", f),
    "without gaps": lambda f: oracle.Select("STRICT", f),
    "short": lambda f: oracle.Within(f, oracle.Events(4)),
    "quick": lambda f: oracle.Within(f, oracle.Duration(3)),
    "soon after": lambda f: oracle.Sequence(A, f, oracle.Interval(high=2)),
    "unless": lambda f: oracle.Unless(sequence(ANY, ANY), f),
    "absent": lambda f: oracle.SequenceNot(A, f, C),
}

LETTERS = ("AABACBCBAC", "CABCBACAAC")


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", NEGATIONS)
def test_nested(name: str, around: str) -> None:
    asked = oracle.Query(AROUND[around](NEGATIONS[name]))
    for letters in LETTERS:
        check_or_nothing(asked, rows_of(letters), time="ts")


CLAUSES = {
    "partition": {"partition": (("id",),)},
    "window": {"window": oracle.Events(4)},
    "window of time": {"window": oracle.Duration(3)},
    "consume by any": {"consume": "ANY", "partition": (("id",),)},
    "consume by partition": {"consume": "PARTITION", "partition": (("id",),)},
    "consume the stream": {"consume": "ANY"},
    "limit": {"limit": 1},
    "any": {"strategy": "ANY"},
    "next": {"strategy": "NEXT", "window": oracle.Events(5)},
    "last": {"strategy": "LAST"},
    "max": {"strategy": "MAX", "items": ("x",)},
    "strict": {"strategy": "STRICT"},
}


@pytest.mark.parametrize("clause", CLAUSES)
def test_clauses(clause: str) -> None:
    for formula in NEGATIONS.values():
        asked, events = oracle.Query(formula, **CLAUSES[clause]), rows_of("AABACBCCABCBAC")
        check_or_nothing(asked, events, (push_in_batches, snapshot_at_every_cut), time="ts")


def test_time_bounds_outside_of_what_is_absent() -> None:
    """The second `;` may have a bound; both sides may have bounds of their own."""
    short, longer = oracle.Interval(high=2), oracle.Interval(low=2, high=6, low_open=True)
    timed = [
        oracle.SequenceNot(A, B, C, short),
        oracle.SequenceNot(oracle.Sequence(A, A, longer), B, oracle.Plus(C, short), longer),
        oracle.Arrow(oracle.Within(sequence(A, B), oracle.Events(3)), C),
        oracle.Unless(oracle.Sequence(A, C, longer), B),
        oracle.Unless(oracle.Within(oracle.Plus(oracle.Or(A, C), short), longer), sequence(A, A)),
    ]
    for formula in timed:
        for letters in ("AABACCCABCBACAAC", "ACCAACBBCAC"):
            check(oracle.Query(formula), rows_of(letters), paths=PATHS, time="ts")
