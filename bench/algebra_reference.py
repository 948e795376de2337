"""The detection algorithm as the paper prints it (Figure 5), to find answers without the package.

Sets are sets, every tick goes through every subexpression, and nothing is left out: slow and plain.
Instances are pairs of start and end. `(symbol, left, right)` is an operator, `("[]", operand,
limit)` a restriction, a text a primitive.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

Term = Any
Instance = tuple[int, int]

NONE: Instance = (-1, -1)
SYMBOLS = ("|", "+", "-", ";", "[]")


def random_term(rng: random.Random, size: int, names: str) -> Term:
    """An expression of so many subexpressions; all five operators are as likely."""
    if size == 1:
        return rng.choice(names)
    symbol = "[]" if size == 2 else rng.choice(SYMBOLS)
    if symbol == "[]":
        return ("[]", random_term(rng, size - 1, names), rng.choice((5, 20, 100)))
    left = rng.randint(1, size - 2)
    return (symbol, random_term(rng, left, names), random_term(rng, size - 1 - left, names))


def text_of(term: Term) -> str:
    """The expression in the algebra's language."""
    if isinstance(term, str):
        return term
    symbol, left, right = term
    if symbol == "[]":
        return f"({text_of(left)})[{right}]"
    return f"({text_of(left)}) {symbol} ({text_of(right)})"


class Reference:
    """One subexpression with its variables, named as in the paper."""

    def __init__(self, term: Term) -> None:
        self.name = term if isinstance(term, str) else None
        self.symbol, left, right = ("", None, None) if self.name else term
        self.parts = [] if self.name else [Reference(left)]
        if self.symbol in ("|", "+", "-", ";"):
            self.parts.append(Reference(right))
        self.limit = right
        self.l = self.r = self.a = NONE
        self.t = -1
        self.Q: set[Instance] = set()
        self.S: set[int] = set()

    def tick(self, time: int, occurring: Iterable[str]) -> Instance:
        """The instance that is detected at this time, or NONE."""
        for part in self.parts:
            part.tick(time, occurring)
        if self.name is not None:
            self.a = (time, time) if self.name in occurring else NONE
        else:
            getattr(self, _STEPS[self.symbol])(*self.parts)
        return self.a

    def _disjunction(self, j: Reference, k: Reference) -> None:
        self.a = k.a if j.a[0] <= k.a[0] else j.a
        self.S = j.S | k.S

    def _conjunction(self, j: Reference, k: Reference) -> None:
        self.l = j.a if self.l[0] < j.a[0] else self.l
        self.r = k.a if self.r[0] < k.a[0] else self.r
        if NONE in (self.l, self.r) or j.a == k.a == NONE:
            self.a = NONE
        else:
            self.a = _joined(j.a, self.r) if k.a[0] <= j.a[0] else _joined(self.l, k.a)
        self.S = (j.S | k.S | {self.l[0], self.r[0]}) - {-1}

    def _negation(self, j: Reference, k: Reference) -> None:
        self.t = max(self.t, k.a[0])
        self.a = j.a if self.t < j.a[0] else NONE
        self.S = j.S

    def _sequence(self, j: Reference, k: Reference) -> None:
        def before(time: int) -> Instance:
            fitting = [e for e in self.Q | {self.l} if e[1] < time]
            return max(fitting, default=NONE, key=lambda e: e[0])

        best = before(k.a[0])
        self.a = _joined(k.a, best) if best != NONE else NONE
        self.Q = {before(time) for time in k.S} - {NONE}
        self.l = j.a if self.l[0] < j.a[0] else self.l
        self.S = (j.S | {e[0] for e in self.Q | {self.l}}) - {-1}

    def _restriction(self, j: Reference) -> None:
        self.a = j.a if j.a[1] - j.a[0] <= self.limit else NONE
        self.S = j.S


_STEPS = {
    "|": "_disjunction",
    "+": "_conjunction",
    "-": "_negation",
    ";": "_sequence",
    "[]": "_restriction",
}


def _joined(one: Instance, other: Instance) -> Instance:
    return (min(one[0], other[0]), max(one[1], other[1]))
