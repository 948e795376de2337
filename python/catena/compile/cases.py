"""Rows told apart by the guards that they satisfy (paper 003, C.3.2: P-types).

What a set of runs does on a row depends on which of many guards the row satisfies. `divided` asks
one predicate after the other until every guard is decided, and then what happens in that case. What
happens whatever the answer to a question was is put together again, so a result that depends on few
predicates is told by few:

    guards {type = 'A'}, {type = 'B', v > 0}; what happens: the set of those satisfied
    type = 'A'                             {1}
    type = 'B'  and v > 0                  {2}
    type = 'B'  and (v > 0) IS NOT TRUE    {}
    neither                                {}

Several equalities of one attribute with strings are one question, since at most one holds. Truth
has three values, so the other case of P is "P is not true" and not NOT P.

Invariant: the guards given back for different cases exclude each other, and the cases cover all
rows. Cost: as many cases as there are satisfiable combinations of answers that matter, which is
exponential in the number of predicates at worst; a `CaseBudget` limits it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, Generic, TypeAlias, TypeVar

from catena.compile.cea import Guard, string_equality
from catena.errors import CatenaLimitError
from catena.query import ast
from catena.query.format import format_expression

Option = TypeVar("Option")
Result = TypeVar("Result")

CASE_COUNT_MAX: Final = 50_000
"""The cases that may be told apart for one formula, over all places of its automata."""


class CaseBudget:
    """The cases of a formula that are left."""

    def __init__(self) -> None:
        self._left = CASE_COUNT_MAX

    def spend(self) -> None:
        """One case less; raises CatenaLimitError when there is none."""
        if self._left == 0:
            raise CatenaLimitError(
                f"strategies and negations have to tell more than {CASE_COUNT_MAX} cases apart",
                hint="make the formulas inside NEXT, LAST, MAX, NOT and UNLESS smaller, "
                "with fewer conditions",
            )
        self._left -= 1


_Literals: TypeAlias = frozenset[int]
"""Predicates by number: i + 1 where predicate i must be true, -(i + 1) where it must not be."""

_Open: TypeAlias = list[tuple[_Literals, Option]]
"""What may still be satisfied: the literals that are not decided yet, and whose guard they are."""

_Found: TypeAlias = dict[Result, dict[_Literals, None]]
"""The results, each with the literals under which it happens."""

_Results: TypeAlias = Callable[[Sequence[Option]], Iterable[Result]]

_NO_LITERALS: Final[_Literals] = frozenset()


def divided(
    options: Iterable[tuple[Guard, Option]],
    results: _Results[Option, Result],
    budget: CaseBudget,
) -> list[tuple[Guard, Result]]:
    """What happens on which rows: `results` tells what, given the options whose guard holds."""
    division = _Division(results, budget)
    found = division.divide([(division.literals(guard), option) for guard, option in options])
    return [
        (division.guard(literals), result)
        for result, several in found.items()
        for literals in several
    ]


@lru_cache(maxsize=4096)
def _subject_and_text(predicate: ast.Expression) -> tuple[str, str]:
    """What is asked about, the same for predicates that exclude each other; and the predicate."""
    text, equality = format_expression(predicate), string_equality(predicate)
    return (text if equality is None else f"{equality[0]} = ?"), text


class _Division(Generic[Option, Result]):
    def __init__(self, results: _Results[Option, Result], budget: CaseBudget) -> None:
        self._results = results
        self._budget = budget
        self._numbers: dict[ast.Expression, int] = {}
        self._predicates: list[ast.Expression] = []
        self._subjects: list[str] = []
        self._texts: list[str] = []

    # Predicates and their numbers

    def literals(self, guard: Guard) -> _Literals:
        return frozenset(map(self._literal, guard))

    def _literal(self, predicate: ast.Expression) -> int:
        if isinstance(predicate, ast.IsTrue):
            number = self._number(predicate.operand)
            return -number if predicate.negated else number
        return self._number(predicate)

    def _number(self, predicate: ast.Expression) -> int:
        number = self._numbers.setdefault(predicate, len(self._predicates) + 1)
        if number > len(self._predicates):
            self._predicates.append(predicate)
            subject, text = _subject_and_text(predicate)
            self._subjects.append(subject)
            self._texts.append(text)
        return number

    def guard(self, literals: _Literals) -> Guard:
        return frozenset(
            self._predicates[i - 1] if i > 0 else ast.IsTrue(self._predicates[-i - 1], negated=True)
            for i in literals
        )

    # Questions and answers

    def divide(self, options: _Open[Option]) -> _Found[Result]:
        if not any(literals for literals, _ in options):
            self._budget.spend()
            satisfied = [option for _, option in options]
            return {result: {_NO_LITERALS: None} for result in self._results(satisfied)}
        question = self._next_question(options)
        answers = [self.divide(_answered(options, question, true)) for true in question]
        otherwise = self.divide(_answered(options, question, 0))
        return _joined(question, answers, otherwise)

    def _next_question(self, options: _Open[Option]) -> tuple[int, ...]:
        """The predicates of the subject that most options depend on, of which at most one holds.

        Of several subjects it is the first by its text, and so are the predicates ordered, so that
        the order does not depend on that of sets.
        """
        counts: Counter[str] = Counter()
        for literals, _ in options:
            counts.update({self._subjects[abs(i) - 1] for i in literals})
        subject = min(counts, key=lambda name: (-counts[name], name))
        asked = {abs(i) for literals, _ in options for i in literals}
        about = [i for i in asked if self._subjects[i - 1] == subject]
        return tuple(sorted(about, key=lambda i: self._texts[i - 1]))


def _answered(options: _Open[Option], question: tuple[int, ...], true: int) -> _Open[Option]:
    """What is still open when the predicate `true` of the question holds and no other."""
    holds = frozenset(i if i == true else -i for i in question)
    fails = frozenset(-i for i in holds)
    return [
        (literals - holds, option) for literals, option in options if literals.isdisjoint(fails)
    ]


def _joined(
    question: tuple[int, ...], answers: list[_Found[Result]], otherwise: _Found[Result]
) -> _Found[Result]:
    """The results of all answers; what does not depend on the answer does not mention it."""
    places: dict[tuple[Result, _Literals], list[int]] = {}
    for place, found in enumerate([*answers, otherwise]):
        for result, several in found.items():
            for literals in several:
                places.setdefault((result, literals), []).append(place)
    joined: _Found[Result] = {}
    for (result, literals), where in places.items():
        into = joined.setdefault(result, {})
        if len(answers) in where:
            absent = (-i for place, i in enumerate(question) if place not in where)
            into[literals.union(absent)] = None
        else:
            into.update((literals | {question[place]}, None) for place in where)
    return joined
