"""Time bounds compiled to clocks, against the oracle: runs by brute force, without the engine."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys

import pyarrow as pa
import pytest
from clock_runner import Run, complex_events, runs_by_row
from hypothesis import assume, given, settings
from test_semantics import COMMON

import catena
import oracle
from catena import _core
from catena.compile import binding, clocks
from catena.compile.automaton import ColumnNames, build
from catena.compile.binding import in_ticks, whole_bounds
from catena.compile.cea import Automaton, project
from catena.compile.clocks import has_synchronous_resets, settled
from catena.compile.plan import _actions
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

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def automaton(text: str) -> Automaton:
    return build(normalize(parse_formula(text)), ColumnNames("type", None))


def is_timed(formula: oracle.Formula) -> bool:
    return any(
        isinstance(part, oracle.Within) or getattr(part, "interval", None) is not None
        for part in oracle.subformulas(formula)
    )


def runnable(formula: oracle.Formula) -> Automaton | None:
    """The formula's automaton, if the runner here can run it: it knows clocks only."""
    try:
        made = automaton(formula.text())
    except catena.CatenaLimitError:
        return None
    except catena.CatenaError as error:
        if "not supported yet" in str(error):
            return None
        raise
    # What strategies compare and conditions ask of earlier events is tested elsewhere.
    reads_events = any(t.conditions or t.appends for t in made.transitions)
    return None if made.scopes or reads_events else made


def compare(formula: oracle.Formula, events: list[dict]) -> bool:
    """The runs of the formula's automaton give what the oracle says, if both can tell."""
    made = runnable(formula)
    try:
        expected = oracle.complex_events(formula, events, time="ts", budget=20_000)
    except oracle.OverBudget:
        return False
    if made is None:
        return False
    assert complex_events(made, events) == expected
    few = settled(made)
    assert len(few.clocks) <= len(made.clocks)
    assert complex_events(few, events) == expected
    if has_synchronous_resets(few):
        assert not apart(few, events)
    return True


def apart(made: Automaton, events: list[dict]) -> list[tuple[Run, Run]]:
    """Pairs of runs with one start and the same marks so far that differ in their clocks."""
    found = []
    for runs in runs_by_row(made, events):
        alike: dict[object, Run] = {}
        for run in runs:
            other = alike.setdefault((run.start, run.marks), run)
            if other.clocks != run.clocks:
                found.append((other, run))
    return found


# ---------------------------------------------------------------------------------------------
# Against the oracle


def compare_exhaustively(size: int, features: Features, length: int, every: int, seed: int) -> int:
    compared = 0
    rng = random.Random(seed)
    streams = [list(stream) for stream in type_streams(length)]
    for formula in filter(is_timed, formulas_of_size(size, features)):
        for stream in streams:
            if rng.randrange(every) == 0:
                compared += compare(formula, stream)
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
    assume(compare(formula, events))


@settings(max_examples=80, **COMMON)
@given(nested, rows(max_size=6))
def test_random_formulas_with_strategies(formula: oracle.Formula, events: list[dict]) -> None:
    assume(compare(formula, events))


@pytest.mark.slow
@settings(max_examples=400, **COMMON)
@given(nested | timed, rows(max_size=8))
def test_many_random_formulas(formula: oracle.Formula, events: list[dict]) -> None:
    assume(compare(formula, events))


# ---------------------------------------------------------------------------------------------
# Few clocks, synchronous resets


def clock_count(text: str) -> int:
    return len(settled(automaton(text)).clocks)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A ;[<= 1] B", 1),
        ("A ;[<= 1] B ;[<= 2] C ;[<= 3] D", 1),
        ("(A ;[<= 1] B ;[<= 2] C WITHIN 5)", 2),
        ("((A ; B WITHIN 1) ; C WITHIN 5)", 1),
        ("(A ; (B ; C WITHIN 1) WITHIN 5)", 2),
        ("(A ; B WITHIN 5) AND (A ;[<= 1] B)", 1),
        ("(A ; B WITHIN 5) AND (A ; B WITHIN 3 EVENTS)", 2),
        ("(A ; B WITHIN 5 [v]) AND (A ; B WITHIN 5 [w])", 2),
        ("(A WITHIN 5)", 0),
        ("(A ;[<= 1] B)+[<= 2]", 1),
        ("(A ;[<= 1] B) OR (C ;[<= 1] D)", 1),
        ("STRICT(A ;[<= 1] B) AND STRICT(A ;[<= 1] B)", 1),
    ],
)
def test_few_clocks(text: str, count: int) -> None:
    assert clock_count(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "A ;[<= 1] B ;[<= 2] C",
        "(A ;[<= 1] B+[<= 3] ;[<= 2] C WITHIN 5)",
        "(A ; B+ ; C WITHIN 5) OR (A ; B+ ;[<= 3] C)",
        "NEXT(A ; B) ;[<= 1] C",
        "(A ; B WITHIN 5) AND (A ;[<= 1] B)",
    ],
)
def test_synchronous_resets(text: str) -> None:
    assert has_synchronous_resets(settled(automaton(text)))


@pytest.mark.parametrize(
    "text",
    [
        "A ; PROJECT[](B) ;[<= 1] C",
        "A+ ; (A+ WITHIN 1)",
        "A ; (PROJECT[](A) ; B WITHIN 1)",
    ],
)
def test_resets_that_are_not_synchronous(text: str) -> None:
    made = settled(automaton(text))
    assert not has_synchronous_resets(made)
    assert apart(made, [{"type": letter, "ts": i // 4} for i, letter in enumerate("AABABCAAB")])


def test_what_is_shown_decides() -> None:
    """Resets of a projection may not be synchronous where those of the whole are."""
    whole = automaton("A ; B AS x ;[<= 1] C")
    assert has_synchronous_resets(settled(whole))
    assert not has_synchronous_resets(settled(project(whole, ["A", "C"])))


def test_too_many_pairs_do_not_count_as_synchronous(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(A ; B+ ; C WITHIN 5) OR (A ; B+ ;[<= 3] C)"
    monkeypatch.setattr(clocks, "PAIR_COUNT_MAX", 3)
    made = settled(automaton(text))
    assert not has_synchronous_resets(made) and len(made.clocks) == 1


# ---------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize(
    ("formula", "message", "column"),
    [
        ("A ;[<= 5 s] B", "a time bound needs a time column", 19),
        ("A :+[<= 5 s]", "a time bound needs a time column", 20),
        ("C OR (A ; B WITHIN 5 s)", "a time bound needs a time column", 35),
        ("(A WITHIN [> 0 s])", "(A WITHIN [> 0 s]) can never match", 16),
    ],
)
def test_refused(formula: str, message: str, column: int) -> None:
    time = None if "column" in message else "ts"
    with pytest.raises(catena.CatenaError) as caught:
        catena.Query(f"SELECT * WHERE {formula}", time=time)
    assert caught.value.message.startswith(message)
    assert caught.value.column == column


# ---------------------------------------------------------------------------------------------
# What the engine is told


def test_actions() -> None:
    plan = catena.Query("SELECT * WHERE (A ;[<= 5 s] B ; C WITHIN 9 EVENTS)", time="ts").plan
    assert [clock.kind.value for clock in plan.clocks] == [0, 1]
    assert len(plan.bounds) == 2
    actions = [
        plan._clock_action(checks, resets) for checks, resets, *_ in _actions(plan.automaton)
    ]
    assert actions == [([], []), ([], [0, 1]), ([(0, 0)], []), ([(1, 1)], [])]


def test_the_plan_does_not_depend_on_the_order_of_sets() -> None:
    text = (
        "SELECT * WHERE ((A OR B)+[< 1] ;[<= 2] (C ; D WITHIN 3) ;[> 1] E WITHIN 9 EVENTS) "
        "AND ((A OR B)+ ;[<= 7] C ;[< 4] D ; E WITHIN 8)"
    )
    scopes = "SELECT MAX * WHERE NEXT((A OR B) ;[< 1] C) ; LAST(NEXT(D ;[= 2] E) ; (A OR C))"
    code = (
        f"import catena; print(*(catena.Query(text, time='ts').plan.to_text() "
        f"for text in ({text!r}, {scopes!r})))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(printed) == 1


def test_a_long_sequence_is_compiled_in_no_time() -> None:
    kinds = [f"T{i}" for i in range(200)]
    query = catena.swg(kinds, ["[<= 5]"] * 199, window="100", time="ts")
    assert len(query.plan.clocks) == 1 and query.plan.has_synchronous_resets


def test_untimed_queries_have_no_actions() -> None:
    assert catena.Query("SELECT * WHERE (A WITHIN 5 s) ; B", time="ts").plan.clocks == ()


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("[<= 5 s]", (INT64_MIN, 5000)),
        ("[< 5 s]", (INT64_MIN, 4999)),
        ("[> 1.5 ms]", (2, INT64_MAX)),
        ("(1 ms, 2 ms)", (2, 1)),
        ("[0.5 ms, 2.5 ms]", (1, 2)),
        ("[= 3 ms]", (3, 3)),
    ],
)
def test_bounds_of_whole_differences(text: str, bounds: tuple[int, int]) -> None:
    query = catena.Query(f"SELECT * WHERE A ;{text} B", time="ts")
    ((_, _, interval),) = query.plan.bounds
    ends = (
        None if end is None else in_ticks(end, pa.timestamp("ms"), query.plan)
        for end in (interval.low, interval.high)
    )
    assert whole_bounds(interval, *ends) == bounds


class Told:
    """In place of the core's intervals: what they are made of."""

    def __init__(self, *ends: int) -> None:
        self.ends = ends

    @staticmethod
    def of_floats(*ends: float | bool) -> tuple[float | bool, ...]:
        return ends


def told(text: str, type: pa.DataType, monkeypatch: pytest.MonkeyPatch, **settings: str) -> object:
    monkeypatch.setattr(_core, "Interval", Told, raising=False)
    plan = catena.Query(f"SELECT * WHERE A ;{text} B", time="ts", **settings).plan
    schema = pa.schema([("type", pa.string()), ("ts", type)])
    (bound,) = plan.bounds
    interval = binding._interval(bound, plan, schema)
    return interval.ends if isinstance(interval, Told) else interval


def test_intervals_in_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told("[<= 5 s]", pa.timestamp("us"), monkeypatch) == (INT64_MIN, 5_000_000)
    assert told("[36 h, 3 d)", pa.date32(), monkeypatch) == (2, 2)
    assert told("[> 5]", pa.int32(), monkeypatch) == (6, INT64_MAX)
    assert told("[= 1 s]", pa.int64(), monkeypatch, time_unit="ms") == (1000, 1000)
    assert told("[> 99999999999999999999]", pa.int64(), monkeypatch) == (1, 0)
    assert told("(0.5, 2]", pa.float64(), monkeypatch) == (0.5, 2.0, True, False)
    assert told("[>= 1 s]", pa.float32(), monkeypatch, time_unit="s") == (1, math.inf, False, False)


def test_intervals_need_the_units_that_windows_need(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(catena.CatenaError, match="the bound needs a unit"):
        told("[<= 5]", pa.timestamp("us"), monkeypatch)
    with pytest.raises(catena.CatenaError, match="its unit is not known"):
        told("[<= 5 s]", pa.int64(), monkeypatch)


# ---------------------------------------------------------------------------------------------
# Sequences with gaps


def test_a_sequence_with_gaps() -> None:
    query = catena.swg(
        ["A", "v > 3 OR `w` = 'x'", "`a b` = 1"], ["(0, 5 s]", None], window="1 min", time="ts"
    )
    assert query.text == (
        "SELECT * WHERE A AS e1 ;(0 s, 5 s] (ANY AS e2 FILTER e2[v > 3 OR w = 'x']) ; "
        "(ANY AS e3 FILTER e3[`a b` = 1]) WITHIN 1 min"
    )
    assert query.plan.variables == ("e1", "e2", "e3")


@pytest.mark.parametrize(
    ("kinds", "gaps", "message"),
    [
        ([], [], "a sequence with gaps needs at least one kind"),
        (["A", "B"], [], "2 kinds of rows have 1 gaps between them, not 0"),
        (["A", "B"], ["5 s"], "gap 1 is '5 s'"),
        (["A", "B"], [""], "gap 1 is '', which is not an interval"),
        (["A", "B"], ["C ;"], "gap 1 is 'C ;', which is not an interval"),
        (["A", "v >"], [None], "kind 2 is 'v >'"),
        (["v] ; A[w", "B"], [None], "kind 1 is"),
    ],
)
def test_sequences_with_gaps_that_are_none(kinds, gaps, message: str) -> None:
    with pytest.raises(catena.CatenaError) as caught:
        catena.swg(kinds, gaps, time="ts")
    assert caught.value.message.startswith(message)
