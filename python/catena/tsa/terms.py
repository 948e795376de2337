"""Temporal terms: timestamps shifted, compared, and made less precise (Definition 2).

A name is an attribute, or a variable that stands for an attribute no longer there; variables have a
number, `time#1`, which no attribute can have. Terms are immutable and print like the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from catena.tsa.bounds import Bound, Number, number_text, shift_text


@dataclass(frozen=True, slots=True)
class Name:
    """An attribute or a variable."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Shift:
    """A term moved by a constant."""

    term: Term
    by: Fraction | int

    def __str__(self) -> str:
        return shift_text(str(self.term), Bound(self.by))


@dataclass(frozen=True, slots=True)
class Least:
    """min of some terms."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True)
class Greatest:
    """max of some terms."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True)
class Floor:
    """The last multiple of a width that is not after the term."""

    width: Fraction | int
    term: Term

    def __str__(self) -> str:
        return f"floor_{number_text(self.width)}({self.term})"


@dataclass(frozen=True, slots=True)
class Ceil:
    """The first multiple of a width that is not before the term."""

    width: Fraction | int
    term: Term

    def __str__(self) -> str:
        return f"ceil_{number_text(self.width)}({self.term})"


Term: TypeAlias = Name | Shift | Least | Greatest | Floor | Ceil


def is_variable(name: str) -> bool:
    """Whether a name stands for an attribute that is no longer there."""
    return "#" in name


def variable(name: str, number: int) -> str:
    """The variable with that number for an attribute or another variable."""
    return f"{visible(name)}#{number}"


def visible(name: str) -> str:
    """The attribute that a variable once was."""
    return name.partition("#")[0]


def variable_number(name: str) -> int:
    """The number of a variable; 0 for an attribute."""
    return int(name.partition("#")[2] or 0)


def names_of_term(term: Term) -> Iterator[str]:
    """The names in a term."""
    match term:
        case Name(name):
            yield name
        case Shift(inner, _) | Floor(_, inner) | Ceil(_, inner):
            yield from names_of_term(inner)
        case Least(terms) | Greatest(terms):
            for each in terms:
                yield from names_of_term(each)


def renamed_term(term: Term, new: Callable[[str], str]) -> Term:
    """The term with other names."""
    match term:
        case Name(name):
            return Name(new(name))
        case Shift(inner, by):
            return Shift(renamed_term(inner, new), by)
        case Floor(width, inner):
            return Floor(width, renamed_term(inner, new))
        case Ceil(width, inner):
            return Ceil(width, renamed_term(inner, new))
        case Least(terms):
            return Least(tuple(renamed_term(each, new) for each in terms))
        case Greatest(terms):
            return Greatest(tuple(renamed_term(each, new) for each in terms))


def exact(value: Number | str) -> Fraction | int:
    """A finite number without rounding; whole numbers are ints."""
    fraction = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    return int(fraction) if fraction.denominator == 1 else fraction
