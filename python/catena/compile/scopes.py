"""NEXT, LAST and MAX over clocks or registers: the operand as an automaton by itself, asked by the
one around.

What selection.py works out beforehand, which runs go on because no other one is better, depends on
the times that clocks show, and on what registers hold, as soon as the operand has some. So it is
left to the engine (cpp/engine/contest.h). The automaton around gets the operand's states and
transitions as ever, but each transition only asks the scope to make the operand's; clocks,
conditions and what is compared stay inside:

    NEXT(A ;[<= 5] B) ; C    the scope   i -A, reset t0-> m   m -true-> m   m -B, t0 <= 5-> f
                             around it   i -A/{A}-> m         m -true-> m   m -B/{B}-> w, asking for
                                         the scope's; w -true-> w   w -C/{C}-> f

What the operand binds is bound around it too, so that conditions around may read it; and what its
conditions read of events further left, the transitions that open the scope lend it (tracks.py,
registers.py).

Only which rows are marked is compared, so the scope's transitions do not tell variables apart. A
run is in a scope once at a time, and no two places of a formula share one, so AND can follow both
sides' scopes side by side.

Invariant: the complex events are those of the operand that no other one beats, over the whole
stream. Cost: linear in the operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from catena.compile.cea import (
    INITIAL,
    NO_CHECKS,
    NO_CLOCKS,
    NO_CONDITIONS,
    NO_FOLLOWS,
    NO_FORBIDS,
    Ask,
    Automaton,
    Scope,
    Transition,
    show,
    with_transitions,
)
from catena.compile.tracks import recalled_tracks
from catena.query import ast


def scoped(strategy: ast.Strategy, operand: Automaton) -> Automaton:
    """The complex events of the operand that the strategy leaves, by asking a scope."""
    hidden = {t: _hiding(t) for t in operand.transitions}
    scope, places = scope_of(strategy, show(operand, ()), {t: t for t in hidden.values()})
    tracks = tuple((track, track) for track in sorted(recalled_tracks(operand)))
    return with_transitions(
        operand,
        (
            replace(
                t,
                checks=NO_CHECKS,
                resets=NO_CLOCKS,
                conditions=NO_CONDITIONS,
                forbids=NO_FORBIDS,
                follows=NO_FOLLOWS,
                asks=(Ask(scope, places[hidden[t]], tracks if t.source == INITIAL else ()),),
            )
            for t in operand.transitions
        ),
    )


def scope_of(
    strategy: ast.Strategy, operand: Automaton, becomes: Mapping[Transition, Transition]
) -> tuple[Scope, dict[Transition, int]]:
    """The scope whose operand has other transitions than the one given, as a mapping tells; and
    where each of those given is in it. Those that the mapping leaves out are dropped."""
    kept = sorted(dict.fromkeys(becomes.values()), key=lambda t: t.source)
    scope = Scope(strategy, with_transitions(operand, kept))
    places = {t: place for place, t in enumerate(scope.operand.transitions)}
    return scope, {before: places[after] for before, after in becomes.items()}


def _hiding(t: Transition) -> Transition:
    (hidden,) = show(Automaton(0, (t,)), ()).transitions
    return hidden
