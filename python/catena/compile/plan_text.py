"""Automata as text, line by line: in plans, which `explain` prints and golden tests keep.

Invariant: equal automata have equal text. Cost: linear in the automaton.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.compile.cea import Ask, Automaton, Clock, Conditions, Guard, Scope, Transition
from catena.compile.clocks import action_text, clock_text
from catena.query import ast
from catena.query.format import format_expression


def _actions_text(t: Transition) -> str:
    """What a transition does with clocks and registers."""
    asked = _all_of(t.conditions)
    forbidden = " OR ".join(sorted(map(_all_of, t.forbids)))
    updates = sorted(t.updates, key=lambda update: update[0])
    made = ", ".join(f"${number} = {format_expression(value)}" for number, value in updates)
    return (
        action_text(t)
        + (f" if {asked}" if asked else "")
        + (f" unless {forbidden}" if forbidden else "")
        + (f" set {made}" if made else "")
    )


def _all_of(conditions: Conditions) -> str:
    return " AND ".join(sorted(map(format_expression, conditions)))


def scope_names(automaton: Automaton, within: str = "") -> dict[Scope, str]:
    """The numbers of an automaton's scopes; those in scope 1 are 1.0, 1.1, and so on."""
    names: dict[Scope, str] = {}
    for i, scope in enumerate(automaton.scopes):
        names[scope] = f"{within}{i}"
        names |= scope_names(scope.operand, f"{within}{i}.")
    return names


def transition_lines(automaton: Automaton) -> list[str]:
    """One line per transition: `0 -> 2  [type = 'T'] {x}`; `0 ~> 3  [...]` if it watches.

    With clocks: `0 -> 2  [type = 'T'] {x} when t0 <= 5 s reset t1`; with registers:
    `2 -> 1  [type = 'H'] {y} if id = $0 set $1 = v`. If it asks scope 0 to make its transition 3:
    `0 -> 2  [type = 'T'] {x} by 0: 3`. Then the scopes.
    """
    names = scope_names(automaton)
    ordered = sorted(
        automaton.transitions,
        key=lambda t: (
            *(t.source, t.target, guard_text(t.guard), sorted(t.marks)),
            _actions_text(t),
        ),
    )
    lines = [_transition_line(t, automaton, names) for t in ordered]
    for scope, name in names.items():
        operand = scope.operand
        lines.append(f"scope {name}: {scope.strategy.value}, {operand.state_count} states")
        lines += [f"clock {clock_text(c)}: {counted(c)}" for c in operand.clocks]
        lines += [
            f"{place}: {_transition_line(t, operand, names)}"
            for place, t in enumerate(operand.transitions)
        ]
    return lines


def absence_lines(absences: Sequence[Automaton]) -> list[str]:
    """The automata of absences, each with its clocks and a line per transition."""
    lines = []
    for number, machine in enumerate(absences):
        lines.append(f"absence {number}: {machine.state_count} states")
        lines += [f"clock {clock_text(c)}: {counted(c)}" for c in machine.clocks]
        lines += transition_lines(machine)
    return lines


def _transition_line(t: Transition, automaton: Automaton, names: Mapping[Scope, str]) -> str:
    if t.target in automaton.observers:
        return f"{t.source} ~> {t.target}  [{guard_text(t.guard)}]"
    marks = "hidden" if t.hides else ", ".join(sorted(t.marks))
    asked = ", ".join(ask_text(ask, names) for ask in t.asks)
    by = f" by {asked}" if asked else ""
    return f"{t.source} -> {t.target}  [{guard_text(t.guard)}] {{{marks}}}{_actions_text(t)}{by}"


def ask_text(ask: Ask, names: Mapping[Scope, str]) -> str:
    """What is asked of a scope: `0: 3`, or `0: 3 with $1 = $0` if it is lent something."""
    lent = ", ".join(f"${inside} = ${outside}" for inside, outside in ask.lends)
    return f"{names[ask.scope]}: {ask.place}" + (f" with {lent}" if lent else "")


def counted(clock: Clock) -> str:
    """What a clock counts in."""
    return f"attribute {clock.column}" if clock.column else clock.kind.name.lower()


def unit_text(unit: ast.Unit | None) -> str:
    """The unit's name, or `none`."""
    return "none" if unit is None else unit.value


def guard_text(guard: Guard) -> str:
    """A guard as a predicate."""
    parts = sorted(guard, key=format_expression)
    if not parts:
        return "true"
    whole = parts[0]
    for part in parts[1:]:
        whole = ast.LogicalAnd(whole, part)
    return format_expression(whole)
