"""Selection strategies as operators inside a formula (paper 003, section 4 and Theorem 4).

D is the set of rows that a complex event marks, with whatever variables. Runs with the same D are
equal to every strategy; they may differ in their marks and in where they started.

STRICT asks each complex event by itself, so a run remembers whether its first mark is still to
come, the last row was marked, or a gap has begun.

NEXT and LAST order sets D totally. Of two runs in one state with different D the better one stays
better whatever follows, so the other one may stop. Which D is the best at each state, and in what
order they stand, is a function of the stream alone: a watcher knows it, as a list of disjoint sets
of states, best D first. The last group is that of the empty D, to which belongs what has not
started. On a row each group falls in two: those who mark it and those who do not. NEXT looks at the
earliest difference, so the halves of the first group come before those of the second; LAST looks at
the latest, so all who mark come before all who do not. A transition is kept if it leads from the
first half that reaches its target.

    A ; B, states i, m (between A and B), f
    NEXT   [{i}] -A-> [{m}, {i}] -A-> [{m}, {i}]: m waits (group 1) before i marks (group 2),
           so the first A stays
    LAST   the same places, but i marks before m waits, so the latest A replaces it

Only the order of states that are *competitors* matters: those from which two runs can come into one
state (under LAST, marking the same rows on the way). Rankings that differ otherwise are one, so the
watcher of LAST(A ; B ; C ; D) has as many states as there are parts.

MAX orders sets D by inclusion, so several may stay. A run knows T, the states of the runs with the
same D, and U, those of the runs with more (S and T in the paper). Where it marks a row, what has
more must mark it too; where it does not, those with the same D who mark it have more from then on:

    marked     T' = marked(T),     U' = marked(U)
    unmarked   T' = unmarked(T),   U' = all(U) + marked(T)

It stops where it comes into a state of U'. Its own state would not do in place of T: another run
with the same D, as in (A ; C) OR (A ; B ; C), may be the one that goes on to mark more. While D is
empty, T and U are functions of the stream and known to a watcher; the run takes them along when it
marks its first row.

The comparison is of all complex events with the same end, wherever they start, so watchers read the
stream from its first row. Watchers of strategies inside the operand become part of the new one, as
its steps depend on them.

Invariant: the complex events are those of the operand that no other one beats. Cost: STRICT linear;
NEXT, LAST and MAX exponential in the operand's states at worst, under `STATE_COUNT_MAX`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

from catena.compile.cases import CaseBudget, divided
from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_MARKS,
    TRUE,
    Appended,
    Automaton,
    Guard,
    Marks,
    Transition,
    When,
    contradicts_itself,
    trimmed,
    with_transitions,
)
from catena.compile.memory import remembering
from catena.compile.watching import (
    Joint,
    JointStep,
    Numbering,
    after_row,
    options_at,
    watcher_of,
    watchers_of,
)
from catena.query import ast

States: TypeAlias = frozenset[int]

COMPARING: Final = frozenset({ast.Strategy.NEXT, ast.Strategy.LAST, ast.Strategy.MAX})
"""The strategies that compare matches with each other, by the rows that they mark."""


def selected(strategy: ast.Strategy, operand: Automaton, budget: CaseBudget) -> Automaton:
    """The complex events of the operand that the strategy leaves."""
    assert strategy not in COMPARING or not operand.clocks, "what has clocks is a scope"
    match strategy:
        case ast.Strategy.ALL:
            return operand
        case ast.Strategy.STRICT:
            return _strict(operand)
        case ast.Strategy.NEXT:
            return _Ordered(operand, "NEXT", _next_order, budget).run()
        case ast.Strategy.LAST:
            return _Ordered(operand, "LAST", _last_order, budget).run()
        case ast.Strategy.MAX:
            return _Maximal(operand, budget).run()
    raise AssertionError(f"{strategy.value} is not an operator")


def _hint(strategy: str) -> str:
    return f"make the formula inside smaller, or select for the whole query: SELECT {strategy}"


# ---------------------------------------------------------------------------------------------
# STRICT


_BEFORE, _INSIDE, _AFTER = "before", "inside", "after"
"""The marked rows of a run without gaps: still to come, up to the last row, over."""

_PHASES: Final = {
    (_BEFORE, True): _INSIDE,
    (_BEFORE, False): _BEFORE,
    (_INSIDE, True): _INSIDE,
    (_INSIDE, False): _AFTER,
    (_AFTER, False): _AFTER,
}


def _strict(operand: Automaton) -> Automaton:
    def after(phase: str, t: Transition) -> list[tuple[str, Guard]]:
        then = _PHASES.get((phase, bool(t.marks)))
        return [] if then is None else [(then, TRUE)]

    return remembering(operand, _BEFORE, after, lambda phase: True)


# ---------------------------------------------------------------------------------------------
# NEXT and LAST


_Groups: TypeAlias = tuple[States, ...]
"""Disjoint sets of states, by the best D that leads there, best first."""

_Order: TypeAlias = Callable[[_Groups, Sequence[Transition]], Iterator[list[Transition]]]
"""The transitions that a row satisfies in classes of equal D, best first."""


def _half(group: States, taken: Sequence[Transition], is_marked: bool) -> list[Transition]:
    return [t for t in taken if t.source in group and bool(t.marks) == is_marked]


def _next_order(groups: _Groups, taken: Sequence[Transition]) -> Iterator[list[Transition]]:
    for group in groups:
        yield _half(group, taken, True)
        yield _half(group, taken, False)


def _last_order(groups: _Groups, taken: Sequence[Transition]) -> Iterator[list[Transition]]:
    for is_marked in (True, False):
        for group in groups:
            yield _half(group, taken, is_marked)


@dataclass(frozen=True, slots=True)
class _Run:
    """As a result: a run goes on."""

    source: int
    marks: Marks
    target: int
    appends: Appended

    def over(self, guard: Guard, when: When) -> Transition:
        """As a transition, on rows of a guard and states of watchers."""
        return Transition(self.source, guard, self.marks, self.target, when, appends=self.appends)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """A state of the watcher of NEXT and LAST."""

    joint: Joint
    groups: _Groups


_Essence: TypeAlias = tuple[Joint, States, frozenset[tuple[int, int]]]
"""What matters of a ranking: the live states, and the pairs of competitors, better one first."""


class _Ordered:
    def __init__(self, operand: Automaton, name: str, order: _Order, budget: CaseBudget) -> None:
        self._budget = budget
        self._operand = operand
        self._leaving = operand.leaving()
        self._watchers = watchers_of(operand.transitions)
        self._order = order
        self._competitors = _competitors(operand, order is _last_order)
        self._numbers: Numbering[_Essence] = Numbering(f"{name}(...)", _hint(name))
        self._rankings: list[_Ranking] = []
        self._number(_Ranking(tuple(0 for _ in self._watchers), (frozenset({INITIAL}),)))

    def run(self) -> Automaton:
        steps: list[list[tuple[Guard, int]]] = []
        runs: list[tuple[int, Guard, _Run]] = []
        for number, ranking in enumerate(self._rankings):
            steps.append([])
            for guard, result in self._results(ranking):
                if isinstance(result, _Run):
                    runs.append((number, guard, result))
                else:
                    steps[-1].append((guard, result))
        watcher = watcher_of(steps)
        transitions = (run.over(guard, ((watcher, number),)) for number, guard, run in runs)
        return trimmed(with_transitions(self._operand, transitions))

    def _number(self, ranking: _Ranking) -> int:
        """The number of the ranking, or of one that differs in nothing that matters."""
        rank = {state: i for i, group in enumerate(ranking.groups) for state in group}
        better = frozenset(
            (p, q) for p, q in self._competitors if p in rank and q in rank and rank[p] < rank[q]
        )
        number = self._numbers.number((ranking.joint, frozenset(rank), better))
        if number == len(self._rankings):
            self._rankings.append(ranking)
        return number

    def _results(self, ranking: _Ranking) -> list[tuple[Guard, _Run | int]]:
        """How runs go on, and the number of the ranking after the row."""
        live = (t for group in ranking.groups for s in sorted(group) for t in self._leaving[s])

        def results(satisfied: Sequence[JointStep | Transition]) -> Iterator[_Run | int]:
            joint, taken = after_row(ranking.joint, satisfied)
            kept, groups = self._ranked(ranking.groups, taken)
            yield self._number(_Ranking(joint, groups))
            yield from kept

        return divided(options_at(self._watchers, ranking.joint, live), results, self._budget)

    def _ranked(self, groups: _Groups, taken: Sequence[Transition]) -> tuple[list[_Run], _Groups]:
        """The transitions that are one of the best ways to their target, and the order after."""
        kept: list[_Run] = []
        reached: set[int] = set()
        after: list[States] = []
        for equals in self._order(groups, taken):
            fresh = {t.target for t in equals} - reached
            reached |= fresh
            kept += [
                _Run(t.source, t.marks, t.target, t.appends) for t in equals if t.target in fresh
            ]
            after.append(frozenset(fresh - {FINAL}))
        after[-1] |= {INITIAL}  # The last class does not mark the row and has an empty D.
        return kept, tuple(group for group in after if group)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way into a state, from another one, marking the row or not, under some guards."""

    source: int
    is_marked: bool
    guards: tuple[Guard, ...]

    def goes_with(self, other: _Way) -> bool:
        """Whether one row may take both."""
        return any(not contradicts_itself(a | b) for a in self.guards for b in other.guards)


def _ways(operand: Automaton) -> dict[int, list[_Way]]:
    """The ways into each state; what has not started may wait."""
    guards: dict[tuple[int, int, bool], dict[Guard, None]] = {
        (INITIAL, INITIAL, False): {TRUE: None}
    }
    for t in operand.transitions:
        guards.setdefault((t.target, t.source, bool(t.marks)), {})[t.guard] = None
    found: dict[int, list[_Way]] = {}
    for (target, source, is_marked), several in guards.items():
        found.setdefault(target, []).append(_Way(source, is_marked, tuple(several)))
    return found


def _competitors(operand: Automaton, same_marks: bool) -> frozenset[tuple[int, int]]:
    """Pairs of different states from which two runs can come into one state.

    With `same_marks` the two must mark the same rows on the way.
    """
    ways = _ways(operand)
    found: set[tuple[int, int]] = set()
    pending = [(state, state) for state in ways]
    while pending:
        one, other = pending.pop()
        for p, q in product(ways.get(one, ()), ways.get(other, ())):
            pair = p.source, q.source
            if p.source == q.source or pair in found or (same_marks and p.is_marked != q.is_marked):
                continue
            if p.goes_with(q):
                found.add(pair)
                pending.append(pair)
    return frozenset(found)


# ---------------------------------------------------------------------------------------------
# MAX


@dataclass(frozen=True, slots=True)
class _Rivals:
    """What a run with some D compares with: the states of runs with the same D, and with more."""

    joint: Joint
    same: States
    more: States

    def after(self, taken: Sequence[Transition], joint: Joint, is_marked: bool) -> _Rivals:
        """The rivals of those who mark the row, or of those who do not; a state of both is one
        where there is more."""
        more = _targets(_half(self.more, taken, True))
        if not is_marked:
            more |= _targets(_half(self.more, taken, False))
            more |= _targets(_half(self.same, taken, True))
        return _Rivals(joint, _targets(_half(self.same, taken, is_marked)) - more, more)

    def without_final(self) -> _Rivals:
        return _Rivals(self.joint, self.same - {FINAL}, self.more - {FINAL})


def _targets(transitions: Iterable[Transition]) -> States:
    return frozenset(t.target for t in transitions)


_Continue: TypeAlias = Callable[[_Rivals, Sequence[Transition], Joint], Iterator["_Run | _Rivals"]]
"""How runs with these rivals go on: the transitions satisfied, where the watchers are then."""


class _Maximal:
    """A run without marks yet is in the operand's state and asks the watcher for its rivals; one
    with marks carries them in its state."""

    def __init__(self, operand: Automaton, budget: CaseBudget) -> None:
        self._budget = budget
        self._operand = operand
        self._leaving = operand.leaving()
        self._watchers = watchers_of(operand.transitions)
        nowhere = tuple(0 for _ in self._watchers)
        first = _Rivals(nowhere, frozenset({INITIAL}), frozenset())
        self._watched = Numbering("MAX(...)", _hint("MAX"), [first])
        self._carried: Numbering[_Rivals] = Numbering("MAX(...)", _hint("MAX"))
        self._states: Numbering[tuple[int, States, States]] = Numbering("MAX(...)", _hint("MAX"))

    def run(self) -> Automaton:
        steps: list[list[tuple[Guard, int]]] = []
        unmarked: list[tuple[int, Guard, _Run]] = []
        for number, rivals in enumerate(self._watched):
            steps.append([])
            for guard, result in self._results(rivals, self._while_unmarked):
                if isinstance(result, _Run):
                    unmarked.append((number, guard, result))
                else:
                    steps[-1].append((guard, self._watched.number(result)))
        watcher = watcher_of(steps)
        transitions = [run.over(guard, ((watcher, number),)) for number, guard, run in unmarked]
        for rivals in self._carried:
            when = tuple(zip(self._watchers, rivals.joint, strict=True))
            for guard, result in self._results(rivals, self._once_marked):
                assert isinstance(result, _Run), "the watcher has seen every row"
                transitions.append(result.over(guard, when))
        count = self._operand.state_count + len(self._states)
        return trimmed(with_transitions(Automaton(count, ()), transitions))

    def _results(self, rivals: _Rivals, results: _Continue) -> list[tuple[Guard, _Run | _Rivals]]:
        live = (t for s in sorted(rivals.same | rivals.more) for t in self._leaving[s])

        def outcome(satisfied: Sequence[JointStep | Transition]) -> Iterator[_Run | _Rivals]:
            joint, taken = after_row(rivals.joint, satisfied)
            return results(rivals, taken, joint)

        return divided(options_at(self._watchers, rivals.joint, live), outcome, self._budget)

    def _while_unmarked(
        self, rivals: _Rivals, taken: Sequence[Transition], joint: Joint
    ) -> Iterator[_Run | _Rivals]:
        after = rivals.after(taken, joint, False)
        waiting = after.without_final()
        yield _Rivals(joint, waiting.same | {INITIAL}, waiting.more)
        for t in _half(rivals.same, taken, False):
            if t.target in after.same:
                yield _Run(t.source, NO_MARKS, t.target, t.appends)
        yield from self._carrying(rivals, taken, joint, True, lambda state: state)

    def _once_marked(
        self, rivals: _Rivals, taken: Sequence[Transition], joint: Joint
    ) -> Iterator[_Run | _Rivals]:
        for is_marked in (True, False):
            yield from self._carrying(
                rivals, taken, joint, is_marked, lambda state: self._state(state, rivals)
            )

    def _carrying(
        self,
        rivals: _Rivals,
        taken: Sequence[Transition],
        joint: Joint,
        is_marked: bool,
        source: Callable[[int], int],
    ) -> Iterator[_Run]:
        """The runs that go on with their rivals in their state."""
        after = rivals.after(taken, joint, is_marked)
        carried = after.without_final()
        for t in _half(rivals.same, taken, is_marked):
            if t.target in after.same:
                yield _Run(source(t.source), t.marks, self._state(t.target, carried), t.appends)

    def _state(self, state: int, rivals: _Rivals) -> int:
        """The number of the operand's state with rivals."""
        if state == FINAL:
            return FINAL
        self._carried.number(rivals)
        return self._operand.state_count + self._states.number((state, rivals.same, rivals.more))
