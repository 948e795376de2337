"""Functions of progress values: pass on, keep, reach (Definition 25; section 6, end).

All three answer a question about one expression E with output attributes a₁ … aₖ that progress:

- *propagation*: up to which value of a can all rows be known, if the inputs are known up to b?
  v ≤ a + dist(a, v), so v is up to b if a is up to b - dist(a, v). Every case and every clause of H
  has a word, hence the minimum; one atom of a clause is enough, hence the maximum.
- *keep*: which rows of an input can no longer matter, if all results up to p have been passed on?
  A result that is still to come has aⱼ > pⱼ for every j, and aⱼ ≤ v + dist(v, aⱼ), so a row that
  matters has v > pⱼ - dist(v, aⱼ): in some case, for every j; minimum over cases of the maximum.
- *reach*: which rows can matter for results up to p? v ≤ aⱼ + dist(aⱼ, v) for some j: the maximum.

In a case in which an input is ignored it does not matter, so the case has no say in the last two.
`docs/tsa.md` has the derivation at length. Functions are values that print, `min(A:time - 3, B:t)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from catena.tsa.bounds import GREATEST, LEAST, Bound, shift_text
from catena.tsa.distances import Distances
from catena.tsa.formulas import And, Bounded, Formula, Or, Top
from catena.tsa.schema import Leaf, Schema

Progress: TypeAlias = Mapping[str, Bound]
"""Progress values by stream bound identifier."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same: without limits, or never anything."""

    bound: Bound

    def __str__(self) -> str:
        return str(self.bound)

    def at(self, progress: Progress) -> Bound:
        return self.bound


@dataclass(frozen=True, slots=True)
class Back:
    """A progress value less a distance."""

    of: str
    distance: Bound

    def __str__(self) -> str:
        return shift_text(self.of, Bound(-self.distance.value))

    def at(self, progress: Progress) -> Bound:
        return progress[self.of].less(self.distance)


@dataclass(frozen=True, slots=True)
class Forth:
    """A progress value and a distance."""

    of: str
    distance: Bound

    def __str__(self) -> str:
        return shift_text(self.of, self.distance)

    def at(self, progress: Progress) -> Bound:
        return progress[self.of] + self.distance


@dataclass(frozen=True, slots=True)
class LeastOf:
    """The least of several functions."""

    parts: tuple[Function, ...]

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.parts))})"

    def at(self, progress: Progress) -> Bound:
        return min(part.at(progress) for part in self.parts)


@dataclass(frozen=True, slots=True)
class GreatestOf:
    """The greatest of several functions."""

    parts: tuple[Function, ...]

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"

    def at(self, progress: Progress) -> Bound:
        return max(part.at(progress) for part in self.parts)


Function: TypeAlias = Fixed | Back | Forth | LeastOf | GreatestOf
NEVER, UNLIMITED = Fixed(LEAST), Fixed(GREATEST)


def least_of(parts: Iterable[Function]) -> Function:
    """The least, without infinities (Definition 25, normalized) and what is never the least."""
    kept = _flat(parts, LeastOf)
    if NEVER in kept:
        return NEVER
    tightest: dict[str, Bound] = {}
    for part in kept:
        if isinstance(part, Back):
            tightest[part.of] = max(tightest.get(part.of, LEAST), part.distance)
    left = [
        part
        for part in kept
        if part != UNLIMITED and not (isinstance(part, Back) and part.distance < tightest[part.of])
    ]
    return UNLIMITED if not left else left[0] if len(left) == 1 else LeastOf(tuple(left))


def greatest_of(parts: Iterable[Function]) -> Function:
    """The greatest, without infinities and what is never the greatest."""
    kept = _flat(parts, GreatestOf)
    if UNLIMITED in kept:
        return UNLIMITED
    back: dict[str, Bound] = {}
    forth: dict[str, Bound] = {}
    for part in kept:
        if isinstance(part, Back):
            back[part.of] = min(back.get(part.of, GREATEST), part.distance)
        elif isinstance(part, Forth):
            forth[part.of] = max(forth.get(part.of, LEAST), part.distance)
    left = [
        part
        for part in kept
        if part != NEVER
        and not (isinstance(part, Back) and part.distance > back[part.of])
        and not (isinstance(part, Forth) and part.distance < forth[part.of])
    ]
    return NEVER if not left else left[0] if len(left) == 1 else GreatestOf(tuple(left))


def _flat(parts: Iterable[Function], kind: type[LeastOf] | type[GreatestOf]) -> list[Function]:
    flat: dict[Function, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, kind) else [part]))
    return list(flat)


def propagation(schema: Schema, attribute: str) -> Function:
    """Up to which value of an attribute all rows are known (Definition 25)."""
    return least_of(_known(case, attribute, schema.bounds) for case in schema.analysis.cases)


def _known(case: Distances, attribute: str, bounds: Formula) -> Function:
    match bounds:
        case Top():
            return UNLIMITED
        case Bounded(name, bound):
            distance = case.dist(attribute, name)
            if distance == LEAST:
                return UNLIMITED
            return NEVER if distance == GREATEST else Back(bound, distance)
        case And(parts):
            return least_of(_known(case, attribute, part) for part in parts)
        case Or(parts):
            return greatest_of(_known(case, attribute, part) for part in parts)
    raise AssertionError(f"{bounds} is no stream bound formula")


def keep(schema: Schema, leaf: Leaf, attribute: str, outputs: Mapping[str, str]) -> Function:
    """Rows of an input up to this value can matter for no further result.

    `outputs` are the stream bound identifiers of the output's progressing attributes.
    """
    name = leaf.names[attribute]
    return least_of(
        greatest_of(_behind(case.dist(name, output), of) for output, of in outputs.items())
        for case in _cases_with(schema, leaf)
    )


def _behind(distance: Bound, of: str) -> Function:
    return NEVER if distance == GREATEST else Back(of, distance)


def reach(schema: Schema, leaf: Leaf, attribute: str, outputs: Mapping[str, str]) -> Function:
    """Rows of an input beyond this value do not matter for results up to the outputs' progress."""
    name = leaf.names[attribute]
    return greatest_of(
        UNLIMITED if distance == GREATEST else Forth(of, distance)
        for case in _cases_with(schema, leaf)
        for output, of in outputs.items()
        for distance in [case.dist(output, name)]
    )


def _cases_with(schema: Schema, leaf: Leaf) -> Iterator[Distances]:
    """The cases in which a result depends on a row of the input."""
    return (case for case in schema.analysis.cases if case.ignored.isdisjoint(leaf.bounds))
