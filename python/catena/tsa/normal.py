"""Normalized temporal relation formulas and their cases (Definition 4).

`normalized` leaves atoms `v <= w + c` (open where the comparison was strict) and ignore(v), joined
by ∧ and ∨. All steps are equivalences but those for floor and ceil, which forget where multiples
lie; they are applied to atoms that are not negated any more, so what is left is implied.

`cases` is the disjunctive normal form: each case is a conjunction, as the tightest limit per pair
of names and the set of ignored names. There may be exponentially many of them; a budget says so.

The paper prints Neg4 with the mirrored operator for the negated one; ¬(t < u) is t ≥ u here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from catena.errors import CatenaLimitError
from catena.tsa.bounds import Bound, shift_text
from catena.tsa.formulas import (
    MIRRORED,
    NEGATED,
    TOP,
    And,
    Bottom,
    Comparison,
    Formula,
    Ignore,
    Not,
    Or,
    Top,
)
from catena.tsa.terms import Ceil, Floor, Greatest, Least, Name, Shift, Term

CASES_MAX = 4096
"""Cases of one formula at most."""


@dataclass(frozen=True, slots=True)
class Limit:
    """upper ≤ lower + by: the only comparison that normalized formulas have."""

    upper: str
    lower: str
    by: Bound

    def __str__(self) -> str:
        sign = "≤" if self.by.closed else "<"
        return f"{self.upper} {sign} {shift_text(self.lower, Bound(self.by.value))}"


@dataclass(frozen=True, slots=True)
class All:
    """A conjunction of normalized formulas; ⊤ if it has none."""

    parts: tuple[Normal, ...]

    def __str__(self) -> str:
        parts = [
            f"({p})" if isinstance(p, Any) and len(p.parts) > 1 else str(p) for p in self.parts
        ]
        return " ∧ ".join(parts) or "⊤"


@dataclass(frozen=True, slots=True)
class Any:
    """A disjunction of normalized formulas; ⊥ if it has none."""

    parts: tuple[Normal, ...]

    def __str__(self) -> str:
        parts = [
            f"({p})" if isinstance(p, All) and len(p.parts) > 1 else str(p) for p in self.parts
        ]
        return " ∨ ".join(parts) or "⊥"


Normal: TypeAlias = Limit | Ignore | All | Any


def normalized(formula: Formula) -> Normal:
    """The normalized form."""
    return _normal(formula, negated=False)


def _normal(formula: Formula, *, negated: bool) -> Normal:
    match formula:
        case Top() | Bottom():
            return All(()) if (formula == TOP) != negated else Any(())
        case Not(inner):
            return _normal(inner, negated=not negated)
        case And(parts) | Or(parts):
            normal = [_normal(part, negated=negated) for part in parts]
            return _all(normal) if isinstance(formula, And) != negated else _any(normal)
        case Ignore():
            assert not negated, "no formula ignores a variable under a negation"
            return formula
        case Comparison(left, operator, right):
            return _compared(left, NEGATED[operator] if negated else operator, right)
    raise AssertionError(f"{formula} is no temporal relation formula")


def _all(parts: Iterable[Normal]) -> Normal:
    kept = tuple(dict.fromkeys(part for part in parts if part != All(())))
    return Any(()) if Any(()) in kept else kept[0] if len(kept) == 1 else All(kept)


def _any(parts: Iterable[Normal]) -> Normal:
    kept = tuple(dict.fromkeys(part for part in parts if part != Any(())))
    return All(()) if All(()) in kept else kept[0] if len(kept) == 1 else Any(kept)


def _compared(left: Term, operator: str, right: Term) -> Normal:
    """Eq, Neq, Geq, Gr and Less."""
    match operator:
        case "=":
            return _all([_at_most(left, right, Bound(0)), _at_most(right, left, Bound(0))])
        case "!=":
            below = _at_most(left, right, Bound(0, False))
            return _any([below, _at_most(right, left, Bound(0, False))])
        case ">=" | ">":
            mirrored = MIRRORED[operator]
            return _compared(right, mirrored, left)
    return _at_most(left, right, Bound(0, operator == "<="))


def _at_most(left: Term, right: Term, by: Bound) -> Normal:
    """left ≤ right + by, by Arith, Min, Max, Floor and Ceil until both sides are names."""
    match left, right:
        case Shift(inner, shift), _:
            return _at_most(inner, right, by + Bound(-shift))
        case _, Shift(inner, shift):
            return _at_most(left, inner, by + Bound(shift))
        case _, Least(terms):
            return _all(_at_most(left, term, by) for term in terms)
        case Least(terms), _:
            return _any(_at_most(term, right, by) for term in terms)
        case _, Greatest(terms):
            return _any(_at_most(left, term, by) for term in terms)
        case Greatest(terms), _:
            return _all(_at_most(term, right, by) for term in terms)
        case Floor(width, inner), _:
            return _at_most(inner, right, by + Bound(width, False))
        case _, Floor(_, inner):
            return _at_most(left, inner, by)
        case Ceil(_, inner), _:
            return _at_most(inner, right, by)
        case _, Ceil(width, inner):
            return _at_most(left, inner, by + Bound(width, False))
        case Name(upper), Name(lower):
            return _limit(upper, lower, by)
    raise AssertionError(f"{left} and {right} are no temporal terms")


def _limit(upper: str, lower: str, by: Bound) -> Normal:
    if upper == lower:
        return All(()) if by >= Bound(0) else Any(())
    return Limit(upper, lower, by)


@dataclass(frozen=True, slots=True)
class Case:
    """A conjunction: for each pair (w, v) the least c with v ≤ w + c, and what is ignored."""

    limits: Mapping[tuple[str, str], Bound]
    ignored: frozenset[str]


def cases(normal: Normal) -> list[Case]:
    """The disjunctive normal form, as conjunctions."""
    match normal:
        case Limit(upper, lower, by):
            return [Case({(lower, upper): by}, frozenset())]
        case Ignore(name):
            return [Case({}, frozenset([name]))]
        case Any(parts):
            return _within_budget([case for part in parts for case in cases(part)])
        case All(parts):
            joined = [Case({}, frozenset())]
            for part in parts:
                joined = _within_budget([_both(a, b) for a in joined for b in cases(part)])
            return joined


def _both(first: Case, second: Case) -> Case:
    if not second.limits:
        return Case(first.limits, first.ignored | second.ignored)
    limits = dict(first.limits)
    for pair, by in second.limits.items():
        limits[pair] = min(limits.get(pair, by), by)
    return Case(limits, first.ignored | second.ignored)


def _within_budget(found: list[Case]) -> list[Case]:
    if len(found) > CASES_MAX:
        raise CatenaLimitError(
            f"the temporal relations have more than {CASES_MAX} cases",
            hint="use fewer disjunctions, !=, min and max over times, or name a part of the "
            "expression as a stream of its own",
        ).with_amounts(len(found), CASES_MAX)
    return found
