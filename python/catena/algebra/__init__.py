"""The bounded-memory event algebra: expressions over events, detected with static bounds.

>>> from catena.algebra import event
>>> import catena
>>> a = catena.Algebra((event("B") >> event("B")).within(2) - (event("P") | event("T")))
>>> a.text
'(B ; B)[2] - (P | T)'
"""

from catena.algebra.bounds import MemoryBound
from catena.algebra.detection import Algebra, Detector
from catena.algebra.expressions import (
    Conjunction,
    Disjunction,
    Empty,
    Expression,
    Negation,
    Primitive,
    Restriction,
    Sequence,
    event,
    subexpressions,
)
from catena.algebra.instances import Instance, Instances
from catena.algebra.simplify import simplify
from catena.algebra.text import format, parse

__all__ = [
    "Algebra",
    "Conjunction",
    "Detector",
    "Disjunction",
    "Empty",
    "Expression",
    "Instance",
    "Instances",
    "MemoryBound",
    "Negation",
    "Primitive",
    "Restriction",
    "Sequence",
    "event",
    "format",
    "parse",
    "simplify",
    "subexpressions",
]
