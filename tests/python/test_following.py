"""Intersection, determinization, complement and negation of automata with registers and clocks in
windows: closure properties on random automata and streams, without the language.

Paper 001, Theorems 34 and 41, Corollary 43. What goes in is run by brute force, what comes out by
the engine (register_runner.py)."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from paths import Rows
from register_runner import by_brute_force, by_engine
from test_complement import GUARDS, Span, all_spans
from test_semantics import COMMON

from catena.compile.cea import (
    FINAL,
    INITIAL,
    Absence,
    Append,
    Automaton,
    Check,
    Clock,
    ClockKind,
    Transition,
    trimmed,
)
from catena.compile.complement import intersection
from catena.compile.following import absence_of, between, complement, determinized, unless
from catena.compile.tracks import Tracks
from catena.query import ast
from generators import rows

ATTRIBUTES = ("v", "id")


def at_most(amount: int) -> ast.Interval:
    return ast.Interval(None, ast.Bound(amount))


def at_least(amount: int) -> ast.Interval:
    return ast.Interval(ast.Bound(amount), None)


def compares(op: ast.CompareOp, attribute: str, track: str) -> ast.Expression:
    recall = ast.Recall(track, "last", ast.Attribute(attribute))
    return ast.Comparison(op, ast.Attribute(attribute), recall)


@st.composite
def automata(draw: st.DrawFn, number: int = 0) -> Automaton:
    """Automata with a track, a clock of time that the first row resets, and up to five states. The
    number tells their tracks and clocks apart."""
    count, track = draw(st.integers(2, 5)), f"x{number}"
    clock = Clock(number, ClockKind.TIME)
    condition = st.builds(
        compares,
        st.sampled_from([ast.CompareOp.EQ, ast.CompareOp.LT, ast.CompareOp.GT]),
        st.sampled_from(ATTRIBUTES),
        st.just(track),
    )
    interval = st.builds(at_most, st.integers(0, 3)) | st.builds(at_least, st.integers(1, 3))

    def some(values: st.SearchStrategy) -> st.SearchStrategy:
        return st.just(frozenset()) | values.map(lambda value: frozenset({value}))

    def made(t: Transition) -> Transition:
        """With the clock reset at the start, where nothing is asked of it."""
        if t.source != INITIAL:
            return t
        changed = {"checks": frozenset(), "resets": frozenset({clock})}
        return Transition(t.source, t.guard, t.marks, t.target, appends=t.appends, **changed)

    transition = st.builds(
        Transition,
        st.sampled_from([s for s in range(count) if s != FINAL]),
        st.sampled_from(GUARDS),
        st.sampled_from([frozenset(), frozenset("y"), frozenset("yz")]),
        st.sampled_from([s for s in range(count) if s != INITIAL]),
        appends=some(st.just(Append(track, track, True))),
        conditions=some(condition),
        checks=some(interval.map(lambda i: (clock, i))),
        resets=some(st.just(clock)),
    ).map(made)
    return trimmed(Automaton(count, tuple(draw(st.lists(transition, max_size=8, unique=True)))))


def windows(number: int) -> st.SearchStrategy[Check]:
    """Windows of rows or of time, by a clock of their own."""
    kinds = st.sampled_from([ClockKind.ROWS, ClockKind.TIME])
    return st.builds(lambda kind, n: (Clock(number, kind), at_most(n)), kinds, st.integers(0, 5))


def in_window(span: Span, window: Check, stream: Rows) -> bool:
    clock, interval = window
    start, end = span
    assert interval.high is not None
    if clock.kind is ClockKind.ROWS:
        return end - start <= interval.high.amount
    return stream[end]["ts"] - stream[start]["ts"] <= interval.high.amount


def inside(window: Check, stream: Rows) -> Iterator[Span]:
    return (span for span in all_spans(stream) if in_window(span, window, stream))


def spans(automaton: Automaton, stream: Rows) -> set[Span]:
    return {(event.start, event.end) for event in by_brute_force(automaton, stream)}


def found(automaton: Automaton, stream: Rows) -> set[Span]:
    return {(event.start, event.end) for event in by_engine(automaton, stream)}


def as_absence(automaton: Automaton, number: int = 0) -> Absence:
    return absence_of(automaton, number, f"automaton {number}")


streams = rows(max_size=7)
EXAMPLES = 60


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(), streams)
def test_automata_run_alike(automaton: Automaton, stream: Rows) -> None:
    assert by_engine(automaton, stream) == by_brute_force(automaton, stream)


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(0), automata(1), streams)
def test_intersection(one: Automaton, other: Automaton, stream: Rows) -> None:
    both = by_brute_force(one, stream) & by_brute_force(other, stream)
    assert by_engine(intersection(one, other), stream) == both


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(), windows(9), streams)
def test_determinization(automaton: Automaton, window: Check, stream: Rows) -> None:
    """It ends where the automaton does inside the window, without marks, each time once."""
    made = determinized(as_absence(automaton), window)
    assert found(made, stream) == spans(automaton, stream) & set(inside(window, stream))
    assert not any(t.marks for t in made.transitions)


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(), windows(9), streams)
def test_complement(automaton: Automaton, window: Check, stream: Rows) -> None:
    made = complement(as_absence(automaton), window)
    assert found(made, stream) == set(inside(window, stream)) - spans(automaton, stream)


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(), windows(8), windows(9), streams)
def test_complement_of_the_complement(
    automaton: Automaton, inner: Check, outer: Check, stream: Rows
) -> None:
    """In the outer window it ends where the automaton does, or where the inner window is left."""
    made = complement(as_absence(complement(as_absence(automaton), inner), 1), outer)
    left_out = set(inside(inner, stream)) - spans(automaton, stream)
    assert found(made, stream) == set(inside(outer, stream)) - left_out


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(0), automata(1), windows(9), streams)
def test_de_morgan(one: Automaton, other: Automaton, window: Check, stream: Rows) -> None:
    """Without marks, intersection and complement give union."""
    first = complement(as_absence(one, 0), window)
    second = complement(as_absence(other, 1), (Clock(8, window[0].kind), window[1]))
    neither = as_absence(intersection(first, second), 2)
    union = complement(neither, (Clock(7, window[0].kind), window[1]))
    either = spans(one, stream) | spans(other, stream)
    assert found(union, stream) == either & set(inside(window, stream))


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(0), automata(1), streams)
def test_unless(body: Automaton, absent: Automaton, stream: Rows) -> None:
    made = unless(body, as_absence(absent), Tracks(frozenset()))
    blocked = spans(absent, stream)
    assert by_engine(made, stream) == {
        event
        for event in by_brute_force(body, stream)
        if not any(event.start <= start and end <= event.end for start, end in blocked)
    }


@settings(max_examples=EXAMPLES, **COMMON)
@given(automata(0), automata(1), automata(2), streams)
def test_between(left: Automaton, absent: Automaton, right: Automaton, stream: Rows) -> None:
    blocked = spans(absent, stream)
    assert by_engine(between(left, as_absence(absent), right), stream) == {
        first._replace(end=second.end, marks=first.marks | second.marks)
        for first in by_brute_force(left, stream)
        for second in by_brute_force(right, stream)
        if first.end < second.start
        and not any(first.end < start and end < second.start for start, end in blocked)
    }
