"""Formulas, rows and queries for tests: all small ones, and random larger ones by Hypothesis.

Both kinds take a set of *features*, the constructs that may occur, so that a test can ask for what
the code under test supports. The nodes are those of `oracle`; nothing here imports `catena`.

Every formula made here is valid: `x[P]` names a variable bound inside the filtered formula, and
`x.v` one bound inside it or to its left and never inside an iteration that the filter is not part
of (SPEC section 4); `first(x).v`, `last(x).v` and aggregates may, `prev(x).v` needs an iteration.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

from hypothesis import assume
from hypothesis import strategies as st

import oracle as o
from correlations import OPERATORS, Sight, comparisons, small_conditions

Features: TypeAlias = frozenset[str]
Row: TypeAlias = dict[str, Any]

UNARY: Features = frozenset({"any", "as", "filter", "or", "and", ";", ":", "+", ":+", "project"})
NEGATED: Features = frozenset({"not", "->", "unless"})
TIMED: Features = frozenset({"interval", "within"})
SELECTED: Features = frozenset({"select"})  # NEXT(...), LAST(...), MAX(...), STRICT(...), ALL(...)
TERMS: Features = frozenset({"term"})  # x.v >= 40
CORRELATED: Features = frozenset({"correlated", "prev", "aggregate"})  # x.v > y.v, prev, sum, ...
STREAMS: Features = frozenset({"stream"})  # S > A, FROM S
QUERY: Features = frozenset({"items", "strategy", "window", "partition", "consume", "limit"})
ALL_FEATURES: Features = UNARY | NEGATED | TIMED | SELECTED | TERMS | CORRELATED | STREAMS | QUERY

TYPES = ("A", "B", "C")
ROW_TYPES = "AAABBBCD"  # how often rows have which; no formula names D
VARIABLES = ("x", "y", "z")
STRATEGIES = ("ALL", "ANY", "NEXT", "LAST", "MAX", "STRICT")
STREAM_NAMES = ("S", "R")
STRINGS = ("", "a", "b", "ab", "b'c")
COLUMNS = {  # Arrow types of the rows' columns, for columns that happen to be all null
    "type": "string",
    "ts": "int64",
    "v": "int64",
    "f": "float64",
    "s": "string",
    "id": "int64",
    "clock": "int64",
    "stream": "string",
    "value": "int64",
}


# ---------------------------------------------------------------------------------------------
# What may be read where


class Scope(NamedTuple):
    """The variables that `x.v` may read in a place, those an iteration to the left binds, all that
    are bound there; and those bound since an iteration began, if the place is inside of one."""

    readable: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    visible: frozenset[str] = frozenset()
    again: frozenset[str] | None = None

    def after(self, formula: o.Formula) -> Scope:
        """The scope to the right of a formula, or of a filter around it."""
        bound = o.bound_variables(formula)
        repeated = self.repeated | repeated_variables(formula)
        readable = (self.readable | bound) - repeated
        again = None if self.again is None else self.again | bound
        return Scope(readable, repeated, self.visible | bound, again)

    def inside(self, formula: o.Formula) -> Scope:
        """The scope of what must be absent inside a formula: it begins before the last row."""
        early = self.visible | o.bound_before_end(formula)
        after = self.after(formula)
        again = None if after.again is None else after.again & early
        return Scope(after.readable & early, after.repeated, early, again)

    def repeating(self) -> Scope:
        """The scope inside an iteration that begins here."""
        return self if self.again is not None else self._replace(again=frozenset())

    def sight(self) -> Sight:
        """What a condition may read here."""
        return Sight(self.readable, self.visible, self.readable & (self.again or frozenset()))


def repeated_variables(formula: o.Formula) -> frozenset[str]:
    """The variables that an iteration inside the formula binds."""
    loops = (n for n in o.subformulas(formula) if isinstance(n, o.Plus | o.AdjacentPlus))
    return frozenset().union(*map(o.bound_variables, loops))


# ---------------------------------------------------------------------------------------------
# All small formulas and streams


POSITIVE = o.Comparison(o.Attribute("v"), ">", o.Literal(0))
SHORT = o.Interval(high=1)


def formulas_up_to(
    size: int, features: Features = UNARY, types: tuple[str, ...] = ("A", "B")
) -> Iterator[o.Formula]:
    """Every formula of at most `size` nodes over the types, smallest first."""
    for exact in range(1, size + 1):
        yield from formulas_of_size(exact, features, types)


@lru_cache(maxsize=64)
def formulas_of_size(
    size: int, features: Features = UNARY, types: tuple[str, ...] = ("A", "B")
) -> tuple[o.Formula, ...]:
    """Every formula of exactly `size` nodes; conditions and bounds are fixed small ones.

    Correlated conditions read what may be bound further left, so not every formula may stand alone.
    """
    if size == 1:
        return tuple(_atoms(features, types))
    found: list[o.Formula] = []
    for body in formulas_of_size(size - 1, features, types):
        found.extend(_around(body, features))
        if "correlated" in features and not isinstance(body, o.Filter):
            found.extend(o.Filter(body, read) for read in small_conditions(*types))
    for sizes in _compositions(size - 1, 2):
        for left, right in _operands(sizes, features, types):
            found.extend(_between(left, right, features))
    if "not" in features:
        for sizes in _compositions(size - 1, 3):
            for left, absent, right in _operands(sizes, features, types):
                found.append(o.SequenceNot(left, absent, right))
    return tuple(found)


def _atoms(features: Features, types: tuple[str, ...]) -> Iterator[o.Formula]:
    yield from map(o.Type, types)
    if "any" in features:
        yield o.AnyType()
    if "stream" in features:
        yield from (o.StreamType(STREAM_NAMES[0], name) for name in types)


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """The ways to write `total` as a sum of `parts` positive numbers, in order."""
    for sizes in itertools.product(range(1, total), repeat=parts):
        if sum(sizes) == total:
            yield sizes


def _operands(
    sizes: tuple[int, ...], features: Features, types: tuple[str, ...]
) -> Iterator[tuple[o.Formula, ...]]:
    return itertools.product(*(formulas_of_size(size, features, types) for size in sizes))


def _around(body: o.Formula, features: Features) -> Iterator[o.Formula]:
    """The formulas that are one unary operator around the body."""
    variables = sorted(o.bound_variables(body))
    readable = sorted(Scope().after(body).readable)
    above_zero = (o.Comparison(o.VariableAttribute(x, "v"), ">", o.Literal(0)) for x in readable)
    projections = [(), *((variable,) for variable in variables)]
    choices: dict[str, Iterator[o.Formula]] = {
        "as": iter([o.As(body, "x")]),
        "filter": (o.Filter(body, o.Holds(variable, POSITIVE)) for variable in variables),
        "term": (o.Filter(body, condition) for condition in above_zero),
        "+": iter([o.Plus(body)]),
        ":+": iter([o.AdjacentPlus(body)]),
        "project": (o.Project(kept, body) for kept in projections),
        "within": (o.Within(body, window) for window in (o.Events(2), o.Duration(1))),
        "select": (o.Select(name, body) for name in ("NEXT", "LAST", "MAX", "STRICT")),
    }
    for feature, formulas in choices.items():
        if feature in features:
            yield from formulas
    if {"+", "interval"} <= features:
        yield o.Plus(body, SHORT)


def _between(left: o.Formula, right: o.Formula, features: Features) -> Iterator[o.Formula]:
    """The formulas that are one binary operator between the two."""
    for feature, node in BINARY.items():
        if feature in features:
            yield node(left, right)
    if {";", "interval"} <= features:
        yield o.Sequence(left, right, SHORT)


BINARY: dict[str, Callable[[o.Formula, o.Formula], o.Formula]] = {
    "or": o.Or,
    "and": o.And,
    ";": o.Sequence,
    ":": o.Adjacent,
    "->": o.Arrow,
    "unless": o.Unless,
}


def correlated_up_to(
    size: int, features: Features, types: tuple[str, str] = ("A", "B")
) -> Iterator[o.Formula]:
    """Every formula of at most `size` nodes that reads several events somewhere and may do so."""
    for formula in formulas_up_to(size, features | {"correlated"}, types):
        if o.term_variables(formula) and o.is_well_scoped(formula):
            yield formula


def valued_streams(
    max_length: int,
    types: tuple[str, ...] = ("A", "B"),
    values: tuple[int | None, ...] = (0, 1, None),
) -> Iterator[list[Row]]:
    """Every stream over the types and the values of v up to a length."""
    for rows in type_streams(max_length, types):
        for column in itertools.product(values, repeat=len(rows)):
            yield [{**row, "v": value} for row, value in zip(rows, column, strict=True)]


def rows_of(letters: str) -> list[Row]:
    """Rows with the letters as types; other columns follow from the position, with ties in ts."""
    return [
        {
            "type": letter,
            "ts": position - position % 2,
            "v": position % 3,
            "f": position / 2,
            "s": STRINGS[position % 3],
            "id": position % 2,
            "clock": position,
            "stream": STREAM_NAMES[position % 2],
        }
        for position, letter in enumerate(letters)
    ]


def type_streams(max_length: int, types: tuple[str, ...] = ("A", "B")) -> Iterator[list[Row]]:
    """Every stream over the types up to a length, the empty one first."""
    for length in range(max_length + 1):
        for letters in itertools.product(types, repeat=length):
            yield rows_of("".join(letters))


# ---------------------------------------------------------------------------------------------
# Random predicates and conditions


INTEGERS = st.integers(-2, 4)
FLOATS = st.sampled_from((-1.5, 0.0, 0.5, 2.0))
NUMERIC = st.sampled_from((o.Attribute("v"), o.Attribute("f"), o.Attribute("id")))
NUMBERS = st.builds(o.Literal, INTEGERS | FLOATS)
SUMS = st.builds(o.Arithmetic, st.sampled_from("+-*"), NUMERIC, NUMERIC | NUMBERS)
STRING = o.Attribute("s")


def _simple_predicates() -> st.SearchStrategy[o.Predicate]:
    strings = st.sampled_from(STRINGS)
    bounds = st.tuples(st.integers(0, 2), st.integers(0, 4)).map(
        lambda pair: (o.Literal(pair[0]), o.Literal(pair[0] + pair[1]))
    )
    return st.one_of(
        st.builds(o.Comparison, NUMERIC, OPERATORS, NUMBERS),
        st.builds(o.Comparison, SUMS, OPERATORS, NUMERIC | NUMBERS),
        st.builds(
            o.Comparison,
            st.just(STRING),
            st.sampled_from(("=", "!=")),
            st.builds(o.Literal, strings),
        ),
        st.builds(o.InSet, NUMERIC, _some(INTEGERS), st.booleans()),
        st.builds(o.InSet, st.just(STRING), _some(strings), st.booleans()),
        st.builds(
            lambda operand, pair, form: o.InRange(operand, pair[0], pair[1], form),
            NUMERIC,
            bounds,
            st.sampled_from(("RANGE", "DOTS", "BETWEEN")),
        ),
        st.builds(o.Like, st.just(STRING), st.sampled_from(("%", "a%", "_", "%b", "a_", "_'%"))),
        st.builds(o.IsNull, NUMERIC | st.just(STRING), st.booleans()),
    )


def _some(members: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(members, min_size=1, max_size=3, unique=True).map(tuple)


def _combined(leaves: st.SearchStrategy[Any], max_leaves: int) -> st.SearchStrategy[Any]:
    """AND, OR and NOT over the leaves."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(o.Both, inner, inner),
            st.builds(o.Either, inner, inner),
            st.builds(o.Negation, inner),
        ),
        max_leaves=max_leaves,
    )


@cache
def predicates(max_leaves: int = 3) -> st.SearchStrategy[o.Predicate]:
    """Predicates of one row over v, f, id and s."""
    return _combined(_simple_predicates(), max_leaves)


@cache
def conditions(
    marked: frozenset[str],
    sight: Sight = Sight(),
    features: Features = frozenset(),
    max_leaves: int = 3,
) -> st.SearchStrategy[o.Condition]:
    """Conditions with `x[P]` over the marked variables, `x.v op literal` and correlated ones over
    those in sight, as the features say."""
    leaves: list[st.SearchStrategy[o.Condition]] = []
    if marked and "filter" in features:
        leaves.append(st.builds(o.Holds, st.sampled_from(sorted(marked)), predicates(2)))
    if sight.readable and "term" in features:
        terms = st.builds(
            o.VariableAttribute, st.sampled_from(sorted(sight.readable)), st.sampled_from("vf")
        )
        leaves.append(st.builds(o.Comparison, terms, OPERATORS, NUMBERS))
    if sight.visible and "correlated" in features:
        leaves.extend([comparisons(sight, features)] * 5)
    one = st.one_of(leaves)
    return one if one.is_empty else _combined(one, max_leaves)


# ---------------------------------------------------------------------------------------------
# Random formulas


LENGTHS = st.integers(0, 5)


@st.composite
def intervals(draw: st.DrawFn) -> o.Interval:
    """Intervals with one end or two, open or closed, never empty (so never `[< 0]`)."""
    low, extra = draw(st.none() | st.integers(0, 2)), draw(st.none() | LENGTHS)
    if low is None:
        high_open = draw(st.booleans())
        return o.Interval(high=draw(LENGTHS) + high_open, high_open=high_open)
    if extra is None:
        return o.Interval(low=low, low_open=draw(st.booleans()))
    if extra == 0:
        return o.Interval(low, low)
    return o.Interval(low, low + extra, draw(st.booleans()), draw(st.booleans()))


@cache
def windows() -> st.SearchStrategy[o.Window]:
    """Windows of all three kinds; the attribute clock never goes back."""
    return st.one_of(
        st.builds(o.Events, st.integers(1, 6)),
        st.builds(o.Duration, LENGTHS),
        st.builds(o.AttributeSpan, LENGTHS, st.just("clock")),
    )


@dataclass
class _Drawer:
    """Draws one formula, from the outside in; the scope grows from left to right."""

    draw: st.DrawFn
    features: Features
    types: tuple[str, ...]
    variables: tuple[str, ...]

    def formula(self, depth: int, scope: Scope) -> o.Formula:
        choices = [c for c in sorted(WEIGHTS) if c in self.features for _ in range(WEIGHTS[c])]
        choice = self.draw(st.sampled_from([*["atom"] * 4, *choices])) if depth else "atom"
        if choice == "atom":
            return self.atom()
        if choice in ("not", "->", "unless"):
            return self.negated(choice, depth - 1, scope)
        inner = scope.repeating() if choice in ("+", ":+") else scope
        left = self.formula(depth - 1, inner)
        if choice in BINARY:
            return self.binary(choice, left, depth - 1, scope)
        return self.unary(choice, left, scope)

    def atom(self) -> o.Formula:
        name = self.draw(st.sampled_from(self.types))
        kinds = ["type"] * 3 + sorted(self.features & {"any", "stream"})
        match self.draw(st.sampled_from(kinds)):
            case "any":
                atom: o.Formula = o.AnyType()
            case "stream":
                atom = o.StreamType(self.draw(st.sampled_from(STREAM_NAMES)), name)
            case _:
                atom = o.Type(name)
        named = "as" in self.features and self.draw(st.booleans())
        return o.As(atom, self.variable()) if named else atom

    def variable(self) -> str:
        return self.draw(st.sampled_from(self.variables))

    def interval(self) -> o.Interval | None:
        return self.draw(st.none() | intervals()) if "interval" in self.features else None

    def binary(self, choice: str, left: o.Formula, depth: int, scope: Scope) -> o.Formula:
        """OR and AND look at the same place twice; `;` and `:` go on to the right."""
        if choice == "or":
            return o.Or(left, self.formula(depth, scope))
        if choice == "and":
            return o.And(left, self.similar(left, depth, scope))
        right = self.formula(depth, scope.after(left))
        return (o.Sequence if choice == ";" else o.Adjacent)(left, right, self.interval())

    def similar(self, left: o.Formula, depth: int, scope: Scope) -> o.Formula:
        """Mostly a variation of the left side: two formulas seldom share a complex event."""
        match self.draw(st.sampled_from(("filter", "or", "any"))):
            case "filter" if "filter" in self.features:
                return self.filter(left, scope)
            case "or" if "or" in self.features:
                return o.Or(left, self.formula(depth, scope))
        return self.formula(depth, scope)

    def negated(self, choice: str, depth: int, scope: Scope) -> o.Formula:
        """What must be absent reads what is bound before it if conditions may be correlated, else
        its own variables only."""
        left = self.formula(depth, scope)
        after, is_open = scope.after(left), "correlated" in self.features
        if choice == "unless":
            return o.Unless(left, self.formula(depth, scope.inside(left) if is_open else Scope()))
        seen = after if is_open else Scope()
        if choice == "->":
            return o.Arrow(left, self.formula(depth, seen))
        absent = self.formula(max(0, depth - 1), seen)
        return o.SequenceNot(left, absent, self.formula(depth, after), self.interval())

    def unary(self, choice: str, body: o.Formula, scope: Scope) -> o.Formula:
        match choice:
            case "as":
                return o.As(body, self.variable())
            case "filter":
                return self.filter(body, scope)
            case "+":
                return o.Plus(self.repetition(body, scope), self.interval())
            case ":+":
                return o.AdjacentPlus(self.repetition(body, scope), self.interval())
            case "project":
                names = sorted(o.bound_variables(body))
                kept = self.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
                return o.Project(tuple(kept), body)
            case "within":
                return o.Within(body, self.draw(windows() | intervals()))
            case "select":
                names = [name for name in STRATEGIES if name != "ANY"]
                return o.Select(self.draw(st.sampled_from(names)), self.compared(body, scope))
        raise ValueError(f"not a unary operator: {choice}")

    def around(self, formula: o.Formula) -> o.Formula:
        """The formula alone or as part of another one."""
        kinds = ["alone", "alone", "before", "absent", "unless"]
        kinds += sorted(
            self.features & {"as", "filter", "+", ":+", "project", "or", "and", "within"}
        )
        match self.draw(st.sampled_from(kinds)):
            case "alone":
                return formula
            case "before":
                return o.Sequence(formula, self.formula(1, Scope().after(formula)), self.interval())
            case "absent":
                return o.SequenceNot(self.atom(), formula, self.atom())
            case "unless":
                return o.Unless(o.Sequence(self.atom(), self.atom()), formula)
            case "or" | "and" as choice:
                return self.binary(choice, formula, 1, Scope())
            case choice:
                return self.unary(choice, formula, Scope())

    def repetition(self, body: o.Formula, scope: Scope) -> o.Formula:
        """The body of an iteration, often filtered where conditions may compare repetitions."""
        if "correlated" in self.features and self.draw(st.booleans()):
            return self.filter(body, scope.repeating())
        return body

    def compared(self, body: o.Formula, scope: Scope) -> o.Formula:
        """What a strategy compares, often filtered where conditions may read several events."""
        if "correlated" in self.features and self.draw(st.booleans()):
            return self.filter(body, scope)
        return body

    def filter(self, body: o.Formula, scope: Scope) -> o.Formula:
        """A filter over what the body binds; the body itself when there is nothing to name."""
        marked, sight = o.bound_variables(body), scope.after(body).sight()
        wanted = self.features & {"filter", "term", *CORRELATED}
        read = conditions(marked, sight, wanted, 2 if "correlated" in wanted else 3)
        return body if read.is_empty else o.Filter(body, self.draw(read))


WEIGHTS = {  # how often which operator is drawn
    ";": 4,
    "or": 3,
    "+": 3,
    ":": 2,
    ":+": 2,
    "as": 2,
    "filter": 2,
    "select": 3,
    **dict.fromkeys(("and", "project", "not", "->", "unless", "within"), 1),
}


@st.composite
def formulas(
    draw: st.DrawFn,
    features: Features = UNARY,
    max_depth: int = 4,
    types: tuple[str, ...] = TYPES,
    variables: tuple[str, ...] = VARIABLES,
) -> o.Formula:
    """Valid formulas, nested at most `max_depth` deep; with correlated conditions if they may."""
    drawer = _Drawer(draw, features, types, variables)
    formula = drawer.formula(max_depth, Scope())
    # A scope grows from left to right only: it does not see loops further right in a repetition.
    assume(not o.reads_one_of_several(formula))
    is_plain = "correlated" in features and not o.term_variables(formula)
    return drawer.filter(formula, Scope()) if is_plain else formula


@st.composite
def absences(draw: st.DrawFn, features: Features, max_depth: int = 2) -> o.Formula:
    """Formulas in which something is absent that compares events or bounds time, as the features
    say, with an operator around it or none."""
    drawer = _Drawer(draw, features, TYPES, VARIABLES)
    comparing = _Drawer(draw, features - {"filter", "term"}, TYPES, VARIABLES)
    left = drawer.formula(1, Scope())
    kind = draw(st.sampled_from(("not", "not", "->", "unless")))
    if kind == "unless":
        left = o.Sequence(left, drawer.formula(1, Scope().after(left)))
    scope = Scope().inside(left) if kind == "unless" else Scope().after(left)
    absent = drawer.formula(max_depth, scope)
    if "correlated" in features:
        absent = comparing.filter(absent, scope)
    if "within" in features and draw(st.booleans()):
        absent = o.Within(absent, draw(windows() | intervals()))
    if kind == "unless":
        return drawer.around(o.Unless(left, absent))
    if kind == "->":
        return drawer.around(o.Arrow(left, absent))
    right = drawer.formula(1, Scope().after(left))
    return drawer.around(o.SequenceNot(left, absent, right, drawer.interval()))


# ---------------------------------------------------------------------------------------------
# Random rows and queries


ONE_ROW = st.fixed_dictionaries(
    {
        "type": st.sampled_from(ROW_TYPES),
        "ts": st.integers(0, 3),
        "v": st.sampled_from((0, 1, 2, 3, -1, None)),
        "f": FLOATS | st.just(math.nan),
        "s": st.sampled_from((*STRINGS, None)),
        "id": st.sampled_from((0, 0, 0, 1, 1, 2, None)),
        "clock": st.integers(0, 2),
        "stream": st.sampled_from("SSSRRQ"),
    }
)


@st.composite
def rows(draw: st.DrawFn, max_size: int = 8) -> list[Row]:
    """Rows with every column of COLUMNS: nulls in v, s and id, NaN in f, ties in ts and clock."""
    size = draw(st.integers(0, max_size) | st.just(max_size))
    made: list[Row] = draw(st.lists(ONE_ROW, min_size=size, max_size=size))
    for previous, row in itertools.pairwise(made):
        row["ts"] += previous["ts"]
        row["clock"] += previous["clock"]
    return made


PARTITIONS = ((("id",),), (("s",),), (("id", "s"),), (("id",), ("s",)))


def _items(formula: o.Formula) -> st.SearchStrategy[str | tuple[str, ...]]:
    """Any of the items; never the keyword ANY, which `SELECT ANY` takes for the strategy."""
    names = sorted(o.bound_variables(formula) - {"ANY"})
    fixed = st.sampled_from(("*", "NONE"))
    if not names:
        return fixed
    return fixed | st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)


def _sources(formula: o.Formula) -> st.SearchStrategy[tuple[str, ...]]:
    """FROM nothing, or at least every stream that the formula names."""
    named = {n.stream for n in o.subformulas(formula) if isinstance(n, o.StreamType)}
    enough = [names for names in (("S",), ("R",), ("S", "R")) if named <= set(names)]
    return st.sampled_from([(), *enough])


@st.composite
def queries(
    draw: st.DrawFn,
    features: Features = UNARY | QUERY,
    max_depth: int = 4,
    made: st.SearchStrategy[o.Formula] | None = None,
) -> o.Query:
    """Whole queries: a formula, one of those made or any, and the clauses that the features switch
    on."""

    def clause(feature: str, values: st.SearchStrategy[Any], otherwise: Any) -> Any:
        drawn = feature in features and draw(st.booleans())
        return draw(values) if drawn else otherwise

    formula = draw(formulas(features, max_depth) if made is None else made)
    return o.Query(
        formula,
        strategy=clause("strategy", st.sampled_from(STRATEGIES), "ALL"),
        items=clause("items", _items(formula), "*"),
        sources=clause("stream", _sources(formula), ()),
        partition=clause("partition", st.sampled_from(PARTITIONS), ()),
        window=clause("window", windows(), None),
        consume=clause("consume", st.sampled_from(("ANY", "PARTITION", "NONE")), None),
        limit=clause("limit", st.sampled_from((1, 2, 3)), None),
    )
