"""The truth of a condition over the events that a run has bound: SPEC section 4, by brute force.

What a condition can see of a run is, for each variable, its *history*: the positions bound to it so
far, in order. `x.v` and `last(x).v` read the last of them, `prev(x).v` the one before, `first(x).v`
the first; aggregates take all of them.

Example: with x bound to rows 2, 5 and 7, `x.v > prev(x).v` compares row 7 with row 5.

AND, OR and NOT are taken apart first, NOT down to the leaves. A leaf is then one of four things: it
does not apply (some prev(x), and x bound less than twice), and is satisfied, as is its negation; or
it speaks of an unbound variable, and neither it nor its negation is satisfied; or it is unknown, as
in SQL, with the same effect; or it is true or false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Rows
from typing import TypeAlias

from .formulas import Condition, Holds
from .predicates import (
    Aggregate,
    Both,
    Either,
    Leaf,
    Negation,
    Row,
    Value,
    VariableAttribute,
    in_64_bits,
    row_satisfies,
    truth_of,
)

History: TypeAlias = Callable[[str], Rows[int]]
"""The positions bound to a variable so far in the run, in order."""
Term: TypeAlias = VariableAttribute | Aggregate


def holds(
    condition: Condition,
    rows: Rows[Row],
    history: History,
    marked: History,
    wanted: bool = True,
) -> bool:
    """Whether the condition (its negation, when not `wanted`) is satisfied.

    `history` is of the whole run so far, `marked` of the filtered formula only, for `x[P]`.
    """

    def part(inner: Condition) -> bool:
        return holds(inner, rows, history, marked, wanted)

    match condition:
        case Negation(inner):
            return holds(inner, rows, history, marked, not wanted)
        case Both(left, right):  # De Morgan: NOT (c AND d) is (NOT c) OR (NOT d)
            return part(left) and part(right) if wanted else part(left) or part(right)
        case Either(left, right):
            return part(left) or part(right) if wanted else part(left) and part(right)
        case Holds(variable, predicate):  # NOT x[P] is x[NOT P]
            asked = predicate if wanted else Negation(predicate)
            return all(row_satisfies(asked, rows[at]) for at in marked(variable))
        case _:
            return leaf_holds(condition, rows, history, wanted)


def leaf_holds(leaf: Condition, rows: Rows[Row], history: History, wanted: bool) -> bool:
    """Whether a comparison of terms, or its negation, is satisfied."""
    terms = list(terms_of(leaf))
    if any(is_previous(term) and len(history(term.variable)) < 2 for term in terms):
        return True
    if any(is_unbound(term, history) for term in terms):
        return False

    def value(term: Leaf) -> Value:
        assert isinstance(term, VariableAttribute | Aggregate), "an attribute needs its variable"
        return term_value(term, rows, history(term.variable))

    return truth_of(leaf, value) is wanted


def terms_of(node: object) -> Iterator[Term]:
    """The terms inside a leaf of a condition."""
    if isinstance(node, VariableAttribute | Aggregate):
        yield node
    for field in ("left", "right", "operand", "low", "high"):
        if hasattr(node, field):
            yield from terms_of(getattr(node, field))


def is_previous(term: Term) -> bool:
    return isinstance(term, VariableAttribute) and term.binding == "prev"


def is_unbound(term: Term, history: History) -> bool:
    """Whether the term has no event to speak of; a count always has a value."""
    counts = isinstance(term, Aggregate) and term.function == "count"
    return not counts and not history(term.variable)


PLACES = {"current": -1, "last": -1, "prev": -2, "first": 0}


def term_value(term: Term, rows: Rows[Row], positions: Rows[int]) -> Value:
    """The value of a term, given the positions bound to its variable."""
    if isinstance(term, VariableAttribute):
        return rows[positions[PLACES[term.binding]]].get(term.name)
    if term.name is None:
        return len(positions)
    values = (rows[at].get(term.name) for at in positions)
    return aggregate(term.function, [value for value in values if value is not None])


def aggregate(function: str, values: list[Value]) -> Value:
    """An aggregate of values that are not null, in the order of binding; of none it is null."""
    if function == "count":
        return len(values)
    if not values:
        return None
    match function:
        case "sum":
            return in_64_bits(total(values))
        case "avg":
            return float(total(values)) / len(values)
        case "min":
            return min(ordered(values))
        case "max":
            return max(ordered(values))
    raise ValueError(f"not an aggregate: {function}")


def total(values: Iterable[Value]) -> Value:
    """The sum from the left: exact of integers, rounded at each step of floats."""
    result: Value = 0
    for value in values:
        result += value
    return result


def ordered(values: list[Value]) -> list[Value]:
    """The values that have an order: NaN counts only where there is nothing else."""
    numbers = [v for v in values if not (isinstance(v, float) and math.isnan(v))]
    return numbers or values
