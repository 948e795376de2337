"""The oracle checked by hand: SPEC section 9's examples, and one small case per construct.

Streams are written as letters, one per row. Expected complex events are written as sets of marked
positions where that says enough, as (start, end, marks) where it does not.
"""

from __future__ import annotations

import datetime
import math

import pytest
from hypothesis import given, settings

import generators as g
import oracle as o
from oracle import ComplexEvent

A, B, C = o.Type("A"), o.Type("B"), o.Type("C")
T, H = o.Type("T"), o.Type("H")


def rows_of(letters: str, **columns: list[object]) -> list[dict[str, object]]:
    """One row per letter, with further columns given as lists."""
    rows: list[dict[str, object]] = [{"type": letter} for letter in letters]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def positions(events: frozenset[ComplexEvent]) -> list[list[int]]:
    """The sets of marked positions, sorted."""
    return sorted(sorted(event.positions()) for event in events)


def found(formula: o.Formula, letters: str, **columns: list[object]) -> list[list[int]]:
    """The sets of marked positions of a formula over letters; a column `ts` is the time."""
    time = "ts" if "ts" in columns else None
    return positions(o.complex_events(formula, rows_of(letters, **columns), time=time))


def event(start: int, end: int, **marks: list[int]) -> ComplexEvent:
    """A complex event; marks are given by variable."""
    pairs = frozenset((name, at) for name, where in marks.items() for at in where)
    return ComplexEvent(start, end, pairs)


def compare(name: str, op: str, value: float | str) -> o.Comparison:
    return o.Comparison(o.Attribute(name), op, o.Literal(value))


def term(variable: str, op: str, value: float) -> o.Comparison:
    """`variable.v op value`."""
    return o.Comparison(o.VariableAttribute(variable, "v"), op, o.Literal(value))


# ---------------------------------------------------------------------------------------------
# SPEC section 9


F = rows_of(
    "HTHHTTTHH",
    id=[2, 0, 0, 1, 1, 0, 1, 1, 0],
    value=[25, 45, 20, 25, 40, 42, 25, 70, 18],
    ts=[1.2, 1.33, 2.5, 3.7, 4.5, 5.3, 5.9, 6.1, 7.2],
)
HOT_THEN_DRY = o.Filter(
    o.Sequence(o.As(T, "x"), o.As(H, "y")),
    o.Both(
        o.Holds("x", o.Both(compare("value", ">", 40), compare("id", "=", 0))),
        o.Holds("y", o.Both(compare("value", "<=", 25), compare("id", "=", 0))),
    ),
)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("ALL", [[1, 2], [1, 8], [5, 8]]),
        ("STRICT", [[1, 2]]),
        ("NEXT", [[1, 2], [1, 8]]),
        ("LAST", [[1, 2], [5, 8]]),
        ("MAX", [[1, 2], [1, 8], [5, 8]]),
    ],
)
def test_section_9_strategies(strategy: str, expected: list[list[int]]) -> None:
    as_operator = o.complex_events(o.Select(strategy, HOT_THEN_DRY), F)
    as_query = o.results(o.Query(HOT_THEN_DRY, strategy), F)
    assert positions(as_operator) == expected
    assert positions(frozenset().union(*as_query)) == expected


def test_section_9_timed_sequence() -> None:
    sequence = o.Sequence(
        o.Sequence(o.As(T, "X"), T, o.Interval(high=1)),
        o.As(H, "Y"),
    )
    hot_and_dry = o.Both(
        o.Holds("T", compare("value", ">=", 40)), o.Holds("H", compare("value", "<", 25))
    )
    formula = o.Project(("X", "Y"), o.Filter(o.Within(sequence, o.Duration(5)), hot_and_dry))
    assert o.complex_events(formula, F, time="ts") == {event(4, 8, X=[4], Y=[8])}


def test_section_9_timed_iteration() -> None:
    soon = o.Interval(high=1)
    run = o.Adjacent(o.Adjacent(o.As(H, "X"), o.AdjacentPlus(T, soon), soon), o.As(H, "Y"), soon)
    low_then_high = o.Both(
        o.Holds("X", compare("value", "<", 30)), o.Holds("Y", compare("value", ">", 30))
    )
    per_row = o.results(o.Query(o.Filter(run, low_then_high)), F, time="ts")
    assert frozenset().union(*per_row) == {event(3, 7, X=[3], T=[4, 5, 6], Y=[7])}


# ---------------------------------------------------------------------------------------------
# Atoms, AS, PROJECT


def test_type_marks_its_own_name() -> None:
    assert o.complex_events(A, rows_of("AB")) == {event(0, 0, A=[0])}


def test_any_matches_every_row_also_one_without_type() -> None:
    rows = [*rows_of("A"), {"type": None}]
    assert o.complex_events(o.AnyType(), rows) == {event(0, 0, ANY=[0]), event(1, 1, ANY=[1])}


def test_stream_type_marks_the_type_only() -> None:
    rows = rows_of("AAB", stream=["S", "R", "S"])
    events = o.complex_events(o.StreamType("S", "A"), rows, stream="stream")
    assert events == {event(0, 0, A=[0])}


def test_type_and_time_columns_can_be_named() -> None:
    rows = [{"kind": "A", "at": 0}, {"kind": "B", "at": 3}]
    formula = o.Sequence(A, B, o.Interval(high=3))
    assert len(o.complex_events(formula, rows, type="kind", time="at")) == 1


def test_as_marks_every_marked_position() -> None:
    formula = o.As(o.Sequence(A, B), "x")
    assert o.complex_events(formula, rows_of("ACB")) == {event(0, 2, A=[0], B=[2], x=[0, 2])}


def test_project_keeps_start_and_end() -> None:
    formula = o.Project(("B",), o.Sequence(A, B))
    assert o.complex_events(formula, rows_of("AB")) == {event(0, 1, B=[1])}


def test_as_after_project_marks_what_is_left() -> None:
    formula = o.As(o.Project(("B",), o.Sequence(A, B)), "x")
    assert o.complex_events(formula, rows_of("AB")) == {event(0, 1, B=[1], x=[1])}


def test_project_on_nothing_merges() -> None:
    formula = o.Project((), o.Sequence(o.Sequence(A, B), A))
    assert o.complex_events(formula, rows_of("ABBA")) == {event(0, 3)}


# ---------------------------------------------------------------------------------------------
# OR, AND, sequences, iterations


def test_or_is_union() -> None:
    assert found(o.Or(A, B), "ACB") == [[0], [2]]


def test_and_needs_equal_marks() -> None:
    rows = rows_of("AB")
    assert o.complex_events(o.And(A, o.AnyType()), rows) == frozenset()
    same = o.And(o.Or(A, B), o.Or(B, C))
    assert o.complex_events(same, rows) == {event(1, 1, B=[1])}


def test_and_needs_equal_start() -> None:
    long = o.Project(("B",), o.Sequence(A, B))
    assert o.complex_events(o.And(long, B), rows_of("AB")) == frozenset()


def test_sequence_skips_rows() -> None:
    assert found(o.Sequence(A, B), "AABCB") == [[0, 2], [0, 4], [1, 2], [1, 4]]


def test_sequence_never_overlaps() -> None:
    pair = o.Sequence(A, A)
    assert found(o.Sequence(pair, pair), "AAAA") == [[0, 1, 2, 3]]


def test_adjacent_skips_nothing() -> None:
    assert found(o.Adjacent(A, B), "AABCB") == [[1, 2]]


def test_adjacent_counts_from_the_end_not_the_last_mark() -> None:
    hidden = o.Project(("A",), o.Sequence(A, B))
    assert found(o.Adjacent(hidden, C), "ABC") == [[0, 2]]


def test_plus_is_every_nonempty_subsequence() -> None:
    assert found(o.Plus(A), "ABA") == [[0], [0, 2], [2]]


def test_adjacent_plus_is_every_run() -> None:
    assert found(o.AdjacentPlus(A), "AABA") == [[0], [0, 1], [1], [3]]


def test_plus_of_a_sequence_repeats_it_whole() -> None:
    assert found(o.Plus(o.Adjacent(A, B)), "ABAB") == [[0, 1], [0, 1, 2, 3], [2, 3]]


# ---------------------------------------------------------------------------------------------
# Time


def test_sequence_interval_runs_from_end_to_start() -> None:
    formula = o.Sequence(o.Sequence(A, B), C, o.Interval(high=1))
    assert found(formula, "ABCC", ts=[0, 5, 6, 7]) == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (o.Interval(high=2), [1, 2]),
        (o.Interval(high=2, high_open=True), [1]),
        (o.Interval(low=2), [2, 3]),
        (o.Interval(low=2, low_open=True), [3]),
        (o.Interval(2, 2), [2]),
        (o.Interval(1, 3), [1, 2, 3]),
        (o.Interval(1, 3, low_open=True), [2, 3]),
        (o.Interval(1, 3, high_open=True), [1, 2]),
    ],
)
def test_interval_ends(interval: o.Interval, expected: list[int]) -> None:
    formula = o.Sequence(A, B, interval)
    assert found(formula, "ABBB", ts=[0, 1, 2, 3]) == [[0, at] for at in expected]


def test_plus_interval_bounds_each_step() -> None:
    formula = o.Plus(A, o.Interval(high=2))
    assert found(formula, "AAA", ts=[0, 2, 5]) == [[0], [0, 1], [1], [2]]


def test_adjacent_plus_interval() -> None:
    formula = o.AdjacentPlus(A, o.Interval(low=2))
    assert found(formula, "AAA", ts=[0, 2, 3]) == [[0], [0, 1], [1], [2]]


def test_within_duration_includes_its_end() -> None:
    formula = o.Within(o.Sequence(A, B), o.Duration(2))
    assert found(formula, "ABB", ts=[0, 2, 3]) == [[0, 1]]


def test_within_interval() -> None:
    formula = o.Within(o.Sequence(A, B), o.Interval(2, 3, low_open=True))
    assert found(formula, "ABBB", ts=[0, 2, 3, 4]) == [[0, 2]]


def test_within_events_counts_rows() -> None:
    assert found(o.Within(o.Sequence(A, B), o.Events(2)), "ABB") == [[0, 1]]


def test_within_attribute_span_and_null_on_the_clock() -> None:
    formula = o.Within(o.Sequence(A, B), o.AttributeSpan(10, "km"))
    assert found(formula, "ABBB", km=[0, 10, None, 11]) == [[0, 1]]


def test_units_go_with_datetimes() -> None:
    start = datetime.datetime(2024, 1, 1)
    times: list[object] = [start + datetime.timedelta(seconds=s) for s in (0, 60, 61)]
    formula = o.Within(o.Sequence(A, B), o.Duration(1, "minute"))
    assert found(formula, "ABB", ts=times) == [[0, 1]]


# ---------------------------------------------------------------------------------------------
# Absence


def test_not_between_two_events() -> None:
    formula = o.SequenceNot(A, C, B)
    assert found(formula, "ABCB") == [[0, 1]]


def test_not_looks_strictly_between() -> None:
    formula = o.SequenceNot(A, o.Or(A, B), B)
    assert found(formula, "AABB") == [[1, 2]]


def test_not_needs_the_whole_absent_event_between() -> None:
    formula = o.SequenceNot(A, o.Sequence(C, C), B)
    assert found(formula, "CACB") == [[1, 3]]
    assert found(formula, "ACCB") == []


def test_not_with_interval() -> None:
    formula = o.SequenceNot(A, C, B, o.Interval(high=1))
    assert found(formula, "ABB", ts=[0, 1, 2]) == [[0, 1]]


def test_arrow_takes_the_next_match() -> None:
    assert found(o.Arrow(A, B), "AABB") == [[0, 2], [1, 2]]


def test_unless_looks_at_start_and_end_too() -> None:
    assert found(o.Unless(o.Sequence(A, B), C), "ACBAB") == [[3, 4]]
    assert found(o.Unless(o.Sequence(A, B), B), "AB") == []


def test_unless_ignores_what_reaches_outside() -> None:
    formula = o.Unless(o.Sequence(A, B), o.Sequence(C, C))
    assert found(formula, "ACBC") == [[0, 2]]


# ---------------------------------------------------------------------------------------------
# Strategies as operators


def test_strict_looks_at_marked_positions() -> None:
    hidden = o.Project(("A", "B"), o.Sequence(o.Sequence(A, C), B))
    assert found(o.Select("STRICT", hidden), "ACB") == []
    assert found(o.Select("STRICT", o.Sequence(A, B)), "AAB") == [[1, 2]]


def test_strict_holds_without_marks() -> None:
    formula = o.Select("STRICT", o.Project((), o.Sequence(A, B)))
    assert o.complex_events(formula, rows_of("ACB")) == {event(0, 2)}


def test_next_last_max_of_an_iteration() -> None:
    formula = o.Sequence(o.Plus(A), B)
    assert found(o.Select("NEXT", formula), "AAB") == [[0, 1, 2]]
    assert found(o.Select("LAST", formula), "AAB") == [[0, 1, 2]]
    assert found(o.Select("MAX", formula), "AAB") == [[0, 1, 2]]
    assert len(found(o.Select("ALL", formula), "AAB")) == 3


def test_next_prefers_early_last_prefers_late() -> None:
    assert found(o.Select("NEXT", o.Sequence(A, B)), "AAB") == [[0, 2]]
    assert found(o.Select("LAST", o.Sequence(A, B)), "AAB") == [[1, 2]]


def test_only_equal_ends_compete() -> None:
    assert found(o.Select("MAX", o.Plus(A)), "AA") == [[0], [0, 1]]


def test_equal_positions_do_not_beat_each_other() -> None:
    formula = o.Select("NEXT", o.Or(o.As(A, "x"), o.As(A, "y")))
    assert len(o.complex_events(formula, rows_of("A"))) == 2


# ---------------------------------------------------------------------------------------------
# Conditions


def test_holds_asks_every_marked_position() -> None:
    formula = o.Filter(o.Plus(A), o.Holds("A", compare("v", ">", 1)))
    assert found(formula, "AAA", v=[2, 1, 3]) == [[0], [0, 2], [2]]


def test_holds_is_satisfied_where_nothing_is_marked() -> None:
    formula = o.Filter(o.Or(A, B), o.Holds("A", compare("v", ">", 1)))
    assert found(formula, "AB", v=[0, 0]) == [[1]]


def test_negated_holds_negates_the_predicate() -> None:
    formula = o.Filter(o.Plus(A), o.Negation(o.Holds("A", compare("v", ">", 1))))
    assert found(formula, "AAA", v=[0, 2, None]) == [[0]]


def test_condition_or_is_union_of_filters() -> None:
    either = o.Either(o.Holds("A", compare("v", "=", 1)), o.Holds("A", compare("v", "=", 2)))
    assert found(o.Filter(o.Plus(A), either), "AA", v=[1, 2]) == [[0], [1]]


def test_negated_condition_follows_de_morgan() -> None:
    neither = o.Negation(
        o.Either(o.Holds("A", compare("v", "=", 1)), o.Holds("A", compare("v", "=", 2)))
    )
    assert found(o.Filter(A, neither), "AAA", v=[1, 2, 3]) == [[2]]
    not_both = o.Negation(
        o.Both(o.Holds("A", compare("v", ">", 1)), o.Holds("A", compare("v", "<", 3)))
    )
    assert found(o.Filter(A, not_both), "AAA", v=[1, 2, 3]) == [[0], [2]]


def test_term_reads_the_last_binding() -> None:
    formula = o.Filter(o.Sequence(o.As(A, "x"), o.As(B, "x")), term("x", ">", 1))
    assert found(formula, "ABB", v=[0, 2, 1]) == [[0, 1]]


def test_term_on_an_unbound_variable_is_not_satisfied() -> None:
    either = o.Or(o.As(A, "x"), B)
    assert found(o.Filter(either, term("x", ">", 1)), "AB", v=[2, 2]) == [[0]]
    assert found(o.Filter(either, o.Negation(term("x", ">", 5))), "AB", v=[2, 2]) == [[0]]


def test_term_on_null_is_unknown() -> None:
    bound = o.As(A, "x")
    assert found(o.Filter(bound, term("x", ">", 1)), "A", v=[None]) == []
    assert found(o.Filter(bound, o.Negation(term("x", ">", 1))), "A", v=[None]) == []


def test_term_reads_a_binding_to_the_left() -> None:
    """The paper's phi_6: which type may follow depends on the temperature before."""
    hot = o.Filter(o.As(T, "y"), term("x", ">=", 40))
    cold = o.Filter(o.As(H, "y"), term("x", "<", 40))
    formula = o.Sequence(o.As(T, "x"), o.Or(hot, cold))
    assert found(formula, "TTH", v=[45, 20, 0]) == [[0, 1], [1, 2]]


def test_binding_inside_wins_over_the_left() -> None:
    inner = o.Filter(o.As(B, "x"), term("x", ">", 1))
    assert found(o.Sequence(o.As(A, "x"), inner), "ABB", v=[9, 0, 2]) == [[0, 2]]


def test_iteration_hands_bindings_to_the_next_repetition() -> None:
    """Each B needs the A before it in the run to be positive, also across repetitions."""
    step = o.Or(o.As(A, "x"), o.Filter(B, term("x", ">", 0)))
    formula = o.AdjacentPlus(step)
    events = o.complex_events(formula, rows_of("ABAB", v=[1, 0, 0, 0]))
    assert positions(events) == [[0], [0, 1], [0, 1, 2], [2]]


def test_projected_binding_is_not_seen_outside() -> None:
    hidden = o.Project(("A",), o.As(A, "x"))
    formula = o.Sequence(hidden, o.Filter(B, term("x", ">", 0)))
    assert found(formula, "AB", v=[1, 1]) == []


def test_absent_event_sees_bindings_to_its_left() -> None:
    absent = o.Filter(C, term("x", ">", 0))
    formula = o.SequenceNot(o.As(A, "x"), absent, B)
    assert found(formula, "AACB", v=[0, 1, 5, 5]) == [[0, 3]]


# ---------------------------------------------------------------------------------------------
# Predicates of one row


ROW = {"v": 3, "f": 0.5, "s": "abc", "null": None, "nan": math.nan}
V, S, NULL = o.Attribute("v"), o.Attribute("s"), o.Attribute("null")


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (compare("v", "=", 3), True),
        (compare("v", "!=", 3), False),
        (compare("f", "<", 1), True),
        (compare("s", "=", "abc"), True),
        (compare("null", "=", 3), None),
        (compare("absent", "=", 3), None),
        (o.Negation(compare("null", "=", 3)), None),
        (compare("nan", "=", 1.0), False),
        (compare("nan", "!=", 1.0), True),
        (o.Negation(compare("nan", "<", 1.0)), True),
        (o.Both(compare("null", "=", 1), compare("v", "=", 0)), False),
        (o.Both(compare("null", "=", 1), compare("v", "=", 3)), None),
        (o.Either(compare("null", "=", 1), compare("v", "=", 3)), True),
        (o.Either(compare("null", "=", 1), compare("v", "=", 0)), None),
        (o.InSet(V, (1, 3)), True),
        (o.InSet(V, (1, 3), negated=True), False),
        (o.InSet(NULL, (1, 3), negated=True), None),
        (o.InSet(S, ("abc", "x")), True),
        (o.InRange(V, o.Literal(3), o.Literal(4)), True),
        (o.InRange(V, o.Literal(1), o.Literal(3), "DOTS"), True),
        (o.InRange(V, o.Literal(4), o.Literal(5), "BETWEEN"), False),
        (o.InRange(V, NULL, o.Literal(2)), False),
        (o.InRange(V, NULL, o.Literal(5)), None),
        (o.Like(S, "a%"), True),
        (o.Like(S, "_b_"), True),
        (o.Like(S, "b%"), False),
        (o.Like(S, "a.c"), False),
        (o.Like(NULL, "%"), None),
        (o.IsNull(NULL), True),
        (o.IsNull(V), False),
        (o.IsNull(NULL, negated=True), False),
        (o.Comparison(o.Arithmetic("+", V, o.Literal(1)), "=", o.Literal(4)), True),
        (o.Comparison(o.Arithmetic("*", V, NULL), "=", o.Literal(4)), None),
        (o.Comparison(o.Arithmetic("/", V, o.Literal(2)), "=", o.Literal(1.5)), True),
        (o.Comparison(o.Arithmetic("%", V, o.Literal(2)), "=", o.Literal(1)), True),
    ],
)
def test_predicate(predicate: o.Predicate, expected: o.Truth) -> None:
    assert o.truth_of(predicate, lambda leaf: ROW.get(leaf.name)) is expected
    assert o.row_satisfies(predicate, ROW) is (expected is True)


# ---------------------------------------------------------------------------------------------
# Queries


def reported(
    query: o.Query, rows: list[dict[str, object]], **columns: str
) -> list[list[list[int]]]:
    """Per row, the sets of marked positions of the results that end there."""
    return [positions(events) for events in o.results(query, rows, **columns)]


def test_results_belong_to_the_row_that_ends_them() -> None:
    query = o.Query(o.Sequence(A, B))
    assert reported(query, rows_of("ABB")) == [[], [[0, 1]], [[0, 2]]]


def test_no_rows_give_no_results() -> None:
    assert o.results(o.Query(A), []) == []


def test_star_leaves_out_a_type_that_always_has_a_name() -> None:
    query = o.Query(o.Sequence(o.As(A, "x"), B))
    assert o.output_variables(query) == {"x", "B"}
    assert o.results(query, rows_of("AB"))[1] == {event(0, 1, x=[0], B=[1])}


def test_star_keeps_a_type_that_stands_once_without_as() -> None:
    query = o.Query(o.Sequence(o.As(A, "x"), A))
    assert o.results(query, rows_of("AA"))[1] == {event(0, 1, x=[0], A=[0, 1])}


def test_star_as_of_a_longer_formula_keeps_the_types() -> None:
    query = o.Query(o.As(o.Plus(o.AnyType()), "x"))
    assert o.output_variables(query) == {"x", "ANY"}


def test_items_project_and_merge() -> None:
    query = o.Query(o.Sequence(o.Sequence(A, B), C), items=("A", "C"))
    assert o.results(query, rows_of("ABBC"))[3] == {event(0, 3, A=[0], C=[3])}


def test_none_shows_start_and_end() -> None:
    query = o.Query(o.Sequence(A, B), items="NONE")
    assert o.results(query, rows_of("AAB"))[2] == {event(0, 2), event(1, 2)}


def test_strategy_compares_before_items_are_projected() -> None:
    query = o.Query(o.Sequence(A, B), "LAST", items=("B",))
    assert o.results(query, rows_of("AAB"))[2] == {event(1, 2, B=[2])}


def test_window_comes_before_the_strategy() -> None:
    query = o.Query(o.Sequence(A, B), "NEXT", window=o.Events(2))
    assert reported(query, rows_of("AAB"))[2] == [[1, 2]]


@pytest.mark.parametrize("window", [o.Events(3), o.Duration(4), o.AttributeSpan(20, "km")], ids=str)
def test_window_of_each_kind(window: o.Window) -> None:
    rows = rows_of("AACB", ts=[0, 2, 4, 6], km=[0, 10, 20, 30])
    query = o.Query(o.Sequence(A, B), window=window)
    assert reported(query, rows, time="ts") == [[], [], [], [[1, 3]]]


def test_partition_is_a_stream_of_its_own() -> None:
    rows = rows_of("AABB", id=[1, 2, 1, 2])
    query = o.Query(o.Adjacent(A, B), partition=(("id",),), window=o.Events(2))
    assert reported(query, rows) == [[], [], [[0, 2]], [[1, 3]]]


def test_strict_counts_the_rows_of_the_part() -> None:
    rows = rows_of("ACB", id=[1, 2, 1])
    query = o.Query(o.Sequence(A, B), "STRICT", partition=(("id",),))
    assert reported(query, rows)[2] == [[0, 2]]


def test_row_with_null_in_the_key_is_in_no_part() -> None:
    rows = rows_of("AAB", id=[1, None, 1], s=["a", "a", "a"])
    for partition in ((("id", "s"),), (("id",), ("s",))):
        query = o.Query(o.Sequence(A, B), partition=partition)
        assert reported(query, rows) == [[], [], [[0, 2]]]


def test_from_leaves_out_rows_of_other_streams() -> None:
    rows = rows_of("ACB", stream=["S", "R", "S"])
    query = o.Query(o.Adjacent(A, B), sources=("S",))
    assert reported(query, rows, stream="stream") == [[], [], [[0, 2]]]
    assert reported(query, rows) == [[], [], []]


def test_consume_by_any_starts_anew() -> None:
    query = o.Query(o.Sequence(A, B), consume="ANY")
    assert reported(query, rows_of("ABBAB")) == [[], [[0, 1]], [], [], [[3, 4]]]


def test_consume_by_none_changes_nothing() -> None:
    rows = rows_of("ABBAB")
    plain = o.results(o.Query(o.Sequence(A, B)), rows)
    assert o.results(o.Query(o.Sequence(A, B), consume="NONE"), rows) == plain


def test_consume_by_partition_and_by_any_across_parts() -> None:
    rows = rows_of("AABBB", id=[1, 2, 1, 2, 1])
    query = o.Query(o.Sequence(A, B), partition=(("id",),), consume="PARTITION")
    assert reported(query, rows) == [[], [], [[0, 2]], [[1, 3]], []]
    query = o.Query(o.Sequence(A, B), partition=(("id",),), consume="ANY")
    assert reported(query, rows) == [[], [], [[0, 2]], [], []]


def test_a_row_whose_results_fall_outside_the_window_consumes_nothing() -> None:
    rows = rows_of("ACBAB")
    query = o.Query(o.Sequence(A, B), window=o.Events(2), consume="ANY")
    assert reported(query, rows) == [[], [], [], [], [[3, 4]]]


def test_any_and_limit_report_some_of_the_set() -> None:
    rows = rows_of("AAAB")
    one, two = o.Query(o.Sequence(A, B), "ANY"), o.Query(o.Sequence(A, B), limit=2)
    for query, count in ((one, 1), (two, 2)):
        expected = o.results(query, rows)
        assert len(expected[3]) == 3
        assert o.reported_count(query, 3) == count
        assert o.difference(query, expected, [[], [], [], list(expected[3])[:count]]) == ""
        assert "results due" in o.difference(query, expected, [[], [], [], []])
        assert "results due" in o.difference(query, expected, expected)


def test_difference_names_what_is_wrong() -> None:
    query = o.Query(A)
    expected = o.results(query, rows_of("A"))
    right = event(0, 0, A=[0])
    assert o.difference(query, expected, [[right]]) == ""
    assert "more than once" in o.difference(query, expected, [[right, right]])
    assert "wrong" in o.difference(query, expected, [[event(0, 0, A=[1])]])
    assert "absent" in o.difference(query, expected, [[]])


def test_budget_stops_what_explodes() -> None:
    with pytest.raises(o.OverBudget):
        o.complex_events(o.Plus(o.AnyType()), rows_of("A" * 30), budget=1000)


# ---------------------------------------------------------------------------------------------
# Texts


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (o.Sequence(o.As(A, "x"), B, o.Interval(high=1)), "(A AS x) ;[<= 1] B"),
        (o.As(o.StreamType("S", "A"), "x"), "S > A AS x"),
        (o.SequenceNot(A, o.Or(B, C), B), "A ; NOT (B OR C) ; B"),
        (o.Arrow(A, o.Plus(B)), "A -> (B +)"),
        (o.AdjacentPlus(A, o.Interval(1, 2, high_open=True)), "A :+[1, 2)"),
        (o.Unless(A, o.Within(B, o.Events(3))), "A UNLESS (B WITHIN 3 EVENTS)"),
        (o.Select("NEXT", o.Project((), o.And(A, B))), "NEXT(PROJECT[](A AND B))"),
        (o.Within(A, o.Interval(5, 5, unit="s")), "(A WITHIN [= 5 s])"),
        (o.Filter(A, o.Holds("A", compare("s", "=", "it's"))), "A FILTER A[s = 'it''s']"),
        (o.Filter(A, o.Negation(term("A", ">=", 4))), "A FILTER NOT (A.v >= 4)"),
    ],
)
def test_formula_text(formula: o.Formula, text: str) -> None:
    assert formula.text() == text


def test_query_text() -> None:
    query = o.Query(
        o.Or(A, B), "NEXT", ("A",), ("S",), (("id",), ("s", "v")), o.AttributeSpan(3, "v"), "ANY", 2
    )
    assert query.text() == (
        "SELECT NEXT A FROM S WHERE A OR B PARTITION BY [id], [s, v] WITHIN 3 [v] "
        "CONSUME BY ANY LIMIT 2"
    )


# ---------------------------------------------------------------------------------------------
# Laws, on generated cases


def test_exhaustive_generators_count() -> None:
    assert [len(g.formulas_of_size(size)) for size in (1, 2, 3)] == [3, 18, 144]
    assert len(set(g.formulas_up_to(3))) == 3 + 18 + 144
    assert len(list(g.type_streams(3))) == 1 + 2 + 4 + 8


def test_plus_unrolls_on_every_small_case() -> None:
    """phi+ = phi OR (phi ; phi+), and the same for `:+`, on all formulas of two nodes."""
    for formula in g.formulas_up_to(2):
        plus, run = o.Plus(formula), o.AdjacentPlus(formula)
        for rows in g.type_streams(4):
            unrolled = o.Or(formula, o.Sequence(formula, plus))
            assert o.complex_events(plus, rows) == o.complex_events(unrolled, rows)
            unrolled = o.Or(formula, o.Adjacent(formula, run))
            assert o.complex_events(run, rows) == o.complex_events(unrolled, rows)


@settings(max_examples=100, deadline=None)
@given(g.queries(g.ALL_FEATURES), g.rows(max_size=6))
def test_results_are_well_formed(query: o.Query, rows: list[g.Row]) -> None:
    """Ends fit their row, marks lie between start and end, only output variables are shown."""
    try:
        per_row = o.results(query, rows, time="ts", stream="stream")
    except o.OverBudget:
        return
    shown = o.output_variables(query)
    for end, events in enumerate(per_row):
        for found_event in events:
            assert found_event.start <= found_event.end == end
            assert all(found_event.start <= at <= end for _, at in found_event.marks)
            assert {name for name, _ in found_event.marks} <= shown


@settings(max_examples=100, deadline=None)
@given(g.queries(g.ALL_FEATURES), g.rows(max_size=6))
def test_results_need_only_the_rows_read_so_far(query: o.Query, rows: list[g.Row]) -> None:
    """A prefix of the stream has the same results: nothing waits for later rows."""
    try:
        whole = o.results(query, rows, time="ts", stream="stream")
    except o.OverBudget:
        return
    half = len(rows) // 2
    assert o.results(query, rows[:half], time="ts", stream="stream") == whole[:half]
