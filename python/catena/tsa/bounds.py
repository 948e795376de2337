"""Numbers with an infinitesimal: `c`, `c - ε`, and the two infinities.

A bound stands for "at most c" (closed) or "less than c" (open, the paper's c - ε). One bit is
enough, since (c - ε) + (d - ε) is (c + d) - ε (Definition 4, Less). The same pairs are distances
("v <= w + c", "v < w + c") and progress values ("all rows up to t", "all rows before t").

Order: a tuple of value and closedness, so c - ε comes right below c.
Paper: Brodt, Bry, "Analysing Temporal Relations", Definitions 4 and 5 and footnote 14.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, TypeAlias

Number: TypeAlias = int | float | Fraction
"""Exact but for the infinities, which are the floats."""


class Bound(NamedTuple):
    """At most `value`, or less than `value` if it is open.

    >>> Bound(5) > Bound(5, False) > Bound(4)
    True
    >>> Bound(5) + Bound(2, False)
    Bound(value=7, closed=False)
    """

    value: Number
    closed: bool = True

    def __add__(self, other: tuple[object, ...]) -> Bound:
        """The bound of a sum: open if either is."""
        assert isinstance(other, Bound)
        return Bound(self.value + other.value, self.closed and other.closed)

    def less(self, distance: Bound) -> Bound:
        """The greatest x such that `a` up to x and `v <= a + distance` give `v` up to self.

        `v < a + d` is up to b already if `a` is up to b - d, and no rational lies beyond that
        within an infinitesimal, so what would be b - d + ε is b - d.
        """
        if distance.value == math.inf:
            return LEAST
        if distance.value == -math.inf:
            return GREATEST
        return Bound(self.value - distance.value, self.closed or not distance.closed)

    def covers(self, value: Number) -> bool:
        """Whether the value is up to this bound."""
        return value <= self.value if self.closed else value < self.value

    @property
    def is_finite(self) -> bool:
        return not isinstance(self.value, float)

    def last_tick(self, ticks_per_unit: int) -> int | None:
        """The greatest whole number of ticks that is up to this bound; None if it is infinite."""
        if isinstance(self.value, float):
            return None
        ticks = self.value * ticks_per_unit
        return math.floor(ticks) if self.closed else math.ceil(ticks) - 1

    def __str__(self) -> str:
        return number_text(self.value) + ("" if self.closed or not self.is_finite else " - ε")


LEAST = Bound(-math.inf)
GREATEST = Bound(math.inf)
ZERO = Bound(0)


def number_text(value: Number) -> str:
    """A number as it is written: 3, 1/3, 2.5, or an infinity."""
    if isinstance(value, float):
        return "+∞" if value > 0 else "-∞"
    if isinstance(value, Fraction) and value.denominator != 1:
        decimal = float(value)
        return repr(decimal) if Fraction(repr(decimal)) == value else str(value)
    return str(int(value))


def shift_text(name: str, shift: Bound) -> str:
    """`name + c`, as the paper writes it: nothing for zero, a minus for what is below."""
    text = name
    if shift.value < 0:
        text = f"{name} - {number_text(-shift.value)}"
    elif shift.value > 0:
        text = f"{name} + {number_text(shift.value)}"
    return text if shift.closed else f"{text} - ε"
