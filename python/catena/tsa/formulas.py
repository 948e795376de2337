"""Temporal relation formulas and stream bound formulas (Definitions 3 and 6).

Both are built of ⊤, ∧ and ∨; the first also of ⊥, ¬, comparisons and ignore(v), the second of
bounded(v, b). `conjunction` and `disjunction` drop what says nothing and flatten, so formulas stay
readable; otherwise nothing is changed before `catena.tsa.normal` normalizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from catena.tsa.terms import Name, Term, names_of_term, renamed_term

Operator: TypeAlias = Literal["<", "<=", "=", ">=", ">", "!="]
NEGATED: dict[Operator, Operator] = {
    "<": ">=", "<=": ">", "=": "!=", ">=": "<", ">": "<=", "!=": "=",
}  # fmt: skip
MIRRORED: dict[Operator, Operator] = {
    "<": ">", "<=": ">=", "=": "=", ">=": "<=", ">": "<", "!=": "!=",
}  # fmt: skip
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠"}


@dataclass(frozen=True, slots=True)
class Top:
    """Always true."""

    def __str__(self) -> str:
        return "⊤"


@dataclass(frozen=True, slots=True)
class Bottom:
    """Never true."""

    def __str__(self) -> str:
        return "⊥"


@dataclass(frozen=True, slots=True)
class Comparison:
    """t₁ op t₂."""

    left: Term
    operator: Operator
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {SIGNS.get(self.operator, self.operator)} {self.right}"


@dataclass(frozen=True, slots=True)
class Ignore:
    """The variable is not part of the rows that this case of the formula speaks of."""

    name: str

    def __str__(self) -> str:
        return f"ignore({self.name})"


@dataclass(frozen=True, slots=True)
class Bounded:
    """A limit of this name is a limit of the stream: an atom of a stream bound formula."""

    name: str
    bound: str

    def __str__(self) -> str:
        return f"bounded({self.name}, {self.bound})"


@dataclass(frozen=True, slots=True)
class And:
    """All of some formulas."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " ∧ ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """One of some formulas."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " ∨ ".join(
            f"({part})" if isinstance(part, And) else str(part) for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a formula."""

    formula: Formula

    def __str__(self) -> str:
        return f"¬({self.formula})"


Formula: TypeAlias = Top | Bottom | Comparison | Ignore | Bounded | And | Or | Not
TOP, BOTTOM = Top(), Bottom()


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All of them, flat and without repetitions."""
    flat: dict[Formula, None] = {}
    for part in parts:
        if part == BOTTOM:
            return BOTTOM
        flat.update(dict.fromkeys(part.parts if isinstance(part, And) else [part]))
    flat.pop(TOP, None)
    return TOP if not flat else next(iter(flat)) if len(flat) == 1 else And(tuple(flat))


def disjunction(parts: Iterable[Formula]) -> Formula:
    """One of them, flat and without repetitions."""
    flat: dict[Formula, None] = {}
    for part in parts:
        if part == TOP:
            return TOP
        flat.update(dict.fromkeys(part.parts if isinstance(part, Or) else [part]))
    flat.pop(BOTTOM, None)
    return BOTTOM if not flat else next(iter(flat)) if len(flat) == 1 else Or(tuple(flat))


def equal(left: str, right: str) -> Comparison:
    """Two names of one time."""
    return Comparison(Name(left), "=", Name(right))


def names_of(formula: Formula) -> Iterator[str]:
    """The attributes and variables of a formula."""
    match formula:
        case Comparison(left, _, right):
            yield from names_of_term(left)
            yield from names_of_term(right)
        case Ignore(name) | Bounded(name, _):
            yield name
        case And(parts) | Or(parts):
            for part in parts:
                yield from names_of(part)
        case Not(inner):
            yield from names_of(inner)


def renamed(formula: Formula, new: Callable[[str], str]) -> Formula:
    """The formula with other names (the substitution ξ)."""
    match formula:
        case Comparison(left, operator, right):
            return Comparison(renamed_term(left, new), operator, renamed_term(right, new))
        case Ignore(name):
            return Ignore(new(name))
        case Bounded(name, bound):
            return Bounded(new(name), bound)
        case And(parts):
            return conjunction(renamed(part, new) for part in parts)
        case Or(parts):
            return disjunction(renamed(part, new) for part in parts)
        case Not(inner):
            return Not(renamed(inner, new))
        case Top() | Bottom():
            return formula
