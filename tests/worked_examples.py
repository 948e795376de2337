"""Conditions over several events and absent events, worked out by hand: formula, rows, matches.

Each example is a formula of the oracle, a stream and the sets of marked positions of all its
complex events. They are data, so that the oracle and the engine can be held to the same list. In a
stream a row is a letter, its type; `v` and `id` are lists of the rows' attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import oracle as o

A, B, C = o.Type("A"), o.Type("B"), o.Type("C")
T, H = o.Type("T"), o.Type("H")
BUY, SELL = o.Type("BUY"), o.Type("SELL")


@dataclass(frozen=True)
class Example:
    """`matches` are the sets of marked positions, in lexical order."""

    name: str
    formula: o.Formula
    types: str | tuple[str, ...]
    columns: dict[str, list[Any]] = field(hash=False)
    matches: list[list[int]] = field(hash=False)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"type": type, **{name: values[at] for name, values in self.columns.items()}}
            for at, type in enumerate(self.types)
        ]


def get(variable: str, attribute: str = "v", binding: str = "current") -> o.VariableAttribute:
    return o.VariableAttribute(variable, attribute, binding)


def prev(variable: str) -> o.VariableAttribute:
    return get(variable, binding="prev")


def first(variable: str) -> o.VariableAttribute:
    return get(variable, binding="first")


def last(variable: str, attribute: str = "v") -> o.VariableAttribute:
    return get(variable, attribute, "last")


def of(function: str, variable: str) -> o.Aggregate:
    return o.Aggregate(function, variable, "v")


def compare(left: o.Expression, op: str, right: o.Expression | int) -> o.Comparison:
    return o.Comparison(left, op, o.Literal(right) if isinstance(right, int) else right)


def same_id(one: str, other: str) -> o.Comparison:
    return compare(get(one, "id"), "=", get(other, "id"))


def row_is(attribute: str, op: str, value: int) -> o.Comparison:
    return o.Comparison(o.Attribute(attribute), op, o.Literal(value))


X, Y = o.As(A, "x"), o.As(B, "y")
RISING = compare(get("x"), ">", prev("x"))
RUN = o.Plus(o.Filter(X, RISING))
NEXT_B = o.Filter(Y, compare(get("y"), ">", get("x")))

FIGURE_1 = {
    "id": [2, 0, 0, 1, 1, 0, 1, 1, 0],
    "value": [25, 45, 20, 25, 40, 42, 25, 70, 18],
}
RISING_HUMIDITY = o.Filter(
    o.Sequence(
        o.Sequence(o.As(H, "x"), o.Plus(o.Filter(o.As(T, "y"), same_id("y", "x")))), o.As(H, "z")
    ),
    o.Both(
        o.Both(o.Holds("x", row_is("value", "<", 30)), o.Holds("z", row_is("value", ">", 60))),
        same_id("x", "z"),
    ),
)
TICKS = ("BUY", "BUY", "BUY", "SELL", "SELL", "BUY")
TICK_IDS = {"id": [1, 1, 2, 1, 1, 2]}
ONE_COMPANY = o.Filter(o.Sequence(o.As(BUY, "b"), o.As(SELL, "s")), same_id("s", "b"))

PAPERS = [
    Example(
        "temperatures of one sensor while its humidity rises",
        RISING_HUMIDITY, "HTHHTTTHH", FIGURE_1, [[3, 4, 6, 7], [3, 4, 7], [3, 6, 7]],
    ),
    *(
        Example(
            f"the same under {strategy}",
            o.Select(strategy, RISING_HUMIDITY), "HTHHTTTHH", FIGURE_1, [[3, 4, 6, 7]],
        )
        for strategy in ("NEXT", "LAST", "MAX")
    ),
    Example(
        "BUY then SELL of one company",
        ONE_COMPANY, TICKS, TICK_IDS, [[0, 3], [0, 4], [1, 3], [1, 4]],
    ),
    Example(
        "BUY then SELL of one company within four rows",
        o.Within(ONE_COMPANY, o.Events(4)), TICKS, TICK_IDS, [[0, 3], [1, 3], [1, 4]],
    ),
    Example(
        "a register is written again by each repetition: only the last BUY is compared",
        o.Sequence(
            o.Plus(o.As(BUY, "b")),
            o.Filter(o.As(SELL, "s"), compare(get("s", "id"), "=", last("b", "id"))),
        ),
        ("BUY", "BUY", "SELL"), {"id": [1, 2, 1]}, [[0, 2]],
    ),
]  # fmt: skip

PREVIOUS = [
    Example("rising runs", RUN, "AAA", {"v": [1, 3, 2]}, [[0], [0, 1], [0, 2], [1], [2]]),
    Example(
        "rising runs without a gap",
        o.AdjacentPlus(o.Filter(X, RISING)), "AAA", {"v": [1, 3, 2]}, [[0], [0, 1], [1], [2]],
    ),
    Example("equal values do not rise", RUN, "AA", {"v": [1, 1]}, [[0], [1]]),
    Example(
        "a comparison with null is unknown",
        RUN, "AAA", {"v": [1, None, 2]}, [[0], [0, 2], [1], [2]],
    ),
    Example(
        "before the second binding the negation does not apply either",
        o.Plus(o.Filter(X, o.Negation(compare(get("x"), "<=", prev("x"))))),
        "AAA", {"v": [1, 3, 2]}, [[0], [0, 1], [0, 2], [1], [2]],
    ),
    Example(
        "prev looks across repetitions of the outer iteration, which falls here",
        o.Plus(o.Sequence(RUN, B)), "ABAB", {"v": [2, 0, 1, 0]}, [[0, 1], [0, 3], [2, 3]],
    ),
    Example(
        "prev looks across repetitions of the outer iteration, which rises here",
        o.Plus(o.Sequence(RUN, B)), "ABAB", {"v": [1, 0, 2, 0]},
        [[0, 1], [0, 1, 2, 3], [0, 2, 3], [0, 3], [2, 3]],
    ),
    Example(
        "prev of another variable of the repetition: B above the A before this one",
        o.Plus(o.Sequence(X, o.Filter(Y, compare(get("y"), ">", prev("x"))))),
        "ABAB", {"v": [5, 0, 0, 5]}, [[0, 1], [0, 3], [2, 3]],
    ),
    Example(
        "a repetition that binds something else goes by",
        o.AdjacentPlus(o.Filter(o.Or(X, B), RISING)),
        "BAB", {"v": [0, 0, 0]}, [[0], [0, 1], [0, 1, 2], [1], [1, 2], [2]],
    ),
    Example(
        "a variable for two events, the one and the one before it",
        o.Filter(o.As(o.Sequence(A, B), "x"), RISING), "ABB", {"v": [1, 0, 2]}, [[0, 2]],
    ),
]  # fmt: skip

AT_MOST_3 = compare(of("sum", "x"), "<=", 3)
AGGREGATES = [
    Example(
        "first and last at the end of the iteration",
        o.Filter(o.Plus(X), compare(last("x"), ">", first("x"))),
        "AAA", {"v": [1, 0, 2]}, [[0, 1, 2], [0, 2], [1, 2]],
    ),
    Example(
        "a running sum holds at every repetition",
        o.Plus(o.Filter(X, AT_MOST_3)), "AAA", {"v": [2, 2, 1]}, [[0], [0, 2], [1], [1, 2], [2]],
    ),
    Example(
        "a sum around the iteration only at its end",
        o.Filter(o.Plus(X), AT_MOST_3), "AA", {"v": [4, -1]}, [[0, 1], [1]],
    ),
    Example(
        "the same inside stops the run at once",
        o.Plus(o.Filter(X, AT_MOST_3)), "AA", {"v": [4, -1]}, [[1]],
    ),
    Example(
        "more than the average so far",
        o.Sequence(o.Plus(X), o.Filter(Y, compare(get("y"), ">", of("avg", "x")))),
        "AAB", {"v": [1, 3, 3]}, [[0, 1, 2], [0, 2]],
    ),
    Example(
        "as many as a later event says",
        o.Sequence(o.Plus(X), o.Filter(Y, compare(o.Aggregate("count", "x"), "=", get("y")))),
        "AAB", {"v": [0, 0, 2]}, [[0, 1, 2]],
    ),
    Example(
        "nulls are skipped",
        o.Filter(o.Plus(X), compare(of("min", "x"), "=", 1)), "AA", {"v": [None, 1]}, [[0, 1], [1]],
    ),
    Example(
        "a count of nothing is 0",
        o.Filter(o.Or(X, Y), compare(o.Aggregate("count", "x"), "=", 0)),
        "AB", {"v": [0, 0]}, [[1]],
    ),
    Example(
        "a sum of nothing is no value",
        o.Filter(o.Or(X, Y), compare(of("sum", "x"), "=", 0)), "AB", {"v": [0, 0]}, [[0]],
    ),
    Example(
        "first is of the whole run, also in a later repetition of the outer iteration",
        o.Plus(o.Sequence(o.Plus(X), o.Filter(Y, compare(get("y"), ">", first("x"))))),
        "ABAB", {"v": [1, 2, 5, 3]}, [[0, 1], [0, 1, 2, 3], [0, 2, 3], [0, 3]],
    ),
    Example(
        "a sum goes on over the repetitions of the outer iteration",
        o.Plus(o.Sequence(X, o.Filter(Y, AT_MOST_3))),
        "ABAB", {"v": [2, 0, 2, 0]}, [[0, 1], [0, 3], [2, 3]],
    ),
]  # fmt: skip

Z_IS = o.Sequence(o.Or(X, Y), o.Filter(o.As(C, "z"), compare(get("z"), "=", get("x"))))
BINDINGS = [
    Example(
        "an event above an earlier one",
        o.Sequence(X, NEXT_B), "AAB", {"v": [1, 3, 2]}, [[0, 2]],
    ),
    Example(
        "arithmetic over two events",
        o.Filter(
            o.Sequence(X, Y), compare(get("y"), ">", o.Arithmetic("*", get("x"), o.Literal(2)))
        ),
        "AAB", {"v": [1, 2, 3]}, [[0, 2]],
    ),
    Example("null equals nothing", o.Filter(o.Sequence(X, Y), compare(get("x"), "=", get("y"))),
            "AB", {"v": [None, None]}, []),
    Example(
        "nor is it different",
        o.Filter(o.Sequence(X, Y), o.Negation(compare(get("x"), "=", get("y")))),
        "AB", {"v": [None, 1]}, [],
    ),
    Example("the branch that was not taken bound nothing", Z_IS, "ABC", {"v": [1, 1, 1]}, [[0, 2]]),
    Example(
        "nor does the negation hold there",
        o.Sequence(
            o.Or(X, Y), o.Filter(o.As(C, "z"), o.Negation(compare(get("z"), "!=", get("x"))))
        ),
        "ABC", {"v": [1, 1, 1]}, [[0, 2]],
    ),
    Example(
        "one condition for each branch",
        o.Filter(
            o.Sequence(o.Or(X, Y), o.As(C, "z")),
            o.Either(compare(get("z"), "=", get("x")), compare(get("z"), "=", get("y"))),
        ),
        "ABC", {"v": [1, 1, 1]}, [[0, 2], [1, 2]],
    ),
    Example(
        "an unbound variable is not null",
        o.Filter(o.Or(X, B), o.IsNull(get("x"))), "AB", {"v": [None, None]}, [[0]],
    ),
    Example(
        "both branches bind the variable",
        o.Sequence(o.Or(X, o.As(B, "x")), o.Filter(C, compare(get("C"), "=", get("x")))),
        "ABC", {"v": [1, 2, 2]}, [[1, 2]],
    ),
    Example(
        "an earlier repetition bound it",
        o.Plus(o.Or(o.Filter(A, compare(get("A"), ">", get("y"))), Y)),
        "ABA", {"v": [5, 1, 3]}, [[1], [1, 2]],
    ),
    Example(
        "inside, AS has not bound its variable yet: x is the C",
        o.Sequence(
            o.As(C, "x"),
            o.As(o.Sequence(A, o.Filter(B, compare(get("B"), ">", get("x")))), "x"),
        ),
        "CAB", {"v": [1, 5, 3]}, [[0, 1, 2]],
    ),
    Example(
        "PROJECT hides a binding: B compares with the second A, C with the first",
        o.Sequence(
            o.Sequence(
                X,
                o.Project(
                    ("B",), o.Sequence(X, o.Filter(B, compare(get("B"), ">", get("x"))))
                ),
            ),
            o.Filter(C, compare(get("C"), ">", get("x"))),
        ),
        "AABC", {"v": [1, 2, 3, 2]}, [[0, 2, 3]],
    ),
    Example(
        "hidden bindings differ, the match is one",
        o.Project(
            ("A", "C"),
            o.Sequence(o.Sequence(A, Y), o.Filter(C, compare(get("C"), "=", get("y")))),
        ),
        "ABBC", {"v": [0, 1, 1, 1]}, [[0, 3]],
    ),
    Example(
        "each side of AND asks for its own",
        o.And(
            o.Filter(o.Sequence(X, B), compare(get("x"), "<", get("B"))),
            o.Filter(o.Sequence(X, B), compare(get("x"), ">", 0)),
        ),
        "AAB", {"v": [0, 1, 2]}, [[1, 2]],
    ),
    Example(
        "a strategy compares what the filter inside has left",
        o.Select("NEXT", o.Filter(o.Sequence(X, Y), compare(get("x"), "=", get("y")))),
        "AAB", {"v": [2, 1, 1]}, [[1, 2]],
    ),
    Example(
        "a filter outside asks the winner",
        o.Filter(o.Select("NEXT", o.Sequence(X, Y)), compare(get("x"), "=", get("y"))),
        "AAB", {"v": [2, 1, 1]}, [],
    ),
]  # fmt: skip

SAME_A = o.Filter(o.As(B, "b"), same_id("b", "a"))
FROM_A_TO_C = o.Sequence(o.As(A, "a"), o.As(C, "c"))
ABSENT = [
    Example("no B between", o.SequenceNot(A, B, C), "ABCAC", {}, [[3, 4]]),
    Example("nothing between at all", o.SequenceNot(A, B, C), "AC", {}, [[0, 1]]),
    Example("no two B between", o.SequenceNot(A, o.Sequence(B, B), C), "ABCBC", {}, [[0, 2]]),
    Example(
        "no B of the same id between",
        o.SequenceNot(o.As(A, "a"), SAME_A, o.As(C, "c")), "AABC", {"id": [1, 2, 1, 9]}, [[1, 3]],
    ),
    Example(
        "no rising pair above the A between",
        o.SequenceNot(
            X,
            o.Sequence(
                o.Filter(o.As(B, "b"), compare(get("b"), ">", get("x"))),
                o.Filter(o.As(B, "d"), compare(get("d"), ">", get("b"))),
            ),
            C,
        ),
        "AABBC", {"v": [1, 2, 2, 3, 0]}, [[1, 4]],
    ),
    Example("the next B", o.Arrow(A, B), "ABB", {}, [[0, 1]]),
    Example(
        "the next B of the same id",
        o.Arrow(o.As(A, "a"), SAME_A), "AABBB", {"id": [1, 2, 2, 1, 2]}, [[0, 3], [1, 2]],
    ),
    Example(
        "the next B, if it has the same id",
        o.Filter(o.Arrow(o.As(A, "a"), o.As(B, "b")), same_id("b", "a")),
        "AABBB", {"id": [1, 2, 2, 1, 2]}, [[1, 2]],
    ),
    Example(
        "the next pair: none lies before it as a whole",
        o.Arrow(A, o.Sequence(B, C)), "ABCBC", {}, [[0, 1, 2], [0, 1, 4]],
    ),
    Example("no B inside", o.Unless(o.Sequence(A, C), B), "ABCAC", {}, [[3, 4]]),
    Example(
        "no B of the same id inside",
        o.Unless(FROM_A_TO_C, SAME_A), "AABC", {"id": [1, 2, 1, 0]}, [[1, 3]],
    ),
    Example(
        "what is absent sees the latest event bound before it",
        o.Unless(
            o.Sequence(o.Plus(X), C), o.Filter(B, compare(get("B"), ">", last("x")))
        ),
        "ABAC", {"v": [1, 2, 5, 0]}, [[2, 3]],
    ),
    Example(
        "no two B in a row between",
        o.SequenceNot(A, o.Within(o.Sequence(B, B), o.Events(2)), C),
        "ABCBCABBC", {}, [[0, 2], [0, 4]],
    ),
]  # fmt: skip

EXAMPLES = [*PAPERS, *PREVIOUS, *AGGREGATES, *BINDINGS, *ABSENT]
