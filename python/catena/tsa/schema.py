"""Schemas of temporal streams, and how operators pass them on (Definitions 8 and 12 to 18).

A schema is a triple (A, G, H): attributes, what is known of their times, and which of them bound
the stream. Beside it goes what the paper reads off the names in H: for each occurrence of a stream
in the expression, what its times are called by now (`Leaf`). Substitutions ξ rename all three.

Variables are numbered; a substitution takes numbers that neither side uses. Only times are
replaced, since nothing else occurs in formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from catena.tsa.distances import Analysis
from catena.tsa.formulas import (
    Formula,
    Ignore,
    conjunction,
    disjunction,
    equal,
    names_of,
    renamed,
)
from catena.tsa.terms import is_variable, variable, variable_number
from catena.tsa.values import TEMPORAL, Kind

if TYPE_CHECKING:
    from catena.tsa.relations import Stream


@dataclass(frozen=True)
class Leaf:
    """An occurrence of a stream in an expression: what its times are called by now."""

    stream: Stream
    names: Mapping[str, str]

    @property
    def bounds(self) -> tuple[str, ...]:
        """What the stream's progressing attributes are called: its clause of H."""
        return tuple(self.names[attribute] for attribute in self.stream.progressing)

    def renamed(self, new: Callable[[str], str]) -> Leaf:
        return Leaf(self.stream, {key: new(name) for key, name in self.names.items()})


@dataclass(frozen=True)
class Schema:
    """(A, G, H): attributes with their kinds, temporal relations, stream bounds."""

    attributes: Mapping[str, Kind]
    relations: Formula
    bounds: Formula
    leaves: tuple[Leaf, ...] = field(default=())

    @cached_property
    def analysis(self) -> Analysis:
        return Analysis(self.relations)

    @cached_property
    def times(self) -> tuple[str, ...]:
        """The attributes that are times."""
        return tuple(name for name, kind in self.attributes.items() if kind in TEMPORAL)

    @cached_property
    def top_number(self) -> int:
        """The greatest number of a variable."""
        used = [*names_of(self.relations), *names_of(self.bounds)]
        used += [name for leaf in self.leaves for name in leaf.names.values()]
        return max(map(variable_number, used), default=0)

    def is_progressing(self, names: Iterable[str]) -> bool:
        """Whether the attributes are a progressing set (Definition 8)."""
        return self.analysis.is_progressing(tuple(names), self.bounds)

    def renamed(self, new: Callable[[str], str], attributes: Mapping[str, Kind]) -> Schema:
        """Other names everywhere; the attributes are those given."""
        return Schema(
            attributes,
            renamed(self.relations, new),
            renamed(self.bounds, new),
            tuple(leaf.renamed(new) for leaf in self.leaves),
        )

    def where(self, relation: Formula) -> Schema:
        """More temporal relations (Definitions 12 and 13)."""
        known = conjunction([self.relations, relation])
        return Schema(self.attributes, known, self.bounds, self.leaves)

    def with_attributes(self, attributes: Mapping[str, Kind]) -> Schema:
        """Other attributes, of which those that are times were times before."""
        return Schema(attributes, self.relations, self.bounds, self.leaves)

    def only(self, attributes: Mapping[str, Kind], after: int = 0) -> Schema:
        """Attributes that are dropped become variables (Definitions 14 and 15)."""
        number = max(self.top_number, after) + 1
        kept = set(attributes)

        def new(name: str) -> str:
            return name if is_variable(name) or name in kept else variable(name, number)

        return self.renamed(new, attributes)

    def beside(self, other: Schema) -> Schema:
        """The same with no variable that the other has."""
        first = other.top_number

        def new(name: str) -> str:
            if not is_variable(name):
                return name
            return variable(name, variable_number(name) + first)

        return self.renamed(new, self.attributes)

    @property
    def bounding(self) -> list[str]:
        """attr(H) ∪ vars(H)."""
        return list(dict.fromkeys(names_of(self.bounds)))


def _joined(
    first: Schema, second: Schema, relations: Formula, attributes: Mapping[str, Kind]
) -> Schema:
    bounds = conjunction([first.bounds, second.bounds])
    return Schema(attributes, relations, bounds, first.leaves + second.leaves)


def _ignored(schema: Schema) -> list[Formula]:
    return [Ignore(name) for name in schema.bounding]


def _copied(schema: Schema, after: int = 0) -> tuple[Schema, list[Formula]]:
    """All attributes become variables; and that these variables are the attributes."""
    number = max(schema.top_number, after) + 1
    copy = schema.only({}, after)
    return copy, [equal(variable(name, number), name) for name in schema.times]


def product(first: Schema, second: Schema) -> Schema:
    """Cross product (Definition 16)."""
    second = second.beside(first)
    relations = conjunction([first.relations, second.relations])
    return _joined(first, second, relations, {**first.attributes, **second.attributes})


def union(first: Schema, second: Schema) -> Schema:
    """Union (Definition 17): a row of either; what bounds the other is ignored."""
    left, is_left = _copied(first)
    right, is_right = _copied(second.beside(left), left.top_number)
    relations = disjunction(
        [
            conjunction([*is_left, *_ignored(right), left.relations]),
            conjunction([*is_right, *_ignored(left), right.relations]),
        ]
    )
    return _joined(left, right, relations, first.attributes)


def difference(first: Schema, second: Schema) -> Schema:
    """Difference (Definition 18): a row of the first, with or without an equal one to wait for."""
    right, is_right = _copied(second.beside(first), first.top_number)
    relations = disjunction(
        [
            conjunction([first.relations, *_ignored(right)]),
            conjunction([first.relations, *is_right, right.relations]),
        ]
    )
    return _joined(first, right, relations, first.attributes)


def semi_join(first: Schema, second: Schema, relation: Formula) -> Schema:
    """π[A₁](σ[C](E₁ × E₂))."""
    return product(first, second).where(relation).only(first.attributes)


def anti_join(first: Schema, second: Schema, relation: Formula) -> Schema:
    """E₁ \\ π[A₁](σ[C](E₁ × E₂)), with one copy of E₁ less than the composition has.

    The copy's rows are those of E₁ itself, so it would bound them by what bounds them anyway.
    """
    both = product(first, second).where(relation)
    right = Schema(
        {}, both.relations, second.beside(first).bounds, both.leaves[len(first.leaves) :]
    )
    dropped = right.only(first.attributes)
    relations = disjunction([conjunction([first.relations, *_ignored(dropped)]), dropped.relations])
    return _joined(first, dropped, relations, first.attributes)
