"""NEXT, LAST and MAX over clocks: the operand as an automaton by itself, asked by the one around.

What selection.py works out beforehand, which runs go on because no other one is better, depends on
the times that clocks show as soon as the operand has some. So it is left to the engine
(cpp/engine/contest.h). The automaton around gets the operand's states and transitions as ever, but
each transition only asks the scope to make the operand's; clocks and what is compared stay inside:

    NEXT(A ;[<= 5] B) ; C    the scope   i -A, reset t0-> m   m -true-> m   m -B, t0 <= 5-> f
                             around it   i -A/{A}-> m         m -true-> m   m -B/{B}-> w, asking for
                                         the scope's; w -true-> w   w -C/{C}-> f

Only which rows are marked is compared, so the scope's transitions do not tell variables apart. A
run is in a scope once at a time, and no two places of a formula share one, so AND can follow both
sides' scopes side by side.

Invariant: the complex events are those of the operand that no other one beats, over the whole
stream. Cost: linear in the operand.
"""

from __future__ import annotations

from dataclasses import replace

from catena.compile.cea import (
    NO_CHECKS,
    NO_CLOCKS,
    Automaton,
    Scope,
    Transition,
    show,
    with_transitions,
)
from catena.compile.clocks import settling
from catena.query import ast


def scoped(strategy: ast.Strategy, operand: Automaton) -> Automaton:
    """The complex events of the operand that the strategy leaves, by asking a scope."""
    hidden = {t: _hiding(t) for t in operand.transitions}
    settled = settling(show(operand, ()))
    inside = sorted(dict.fromkeys(settled.values()), key=lambda t: t.source)
    scope = Scope(strategy, with_transitions(operand, inside))
    places = {t: place for place, t in enumerate(scope.operand.transitions)}
    return with_transitions(
        operand,
        (
            replace(
                t,
                checks=NO_CHECKS,
                resets=NO_CLOCKS,
                asks=((scope, places[settled[hidden[t]]]),),
            )
            for t in operand.transitions
        ),
    )


def _hiding(t: Transition) -> Transition:
    (hidden,) = show(Automaton(0, (t,)), ()).transitions
    return hidden
