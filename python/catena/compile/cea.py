"""Complex event automata (CEA) as the compiler holds them: states, transitions, watchers, clocks.

An automaton has one initial and one final state; nothing enters the initial state and nothing
leaves the final one. A transition reads a row that satisfies all predicates of its guard and marks
it with a set of variables. Paper 003, section 6; the engine's side is cpp/automaton/cea.h.

What came before a run may matter to it: NEXT(A ; B) compares with matches that started earlier. So
a transition may also ask in which state a *watcher* is before the row is read. A watcher is a
deterministic machine that reads the stream from its first row, whatever the runs do; it knows
nothing of them. While formulas are put together, watchers stand beside the automaton, and joining
two automata means nothing to their watchers. At the end `unfolded` (watching.py) makes watchers and
runs one automaton: states without a started run, of which there may then be several, are its
*observers*.

Time bounds are asked by *clocks* (paper 000, section 4). A transition may reset clocks to the row
that it reads, and may check that what has passed since a clock's last reset lies in an interval.
Its checks come before its resets. Every run has clocks of its own. What the engine takes is
`settled` (clocks.py): with as few clocks as need be.

Conditions over several events are asked of what runs remember. While formulas are put together a
transition says which tracks its row is appended to (tracks.py), and its conditions speak of tracks;
what the engine takes is `remembered` (registers.py): conditions over registers and the row, and
updates of registers. Conditions come before updates, and a run's registers are unbound at first.

Where the operand of NEXT, LAST or MAX has clocks or conditions over several events, no watcher can
know beforehand how its runs stand to each other. Then the operand stays an automaton by itself, a
*scope*, whose runs the engine compares while it reads (cpp/engine/contest.h), and a transition of
the automaton around that stands for one of the operand's asks the scope to make it. The operand's
clocks and conditions are the scope's business; what its conditions read of events further left, the
transition that opens the scope lends it.

What must be absent and has clocks or conditions over several events is followed while rows are
read (following.py): an *absence* is an automaton by itself, and a run that passes over it holds the
configurations that matches of it, begun since, are in. A transition may begin, take on and ask this
set. What the engine takes are registers that hold it, conditions and updates (registers.py).

Invariant: a run that comes to a check of a clock has reset it. A transition asks a watcher for one
state at most. In an unfolded automaton no transition asks a watcher, and only an observer leads to
an observer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, TypeAlias

from catena.query import ast

Guard: TypeAlias = frozenset[ast.Expression]
Marks: TypeAlias = frozenset[str]

TRUE: Final[Guard] = frozenset()
NO_MARKS: Final[Marks] = frozenset()
INITIAL: Final = 0
FINAL: Final = 1
STATE_COUNT_MAX: Final = 10_000
"""The states that an automaton may have before it is determinized."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A watcher's step on a row that satisfies the guard."""

    guard: Guard
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class Watcher:
    """A deterministic machine that reads the whole stream, from state 0 on.

    A row that no step of its state applies to leaves it where it is.
    """

    steps: tuple[tuple[Watch, ...], ...]


When: TypeAlias = tuple[tuple[Watcher, int], ...]
"""The states that watchers must be in before a row is read."""


class ClockKind(Enum):
    """What a clock counts in, as the engine numbers it."""

    TIME = 0
    ROWS = 1
    ATTRIBUTE = 2


@dataclass(frozen=True, slots=True)
class Clock:
    """Tells what has passed since it was reset: time, rows of the part, or an attribute's rise."""

    number: int
    """Distinct within an automaton; in a settled one counted from 0."""
    kind: ClockKind
    column: str | None = None
    """The attribute."""
    measures: tuple[str, ...] = field(default=(), compare=False)
    """What it is for, in words."""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A strategy inside an automaton, whose operand's runs are compared while rows are read.

    The operand's transitions are ordered by source.
    """

    strategy: ast.Strategy
    operand: Automaton


@dataclass(frozen=True, slots=True)
class Ask:
    """That a scope makes a transition of its operand."""

    scope: Scope
    place: int
    """Of the transition among the operand's."""
    tracks: tuple[tuple[str, str], ...] = ()
    """If it opens the scope: tracks of the operand, and those of the automaton around that they
    begin as."""
    lends: tuple[tuple[int, int], ...] = ()
    """The same of registers, in place of tracks."""

    @property
    def opens(self) -> bool:
        """Whether a run that asks this comes into the scope."""
        return self.scope.operand.transitions[self.place].source == INITIAL


Asks: TypeAlias = tuple[Ask, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Absence:
    """What runs may have to pass over: its matches that are open are followed."""

    number: int
    """Distinct among those of a formula, in the order in which they were made."""
    operand: Automaton
    recalls: frozenset[str]
    """The tracks that its conditions read, by their names inside."""
    text: str
    """Its formula."""


@dataclass(frozen=True, slots=True)
class Follow:
    """What a transition does with the matches of an absence that are open, and asks of them."""

    absence: Absence
    fresh: bool = False
    """None of those begun before the row counts."""
    starts: bool = True
    """One may start on the row."""
    ends: bool | None = None
    """Whether one ends on the row, if that is asked."""
    names: frozenset[tuple[str, str]] = frozenset()
    """Tracks as they are called inside, and outside, where these are not the same."""


Follows: TypeAlias = frozenset[Follow]

NO_FOLLOWS: Final[Follows] = frozenset()

Check: TypeAlias = tuple[Clock, ast.Interval]
"""What has passed on a clock lies in an interval."""

Checks: TypeAlias = frozenset[Check]
Clocks: TypeAlias = frozenset[Clock]

NO_CHECKS: Final[Checks] = frozenset()
NO_CLOCKS: Final[Clocks] = frozenset()


@dataclass(frozen=True, slots=True)
class Append:
    """A track becomes what `source` is before the row, with the row appended or not."""

    track: str
    source: str
    appends: bool


Appended: TypeAlias = frozenset[Append]
Conditions: TypeAlias = frozenset[ast.Expression]
Updates: TypeAlias = frozenset[tuple[int, ast.Expression]]
"""What registers are set to, by their number: expressions over registers before the row, and it."""

NO_APPENDS: Final[Appended] = frozenset()
NO_CONDITIONS: Final[Conditions] = frozenset()
NO_UPDATES: Final[Updates] = frozenset()

Forbids: TypeAlias = frozenset[Conditions]
"""Conditions that may not all hold, several times."""

NO_FORBIDS: Final[Forbids] = frozenset()


@dataclass(frozen=True, slots=True)
class Transition:
    """Reads a row that satisfies every predicate of the guard, every check and every condition, and
    nothing that is forbidden; marks the row, resets clocks to it and updates registers."""

    source: int
    guard: Guard
    marks: Marks
    target: int
    when: When = ()
    hides: bool = False
    """The row counts as marked though no mark is shown: strategies compare marked rows."""
    checks: Checks = NO_CHECKS
    """What must hold of clocks when the row is read, before they are reset."""
    resets: Clocks = NO_CLOCKS
    appends: Appended = NO_APPENDS
    """What becomes of tracks; of each at most one thing."""
    conditions: Conditions = NO_CONDITIONS
    updates: Updates = NO_UPDATES
    asks: Asks = ()
    forbids: Forbids = NO_FORBIDS
    """Where all conditions of one of these hold, the transition may not be made."""
    follows: Follows = NO_FOLLOWS
    """At most one for each absence."""

    @property
    def is_marked(self) -> bool:
        return bool(self.marks) or self.hides


@dataclass(frozen=True, slots=True)
class Automaton:
    """States are numbered from 0; 0 is the initial and 1 the final one.

    `observers` are the states without a started run if there are several, the initial one included.
    """

    state_count: int
    transitions: tuple[Transition, ...]
    observers: frozenset[int] = frozenset()

    @property
    def is_empty(self) -> bool:
        """True if no run reaches the final state, whatever the rows are."""
        return not any(t.target == FINAL for t in self.transitions)

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The clocks that some transition checks, by number."""
        checked = {clock for t in self.transitions for clock, _ in t.checks}
        return tuple(sorted(checked, key=lambda clock: clock.number))

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that transitions ask, in the order in which they come."""
        return tuple(dict.fromkeys(ask.scope for t in self.transitions for ask in t.asks))

    @property
    def machines(self) -> tuple[Automaton, ...]:
        """The automaton itself and the operands of its scopes, and of theirs."""
        inside = (machine for scope in self.scopes for machine in scope.operand.machines)
        return (self, *inside)

    def leaving(self) -> dict[int, list[Transition]]:
        """The transitions by their source, for every state."""
        found: dict[int, list[Transition]] = {state: [] for state in range(self.state_count)}
        for t in self.transitions:
            found[t.source].append(t)
        return found

    def marks_at_most_once(self, variable: str) -> bool:
        """True if no run marks more than one row with the variable."""
        edges = [(t.source, t.target) for t in self.transitions]
        marked = (t.target for t in self.transitions if variable in t.marks)
        after = closure(marked, edges)
        return not any(variable in t.marks and t.source in after for t in self.transitions)


def with_transitions(automaton: Automaton, transitions: Iterable[Transition]) -> Automaton:
    """The automaton with other transitions, each once."""
    return replace(automaton, transitions=tuple(dict.fromkeys(transitions)))


def renumbered(automaton: Automaton, number: Callable[[int], int]) -> list[Transition]:
    """The transitions with every state given another number."""
    return [
        replace(t, source=number(t.source), target=number(t.target)) for t in automaton.transitions
    ]


def project(automaton: Automaton, variables: Iterable[str]) -> Automaton:
    """The automaton with only the marks of some variables kept."""
    kept = frozenset(variables)
    return with_transitions(
        automaton, (replace(t, marks=t.marks & kept) for t in automaton.transitions)
    )


def show(automaton: Automaton, variables: Iterable[str]) -> Automaton:
    """As `project`, but rows whose marks are all left out still count as marked."""
    kept = frozenset(variables)
    return with_transitions(
        automaton,
        (
            replace(t, marks=t.marks & kept, hides=bool(t.marks) and not t.marks & kept)
            for t in automaton.transitions
        ),
    )


def trimmed(automaton: Automaton) -> Automaton:
    """Without states that cannot be reached or lead nowhere; numbered anew. Observers stay."""
    edges = [(t.source, t.target) for t in automaton.transitions]
    reached = closure([INITIAL], edges)
    useful = closure([FINAL], [(target, source) for source, target in edges])
    useful = reached & (useful | automaton.observers)
    numbers = {INITIAL: INITIAL, FINAL: FINAL}
    for state in sorted(useful):
        numbers.setdefault(state, len(numbers))
    kept = (t for t in automaton.transitions if t.source in useful and t.target in useful)
    transitions = renumbered(Automaton(0, tuple(kept)), numbers.__getitem__)
    observers = frozenset(numbers[state] for state in automaton.observers & useful)
    return with_transitions(Automaton(len(numbers), (), observers), transitions)


def closure(first: Iterable[int], edges: Iterable[tuple[int, int]]) -> set[int]:
    """The states that can be reached over the edges, the first ones included."""
    onward: dict[int, list[int]] = {}
    for source, target in edges:
        onward.setdefault(source, []).append(target)
    found = set(first)
    pending = list(found)
    while pending:
        for state in onward.get(pending.pop(), ()):
            if state not in found:
                found.add(state)
                pending.append(state)
    return found


def conjuncts(predicate: ast.Expression) -> Guard:
    """A predicate as a guard: the parts that AND joins, one by one."""
    if isinstance(predicate, ast.LogicalAnd):
        return conjuncts(predicate.left) | conjuncts(predicate.right)
    return frozenset({predicate})


def string_equality(predicate: ast.Expression) -> tuple[str, str] | None:
    """The attribute and the string, if the predicate asks one to equal the other.

    Strings that begin with a digit do not count: two of them may be one and the same time.
    """
    match predicate:
        case ast.Comparison(
            op=ast.CompareOp.EQ, left=ast.Attribute(name=name), right=ast.Literal(value=str(value))
        ) if not value.lstrip()[:1].isdigit():
            return name, value
    return None


def contradicts_itself(guard: Guard) -> bool:
    """True if the guard asks one attribute to equal two different strings, asks something to be
    true and not to be, or is plainly false."""
    values: dict[str, str] = {}
    for predicate in guard:
        match predicate:
            case ast.Literal(value=False | None):
                return True
            case ast.IsTrue(operand=operand, negated=True) if operand in guard:
                return True
        equality = string_equality(predicate)
        if equality is not None and values.setdefault(*equality) != equality[1]:
            return True
    return False
