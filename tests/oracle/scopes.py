"""Which conditions may stand where (SPEC section 4), by trying all ways to read a formula.

A *shape* is what a run leaves behind when the rows themselves are forgotten: how many rows it has
marked with which sets of variables, where two stands for more, and how it marked the row that ends
it. A formula has finitely many shapes, also under `+`. `Shapes.of` goes through them all and notes
at each filter what was bound by then.
A filter is in its place when some shape that comes to it has bound each variable it reads, twice
for prev(x). A shape that has not bound what a comparison needs goes no further.

Example: in `((A FILTER A.v > B.v) OR B)+` no shape of a first repetition passes the filter, but the
one that took the B comes to it in the second. So the formula may stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from . import formulas as f
from .conditions import Term, is_previous, terms_of
from .predicates import Aggregate, Both, Either, Negation, VariableAttribute

Rows: TypeAlias = frozenset[tuple[frozenset[str], int]]
NO_ROWS: Rows = frozenset()


class Shape(NamedTuple):
    """The rows before the last one, by the variables they are marked with, and the last one."""

    before_end: Rows
    at_end: frozenset[str]

    def rows(self) -> Rows:
        return merged(self.before_end, one_row(self.at_end))

    def then(self, other: Shape) -> Shape:
        return Shape(merged(self.rows(), other.before_end), other.at_end)

    def renamed(self, change: Callable[[frozenset[str]], frozenset[str]]) -> Shape:
        rows: Counter[frozenset[str]] = Counter()
        for names, times in self.before_end:
            rows[change(names)] += times
        return Shape(counted(rows), change(self.at_end))


def is_well_scoped(formula: f.Formula) -> bool:
    """Whether every condition reads only what it can see, and as one value only what is one."""
    shapes = Shapes()
    shapes.of(formula, NO_ROWS)
    return shapes.are_all_in_place() and not reads_one_of_several(formula)


def counted(rows: Counter[frozenset[str]]) -> Rows:
    return frozenset((names, min(2, times)) for names, times in rows.items() if names)


def one_row(names: frozenset[str]) -> Rows:
    return counted(Counter([names]))


def merged(one: Rows, other: Rows) -> Rows:
    return counted(Counter(dict(one)) + Counter(dict(other)))


def times_bound(rows: Rows, variable: str) -> int:
    return sum(times for names, times in rows if variable in names)


class Shapes:
    """The shapes of a formula's parts, and what was bound at its filters: before the filtered
    formula, and by it."""

    def __init__(self) -> None:
        self.at_filter: dict[f.Filter, set[tuple[Rows, Rows]]] = {}

    def of(self, formula: f.Formula, before: Rows) -> set[Shape]:
        """The shapes that the formula can leave, given the rows of the run before it."""
        match formula:
            case f.Type() | f.StreamType() | f.AnyType():
                return {Shape(NO_ROWS, frozenset({formula.name}))}
            case f.Or(left, right):
                return self.of(left, before) | self.of(right, before)
            case f.And(left, right):
                return self.of(left, before) & self.of(right, before)
            case f.Sequence(left, right) | f.Adjacent(left, right) | f.Arrow(left, right):
                return set(self.joined(left, right, before))
            case f.SequenceNot(left, absent, right):
                for first in self.of(left, before):
                    self.of(absent, merged(before, first.rows()))
                return set(self.joined(left, right, before))
            case f.Plus(body) | f.AdjacentPlus(body):
                return self.repeated(body, before)
        return set(self.around(formula, self.of(formula.body, before), before))

    def around(self, formula: f.Formula, found: set[Shape], before: Rows) -> Iterator[Shape]:
        """The operators around one formula, given its shapes."""
        for shape in found:
            match formula:
                case f.Filter(_, condition):
                    self.at_filter.setdefault(formula, set()).add((before, shape.rows()))
                    if can_hold(condition, merged(before, shape.rows())):
                        yield shape
                case f.Unless(_, absent):
                    self.of(absent, merged(before, shape.before_end))
                    yield shape
                case f.As(_, variable):
                    yield shape.renamed(lambda names, x=variable: names and names | {x})
                case f.Project(kept, _):
                    yield shape.renamed(lambda names, kept=frozenset(kept): names & kept)
                case _:
                    yield shape

    def joined(self, left: f.Formula, right: f.Formula, before: Rows) -> Iterator[Shape]:
        for first in self.of(left, before):
            for second in self.of(right, merged(before, first.rows())):
                yield first.then(second)

    def repeated(self, body: f.Formula, before: Rows) -> set[Shape]:
        reached = self.of(body, before)
        fresh = list(reached)
        while fresh:
            first = fresh.pop()
            again = self.of(body, merged(before, first.rows()))
            longer = {first.then(second) for second in again} - reached
            reached |= longer
            fresh.extend(longer)
        return reached

    def are_all_in_place(self) -> bool:
        return all(
            is_in_place(part, shapes)
            for node, shapes in self.at_filter.items()
            for part in leaves(node.condition)
        )


def leaves(condition: f.Condition) -> Iterator[f.Condition]:
    match condition:
        case Both(left, right) | Either(left, right):
            yield from leaves(left)
            yield from leaves(right)
        case Negation(inner):
            yield from leaves(inner)
        case _:
            yield condition


def is_in_place(leaf: f.Condition, shapes: set[tuple[Rows, Rows]]) -> bool:
    if isinstance(leaf, f.Holds):
        return any(times_bound(own, leaf.variable) for _, own in shapes)
    bound = [merged(before, own) for before, own in shapes]
    return all(
        any(times_bound(rows, term.variable) >= (2 if is_previous(term) else 1) for rows in bound)
        for term in terms_of(leaf)
    )


def can_hold(condition: f.Condition, bound: Rows, wanted: bool = True) -> bool:
    """Whether the condition, or its negation, may be satisfied where this is bound."""
    match condition:
        case Negation(inner):
            return can_hold(inner, bound, not wanted)
        case Both(left, right) | Either(left, right):
            both = can_hold(left, bound, wanted), can_hold(right, bound, wanted)
            return all(both) if isinstance(condition, Both) is wanted else any(both)
    terms = list(terms_of(condition))
    if any(is_previous(term) and times_bound(bound, term.variable) < 2 for term in terms):
        return True
    return all(is_count(term) or times_bound(bound, term.variable) for term in terms)


def is_count(term: Term) -> bool:
    return isinstance(term, Aggregate) and term.function == "count"


# ---------------------------------------------------------------------------------------------
# One value or several


def reads_one_of_several(formula: f.Formula) -> bool:
    """Whether some `x.v` or `prev(x).v` stands outside of an iteration that binds x."""
    return any(several_values(formula, frozenset()))


def several_values(
    formula: f.Formula, loops: frozenset[str], earlier: frozenset[str] = frozenset()
) -> Iterator[Term]:
    """What `reads_one_of_several` asks for.

    `loops` are the variables that such iterations have bound to the left of the formula, `earlier`
    those that they have bound in an earlier repetition, as long as nothing else has since.
    """
    match formula:
        case f.Plus(body) | f.AdjacentPlus(body):
            yield from several_values(body, loops, earlier | bound_in_loops(body))
            return
        case f.Filter(body, condition):
            several = bound_in_loops(body) | ((loops | earlier) - f.bound_variables(body))
            for leaf in leaves(condition):
                yield from (t for t in terms_of(leaf) if is_plain(t) and t.variable in several)
    first, *others = f.children(formula) or (None,)
    if first is None:
        return
    yield from several_values(first, loops, earlier)
    if not isinstance(formula, f.Or | f.And):
        loops, earlier = loops | bound_in_loops(first), earlier - f.bound_variables(first)
    for part in others:
        yield from several_values(part, loops, earlier)


def is_plain(term: Term) -> bool:
    return isinstance(term, VariableAttribute) and term.binding in ("current", "prev")


def bound_in_loops(formula: f.Formula) -> frozenset[str]:
    """The variables that an iteration inside the formula binds, as far as they can be seen."""
    match formula:
        case f.Plus(body) | f.AdjacentPlus(body):
            return f.bound_variables(body)
        case f.Project(kept, body):
            return bound_in_loops(body) & frozenset(kept)
        case f.SequenceNot(left, _, right):
            return bound_in_loops(left) | bound_in_loops(right)
        case f.Unless(body, _):
            return bound_in_loops(body)
        case _:
            return frozenset().union(*map(bound_in_loops, f.children(formula)))
