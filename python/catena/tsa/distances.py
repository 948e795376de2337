"""Temporal distances by shortest paths, and progressing sets (Definitions 5 and 7).

dist(w, v) is the largest value that v - w can take. In one case (a conjunction of `v <= w + c`) it
is the shortest path from w to v, all pairs by Floyd and Warshall over bounds with an infinitesimal;
a cycle below zero means that no row satisfies the case. Over all cases it is the maximum.

Example: from `a <= b + 1` and `b < c + 2` follows dist(c, a) = 3 - ε, that is a < c + 3.
Counterexample: `a <= b - 1, b <= a` is a cycle of -1, and `a < b, b <= a` one of -ε: both
inconsistent, though the second has no cycle that a computation with plain numbers would find.

Cost: cubic in the names that occur in limits, per case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from catena.tsa.bounds import GREATEST, LEAST, ZERO, Bound
from catena.tsa.formulas import And, Bounded, Formula, Not, Or, Top, conjunction
from catena.tsa.normal import Case, cases, normalized


@dataclass(frozen=True)
class Distances:
    """The temporal distances in one consistent case."""

    shortest: Mapping[tuple[str, str], Bound]
    ignored: frozenset[str]

    def dist(self, source: str, target: str) -> Bound:
        """The largest value of target - source; -∞ if either is ignored."""
        if source in self.ignored or target in self.ignored:
            return LEAST
        if source == target:
            return ZERO
        return self.shortest.get((source, target), GREATEST)

    def bounds(self, names: Iterable[str], formula: Formula) -> bool:
        """Whether limits of the names are limits of the stream: ... ⊨ H (Definition 7)."""
        names = tuple(names)
        match formula:
            case Top():
                return True
            case Bounded(name, _):
                if name in self.ignored:
                    return True
                return any(self.dist(source, name) != GREATEST for source in names)
            case And(parts):
                return all(self.bounds(names, part) for part in parts)
            case Or(parts):
                return any(self.bounds(names, part) for part in parts)
        raise AssertionError(f"{formula} is no stream bound formula")


def closed(case: Case) -> Distances | None:
    """All shortest paths of a case; None if it is inconsistent."""
    out: dict[str, dict[str, Bound]] = {}
    into: dict[str, set[str]] = {}
    for (source, target), by in case.limits.items():
        out.setdefault(source, {})[target] = by
        into.setdefault(target, set()).add(source)
    for middle in list(into.keys() & out.keys()):
        for source in list(into[middle]):
            first = out[source][middle]
            for target, second in list(out[middle].items()):
                path = first + second
                if target == source:
                    if path < ZERO:
                        return None
                elif path < out[source].get(target, GREATEST):
                    out[source][target] = path
                    into.setdefault(target, set()).add(source)
    shortest = {(a, b): by for a, ends in out.items() for b, by in ends.items()}
    return Distances(shortest, case.ignored)


class Analysis:
    """The cases of a temporal relation formula, with their distances.

    >>> from catena.tsa.formulas import Comparison
    >>> from catena.tsa.terms import Name, Shift
    >>> later = Comparison(Name("start"), "=", Shift(Name("end"), -10))
    >>> print(Analysis(later).dist("start", "end"))
    10
    """

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    @cached_property
    def cases(self) -> tuple[Distances, ...]:
        """The consistent cases, each once."""
        found: dict[tuple[frozenset[tuple[tuple[str, str], Bound]], frozenset[str]], Distances] = {}
        for case in cases(normalized(self.formula)):
            distances = closed(case)
            if distances is not None:
                key = frozenset(distances.shortest.items()), distances.ignored
                found.setdefault(key, distances)
        return tuple(found.values())

    def dist(self, source: str, target: str) -> Bound:
        """The largest value of target - source in any case; -∞ if there is no case."""
        return max((case.dist(source, target) for case in self.cases), default=LEAST)

    def is_progressing(self, names: Collection[str], formula: Formula) -> bool:
        """Whether the names are a progressing set with respect to a stream bound formula."""
        return all(case.bounds(names, formula) for case in self.cases)

    def implies(self, formula: Formula) -> bool:
        """Whether the formula, which has no variables, holds in all rows.

        Right where true. Where the formula has floor or ceil, false may mean "not known".
        """
        return not Analysis(conjunction([self.formula, Not(formula)])).cases
