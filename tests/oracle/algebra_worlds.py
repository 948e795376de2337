"""The meaning of an event expression in many interpretations at once: Definition 9 over arrays.

An event stream is a truth for each interpretation, start and end. `tests/python` compares this with
the plain oracle; it is here so that expressions can be tried in all interpretations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .algebra import Both, Event, Interpretation, Never, Term, Within

Streams = npt.NDArray[np.bool_]


class Worlds:
    """A number of interpretations over the times from 0 on."""

    def __init__(self, worlds: Sequence[Interpretation], ticks: int) -> None:
        self._ticks = ticks
        self._shape = (len(worlds), ticks, ticks)
        self._known: dict[Term, Streams] = {Never(): np.zeros(self._shape, np.bool_)}
        for name in {name for world in worlds for name in world}:
            stream = np.zeros(self._shape, np.bool_)
            for number, world in enumerate(worlds):
                for time in world.get(name, ()):
                    stream[number, time, time] = True
            self._known[Event(name)] = stream

    def meaning(self, term: Term, *, keep: bool = True) -> Streams:
        """The instances by interpretation, start and end."""
        if term in self._known:
            return self._known[term]
        found = self._meaning(term)
        if keep:
            self._known[term] = found
        return found

    def detected(self, term: Term, *, keep: bool = True) -> npt.NDArray[np.int64]:
        """By interpretation and end the start of the instance to detect, or -1 (Definition 13)."""
        found = self.meaning(term, keep=keep)
        starts = np.where(found, np.arange(self._ticks)[None, :, None], -1)
        return starts.max(axis=1)

    def _meaning(self, term: Term) -> Streams:
        if isinstance(term, Within):
            start, end = np.indices((self._ticks, self._ticks))
            return self.meaning(term.operand) & (end - start <= term.limit)
        assert isinstance(term, Both)
        left, right = self.meaning(term.left), self.meaning(term.right)
        if term.symbol == "|":
            return left | right
        found = left.copy() if term.symbol == "-" else np.zeros(self._shape, np.bool_)
        intervals = [(s, e) for s in range(self._ticks) for e in range(s, self._ticks)]
        for s, e in intervals:
            for t, f in intervals:
                both = (min(s, t), max(e, f))
                if term.symbol == "-" and s <= t and f <= e:
                    found[:, s, e] &= ~right[:, t, f]
                elif term.symbol == "+" or (term.symbol == ";" and e < t):
                    found[:, both[0], both[1]] |= left[:, s, e] & right[:, t, f]
        return found
