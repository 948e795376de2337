"""From a formula in LP normal form to a complex event automaton (paper 003, Theorem 3).

An automaton here has one initial and one final state; nothing enters the initial state and nothing
leaves the final one. So automata are joined by letting states coincide, without empty transitions:

    R            i -[type = R] / {R}-> f
    a OR b       the initial states coincide, and the final ones
    a ; b        a's final and b's initial state coincide in w, and w -true/{}-> w lets rows pass
    a : b        the same without the loop
    a +          every transition into f has a twin into w, and w leaves like i; w loops
    a :+         the same without the loop
    a AND b      the product; two transitions go together if they set the same marks
    a AS x       x is added to every set of marks that is not empty
    a FILTER x[P], PROJECT[L](a)   guards, or marks, of the transitions change

Guards are sets of predicates, all of which a row must satisfy; marks are sets of variables.

Invariant: `Automaton.transitions` only has states from which the final state can be reached and
that can be reached. Cost: linear in the formula but for AND, whose products are limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from catena.errors import CatenaError, CatenaLimitError, error_at
from catena.query import ast
from catena.query.format import format_formula
from catena.query.normalize import children

Guard: TypeAlias = frozenset[ast.Expression]
Marks: TypeAlias = frozenset[str]

TRUE: Final[Guard] = frozenset()
NO_MARKS: Final[Marks] = frozenset()
INITIAL: Final = 0
FINAL: Final = 1
STATE_COUNT_MAX: Final = 10_000
"""The states that an automaton may have before it is determinized."""


@dataclass(frozen=True, slots=True)
class Transition:
    """Reads a row that satisfies every predicate of the guard, and marks it."""

    source: int
    guard: Guard
    marks: Marks
    target: int
    hides: bool = False
    """The row counts as marked though no mark is shown: strategies compare marked rows."""

    @property
    def is_marked(self) -> bool:
        return bool(self.marks) or self.hides


@dataclass(frozen=True, slots=True)
class Automaton:
    """States are numbered from 0; 0 is the initial and 1 the final one."""

    state_count: int
    transitions: tuple[Transition, ...]

    @property
    def is_empty(self) -> bool:
        """True if no run reaches the final state, whatever the rows are."""
        return not self.transitions

    def marks_at_most_once(self, variable: str) -> bool:
        """True if no run marks more than one row with the variable."""
        once: set[int] = set()
        pending = [t.target for t in self.transitions if variable in t.marks]
        while pending:
            state = pending.pop()
            if state in once:
                continue
            once.add(state)
            pending.extend(t.target for t in self.transitions if t.source == state)
        return not any(variable in t.marks and t.source in once for t in self.transitions)


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns that hold the type and, if any, the stream of a row."""

    type: str
    stream: str | None


def build(formula: ast.Formula, columns: ColumnNames, text: str = "") -> Automaton:
    """The automaton of a formula in LP normal form."""
    return _Builder(columns, text).build(formula)


def dead_part(formula: ast.Formula, columns: ColumnNames, text: str = "") -> ast.Formula | None:
    """The smallest part of a formula that can never match although its own parts can, if any."""
    for part in children(formula):
        found = dead_part(part, columns, text)
        if found is not None:
            return found
    if isinstance(formula, ast.Nothing):
        return None
    return formula if build(formula, columns, text).is_empty else None


def project(automaton: Automaton, variables: Iterable[str]) -> Automaton:
    """The automaton with only the marks of some variables kept."""
    kept = frozenset(variables)
    return _with_transitions(automaton, (_marked(t, t.marks & kept) for t in automaton.transitions))


def show(automaton: Automaton, variables: Iterable[str]) -> Automaton:
    """As `project`, but rows whose marks are all left out still count as marked."""
    kept = frozenset(variables)
    shown = (
        Transition(
            t.source, t.guard, t.marks & kept, t.target, bool(t.marks - kept) and not t.marks & kept
        )
        for t in automaton.transitions
    )
    return _with_transitions(automaton, shown)


def _marked(transition: Transition, marks: Marks) -> Transition:
    return Transition(transition.source, transition.guard, marks, transition.target)


def _with_transitions(automaton: Automaton, transitions: Iterable[Transition]) -> Automaton:
    return Automaton(automaton.state_count, tuple(dict.fromkeys(transitions)))


def _renumbered(automaton: Automaton, number: Callable[[int], int]) -> list[Transition]:
    return [
        Transition(number(t.source), t.guard, t.marks, number(t.target))
        for t in automaton.transitions
    ]


def _shift(initial: int, final: int, first_free: int) -> Callable[[int], int]:
    """A numbering that gives the two special states new numbers and the others consecutive ones."""
    special = {INITIAL: initial, FINAL: final}
    return lambda state: special.get(state, state + first_free - 2)


class _Builder:
    def __init__(self, columns: ColumnNames, text: str) -> None:
        self._columns = columns
        self._text = text

    def build(self, formula: ast.Formula) -> Automaton:
        match formula:
            case ast.Atom():
                return self._atom(formula)
            case ast.AnyEvent():
                return _one_row(TRUE, frozenset({"ANY"}))
            case ast.Nothing():
                return Automaton(2, ())
            case ast.As():
                return _add_mark(self.build(formula.body), formula.variable)
            case ast.Filter():
                return _add_guard(self.build(formula.body), formula.condition)
            case ast.Or():
                return _union(self.build(formula.left), self.build(formula.right))
            case ast.And():
                return self._intersection(formula)
            case ast.Sequence(interval=None):
                left, right = self.build(formula.left), self.build(formula.right)
                return _concatenation(left, right, formula.contiguous)
            case ast.Iteration(interval=None):
                return _iteration(self.build(formula.body), formula.contiguous)
            case ast.Project():
                return _trim(project(self.build(formula.body), formula.variables))
            case ast.Select(strategy=ast.Strategy.ALL):
                return self.build(formula.body)
            case _:
                raise self._unsupported(formula)

    def _unsupported(self, formula: ast.Formula) -> CatenaError:
        what = _UNSUPPORTED.get(type(formula), "this operator")
        if isinstance(formula, ast.Select):
            what = f"{formula.strategy.value}(...) inside a formula"
        return error_at(self._text, formula.span, f"{what} is not supported yet")

    def _atom(self, formula: ast.Atom) -> Automaton:
        guard = {_equals(self._columns.type, formula.type)}
        if formula.stream is not None:
            if self._columns.stream is None:
                raise error_at(
                    self._text,
                    formula.span,
                    f"{format_formula(formula)} names a stream, but the query has no stream column",
                    hint="pass stream='...' with the name of the column that holds it",
                )
            guard.add(_equals(self._columns.stream, formula.stream))
        return _one_row(frozenset(guard), frozenset({formula.type}))

    def _intersection(self, formula: ast.And) -> Automaton:
        left, right = self.build(formula.left), self.build(formula.right)
        numbers = {(INITIAL, INITIAL): INITIAL, (FINAL, FINAL): FINAL}
        pending = [(INITIAL, INITIAL)]
        transitions = []
        while pending:
            pair = pending.pop()
            for guard, marks, target in _moves_together(left, right, pair):
                if target not in numbers:
                    numbers[target] = len(numbers)
                    pending.append(target)
                    self._check_size(len(numbers), formula)
                transitions.append(Transition(numbers[pair], guard, marks, numbers[target]))
        return _trim(Automaton(len(numbers), tuple(dict.fromkeys(transitions))))

    def _check_size(self, state_count: int, formula: ast.And) -> None:
        if state_count > STATE_COUNT_MAX:
            raise CatenaLimitError(
                f"the automaton of an AND grew past {STATE_COUNT_MAX} states",
                hint="make the formulas on both sides of AND smaller",
            )


_UNSUPPORTED: Final = {
    ast.Sequence: "a time bound on ';' or ':'",
    ast.Iteration: "a time bound on '+' or ':+'",
    ast.AbsentBetween: "'; NOT (...) ;'",
    ast.FollowedBy: "'->'",
    ast.Unless: "UNLESS",
    ast.Within: "WITHIN inside a formula",
}


def _equals(column: str, value: str) -> ast.Expression:
    return ast.Comparison(ast.CompareOp.EQ, ast.Attribute(column), ast.Literal(value))


def _one_row(guard: Guard, marks: Marks) -> Automaton:
    return Automaton(2, (Transition(INITIAL, guard, marks, FINAL),))


def _add_mark(automaton: Automaton, variable: str) -> Automaton:
    added = frozenset({variable})
    return _with_transitions(
        automaton,
        (_marked(t, t.marks | added) if t.marks else t for t in automaton.transitions),
    )


def _add_guard(automaton: Automaton, condition: ast.Expression) -> Automaton:
    assert isinstance(condition, ast.VariablePredicate), "the formula is not in LP normal form"
    transitions = []
    for t in automaton.transitions:
        guard = t.guard
        if condition.variable in t.marks:
            guard = guard | frozenset(_conjuncts(condition.predicate))
        if not _contradicts_itself(guard):
            transitions.append(Transition(t.source, guard, t.marks, t.target))
    return _trim(_with_transitions(automaton, transitions))


def _conjuncts(predicate: ast.Expression) -> list[ast.Expression]:
    if isinstance(predicate, ast.LogicalAnd):
        return _conjuncts(predicate.left) + _conjuncts(predicate.right)
    return [predicate]


def _contradicts_itself(guard: Guard) -> bool:
    """True if the guard asks one attribute to equal two different strings, or is plainly false."""
    values: dict[str, str] = {}
    for predicate in guard:
        match predicate:
            case ast.Literal(value=False | None):
                return True
            case ast.Comparison(
                op=ast.CompareOp.EQ, left=ast.Attribute(name=name), right=ast.Literal(value=str(v))
            ):
                if values.setdefault(name, v) != v:
                    return True
    return False


def _union(left: Automaton, right: Automaton) -> Automaton:
    second = _renumbered(right, _shift(INITIAL, FINAL, left.state_count))
    count = left.state_count + right.state_count - 2
    return Automaton(count, tuple(dict.fromkeys([*left.transitions, *second])))


def _waiting(state: int) -> Transition:
    return Transition(state, TRUE, NO_MARKS, state)


def _concatenation(left: Automaton, right: Automaton, contiguous: bool) -> Automaton:
    middle = left.state_count
    first = _renumbered(left, _shift(INITIAL, middle, 2))
    second = _renumbered(right, _shift(middle, FINAL, middle + 1))
    loop = [] if contiguous else [_waiting(middle)]
    count = left.state_count + right.state_count - 1
    return _trim(Automaton(count, (*first, *loop, *second)))


def _iteration(body: Automaton, contiguous: bool) -> Automaton:
    middle = body.state_count
    again = [
        Transition(source, t.guard, t.marks, target)
        for t in body.transitions
        for source in ((INITIAL, middle) if t.source == INITIAL else (t.source,))
        for target in ((FINAL, middle) if t.target == FINAL else (t.target,))
    ]
    loop = [] if contiguous else [_waiting(middle)]
    return _trim(Automaton(middle + 1, (*again, *loop)))


def _moves_together(
    left: Automaton, right: Automaton, pair: tuple[int, int]
) -> list[tuple[Guard, Marks, tuple[int, int]]]:
    """The moves of a product out of a pair of states. A final state goes only with a final one."""
    moves = []
    for a in left.transitions:
        if a.source != pair[0]:
            continue
        for b in right.transitions:
            if b.source != pair[1] or a.marks != b.marks:
                continue
            guard = a.guard | b.guard
            if (a.target == FINAL) == (b.target == FINAL) and not _contradicts_itself(guard):
                moves.append((guard, a.marks, (a.target, b.target)))
    return moves


def _trim(automaton: Automaton) -> Automaton:
    """Without states that cannot be reached or lead nowhere; numbered anew."""
    reached = _closure(INITIAL, [(t.source, t.target) for t in automaton.transitions])
    useful = reached & _closure(FINAL, [(t.target, t.source) for t in automaton.transitions])
    numbers = {INITIAL: INITIAL, FINAL: FINAL}
    for state in sorted(useful):
        numbers.setdefault(state, len(numbers))
    kept = (t for t in automaton.transitions if t.source in useful and t.target in useful)
    transitions = _renumbered(Automaton(0, tuple(kept)), numbers.__getitem__)
    return Automaton(len(numbers), tuple(dict.fromkeys(transitions)))


def _closure(first: int, edges: list[tuple[int, int]]) -> set[int]:
    onward: dict[int, list[int]] = {}
    for source, target in edges:
        onward.setdefault(source, []).append(target)
    found, pending = {first}, [first]
    while pending:
        for state in onward.get(pending.pop(), ()):
            if state not in found:
                found.add(state)
                pending.append(state)
    return found
