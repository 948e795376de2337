"""Intersection, determinization, complement and negation of automata: closure properties on random
automata and streams, without the language. Runs are followed one by one (clock_runner.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from clock_runner import complex_events, runs_by_row
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import Rows
from test_semantics import COMMON

from catena.compile.absence import between, unless
from catena.compile.automaton import ColumnNames, build
from catena.compile.cases import CaseBudget
from catena.compile.cea import FINAL, INITIAL, Automaton, Guard, Transition, trimmed
from catena.compile.complement import complement, determinized, intersection
from catena.compile.counting import rows_counted
from catena.compile.selection import selected
from catena.compile.watching import unfolded
from catena.errors import CatenaLimitError
from catena.query import ast
from catena.query.normalize import normalize
from catena.query.parse import parse_formula
from generators import rows_of

Span = tuple[int, int]


def is_type(name: str) -> ast.Expression:
    return ast.Comparison(ast.CompareOp.EQ, ast.Attribute("type"), ast.Literal(name))


POSITIVE = ast.Comparison(ast.CompareOp.GT, ast.Attribute("v"), ast.Literal(0))
GUARDS: tuple[Guard, ...] = (
    frozenset(),
    frozenset({is_type("A")}),
    frozenset({is_type("B")}),
    frozenset({POSITIVE}),
    frozenset({is_type("A"), POSITIVE}),
    frozenset({is_type("B"), ast.IsTrue(POSITIVE, negated=True)}),
)


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    """Automata with up to five states; nothing enters the initial one or leaves the final one."""
    count = draw(st.integers(2, 5))
    transition = st.builds(
        Transition,
        st.sampled_from([s for s in range(count) if s != FINAL]),
        st.sampled_from(GUARDS),
        st.sampled_from([frozenset(), frozenset("x"), frozenset("xy")]),
        st.sampled_from([s for s in range(count) if s != INITIAL]),
    )
    return trimmed(Automaton(count, tuple(draw(st.lists(transition, max_size=8, unique=True)))))


@st.composite
def watching(draw: st.DrawFn) -> Automaton:
    """Automata that ask watchers: what a strategy leaves of a random one."""
    strategy = draw(st.sampled_from([ast.Strategy.NEXT, ast.Strategy.LAST, ast.Strategy.MAX]))
    return selected(strategy, draw(automata()), CaseBudget())


streams = st.text("ABC", max_size=7).map(rows_of)
either = automata() | watching()


def events(automaton: Automaton, rows: Rows):
    return complex_events(unfolded(automaton, CaseBudget()), rows)


def spans(automaton: Automaton, rows: Rows) -> set[Span]:
    return {(event.start, event.end) for event in events(automaton, rows)}


def all_spans(rows: Rows) -> Iterator[Span]:
    return ((start, end) for end in range(len(rows)) for start in range(end + 1))


# ---------------------------------------------------------------------------------------------
# Closure


@settings(max_examples=60, **COMMON)
@given(either, either, streams)
def test_intersection(one: Automaton, other: Automaton, rows: Rows) -> None:
    assert events(intersection(one, other), rows) == events(one, rows) & events(other, rows)


@settings(max_examples=60, **COMMON)
@given(either, streams)
def test_determinization(automaton: Automaton, rows: Rows) -> None:
    """It ends where the automaton does, without marks, and no two runs from one row are alive."""
    made = unfolded(determinized(automaton, CaseBudget()), CaseBudget())
    assert spans(made, rows) == spans(automaton, rows)
    assert not any(t.marks for t in made.transitions)
    for runs in runs_by_row(made, rows):
        kept = [(run.start, run.state == FINAL) for run in runs]
        assert len(kept) == len(set(kept))


@settings(max_examples=60, **COMMON)
@given(either, streams)
def test_complement(automaton: Automaton, rows: Rows) -> None:
    made = complement(automaton, CaseBudget())
    assert spans(made, rows) == set(all_spans(rows)) - spans(automaton, rows)
    assert spans(complement(made, CaseBudget()), rows) == spans(automaton, rows)


@settings(max_examples=40, **COMMON)
@given(either, either, streams)
def test_de_morgan(one: Automaton, other: Automaton, rows: Rows) -> None:
    """Without marks, intersection and complement give union and difference."""
    budget = CaseBudget()
    neither = intersection(complement(one, budget), complement(other, budget))
    union = complement(neither, budget)
    assert spans(union, rows) == spans(one, rows) | spans(other, rows)


# ---------------------------------------------------------------------------------------------
# Absence


@settings(max_examples=60, **COMMON)
@given(either, either, streams)
def test_unless(body: Automaton, absent: Automaton, rows: Rows) -> None:
    inside = spans(absent, rows)
    assert events(unless(body, absent, CaseBudget()), rows) == {
        event
        for event in events(body, rows)
        if not any(event.start <= start and end <= event.end for start, end in inside)
    }


@settings(max_examples=60, **COMMON)
@given(automata(), either, automata(), streams)
def test_between(left: Automaton, absent: Automaton, right: Automaton, rows: Rows) -> None:
    inside = spans(absent, rows)
    assert events(between(left, absent, right, CaseBudget()), rows) == {
        first._replace(end=second.end, marks=first.marks | second.marks)
        for first in events(left, rows)
        for second in events(right, rows)
        if first.end < second.start
        and not any(first.end < start and end < second.start for start, end in inside)
    }


# ---------------------------------------------------------------------------------------------
# Sizes


def automaton(text: str) -> Automaton:
    return build(normalize(parse_formula(text)), ColumnNames("type", None))


@pytest.mark.parametrize(
    ("text", "states", "transitions"),
    [
        ("A ; NOT (B) ; C", 3, 3),
        ("A ; NOT (ANY) ; C", 3, 2),
        ("A -> B", 3, 3),
        ("A -> B -> C -> D", 5, 7),
        ("A UNLESS B", 2, 1),
        ("(A ; C) UNLESS B", 3, 3),
        ("A ; NOT (B ; B ; B ; B) ; C", 6, 12),
        ("A ; NOT (B+) ; C", 3, 3),
        ("A ; NOT ((B ; C) OR (D ; C)) ; E", 4, 7),
        ("A ; NOT ((B ; C) OR C) ; D", 3, 3),
        ("A ; NOT (B : B : B) ; C", 5, 9),
        ("A ; NOT (B AND C) ; D", 3, 3),
        ("A ; NOT ((B ; C WITHIN 3 EVENTS)) ; D", 5, 10),
        ("A ; NOT ((B ; C WITHIN 100 EVENTS)) ; D", 102, 301),
        ("A ; NOT ((B+ WITHIN 5 EVENTS)) ; D", 3, 3),
    ],
)
def test_size(text: str, states: int, transitions: int) -> None:
    """States that others stand for do not tell sets apart: what B+ forbids, B does."""
    made = automaton(text)
    assert (made.state_count, len(made.transitions)) == (states, transitions)


def test_a_large_absence_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.compile.watching.STATE_COUNT_MAX", 500)
    gaps = " : ".join(["ANY"] * 10)
    for text in (f"A ; NOT (B : {gaps} : C) ; D", f"(A ; D) UNLESS (B : {gaps} : C)"):
        with pytest.raises(CatenaLimitError, match="what must be absent grew past") as caught:
            automaton(text)
        assert caught.value.hint is not None and "smaller" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "(A ; B WITHIN 3 EVENTS)",
        "((A+ ; B WITHIN 4 EVENTS) OR (B ; A WITHIN 2 EVENTS))+",
        "(C ; (A ; B WITHIN 2 EVENTS)+ WITHIN 6 EVENTS) ; (A : C WITHIN 2 EVENTS)",
        "((A ; (B OR C WITHIN 1 EVENTS) WITHIN 3 EVENTS) AND (A ; (B OR C) WITHIN 2 EVENTS)) OR A",
    ],
)
def test_rows_are_counted_by_states(text: str) -> None:
    clocked = automaton(text)
    counted = rows_counted(clocked)
    assert clocked.clocks and not counted.clocks
    for letters in ("ABCABACBAACB", "CABBAACBBCAC", "AABBCCABCA"):
        rows = rows_of(letters)
        assert complex_events(counted, rows) == complex_events(clocked, rows)


def test_counting_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.compile.watching.STATE_COUNT_MAX", 500)
    with pytest.raises(CatenaLimitError, match=r"WITHIN n EVENTS .* grew past"):
        automaton("A ; NOT ((B ; C WITHIN 2000 EVENTS)) ; D")


def test_a_large_complement_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.compile.watching.STATE_COUNT_MAX", 500)
    with pytest.raises(CatenaLimitError, match="a complement grew past"):
        complement(automaton("(B OR C)+ ; B : " + " : ".join(["ANY"] * 10)), CaseBudget())


def test_many_conditions_in_an_absence_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.compile.cases.CASE_COUNT_MAX", 1000)
    parts = " : ".join(f"(A AS x{i} FILTER x{i}[v{i} > 0])" for i in range(12))
    with pytest.raises(CatenaLimitError, match="more than 1000 cases") as caught:
        automaton(f"B ; NOT ({parts}) ; C")
    assert caught.value.hint is not None and "NOT" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE (A ; NOT ((B : C) OR (D ; E) FILTER E[v > 1 OR w > 2]) ; (A -> (B ; C)))"
        " UNLESS (LAST(D ; E) OR (B ; (C OR A) ; D WITHIN 4 EVENTS))",
        "SELECT * WHERE PROJECT[y]((A AS x ; NOT ((B OR C FILTER C.v = x.v) FILTER B.w > x.w) ; "
        "NOT_HERE AS y) UNLESS (PROJECT[z](C AS z ;[<= 5] (D AS y FILTER y.v + z.v > x.w)) OR "
        "(A ; (B -> (C FILTER C.v > x.v AND C.w < x.id))))) WITHIN 9",
    ],
    ids=["states", "registers"],
)
def test_the_plan_does_not_depend_on_the_order_of_sets(text: str) -> None:
    """Snapshots carry the plan's hash, and Python hashes strings differently in every process."""
    code = f"import catena; print(catena.Query({text!r}, time='ts').plan.hash)"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(hashes) == 1
