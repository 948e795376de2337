"""What builders of trees share, whatever the grammar: limits, places, names, amounts of time.

Invariant: a text that passes `check_size` and whose tree passes `check_depth` is small enough for
all later stages, which recurse.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, TypeAlias

from lark import Token, Tree

from catena.errors import CatenaError, CatenaLimitError, CatenaSyntaxError, error_at, nearest
from catena.query import ast

Child: TypeAlias = Tree[Token] | Token

TEXT_LENGTH_MAX: Final = 1_000_000
NESTING_MAX: Final = 200
"""How deep parentheses and brackets may be nested."""
TREE_DEPTH_MAX: Final = 250
"""How deep the tree may be, chains of operators included: all later stages recurse on it."""
EXPONENT_MAX: Final = 30
DIGITS_MAX: Final = 40
"""What an amount of time may be written with; an exact 1e999999999 would fill the memory."""

_BRACKETS: Final = re.compile(
    r"--[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|'(?:[^']|'')*'?|`(?:[^`]|``)*`?|[(\[{]|[)\]}]"
)
"""Brackets, and what may hold brackets that are none: comments, strings and quoted names."""

_UNITS: Final = {
    "ns": ast.Unit.NS,
    "us": ast.Unit.US,
    "ms": ast.Unit.MS,
    **dict.fromkeys(["s", "sec", "second", "seconds"], ast.Unit.S),
    **dict.fromkeys(["m", "min", "minute", "minutes"], ast.Unit.MIN),
    **dict.fromkeys(["h", "hour", "hours"], ast.Unit.H),
    **dict.fromkeys(["d", "day", "days"], ast.Unit.D),
}


def check_size(text: str, whole: str = "query") -> None:
    """Refuses a text that is too long, or whose brackets are nested too deep."""
    if len(text) > TEXT_LENGTH_MAX:
        raise CatenaLimitError(
            f"the {whole} has {len(text)} characters, more than {TEXT_LENGTH_MAX}",
            hint=f"this limit is fixed; split the {whole} into several",
        ).with_amounts(len(text), TEXT_LENGTH_MAX)
    depth = 0
    for found in _BRACKETS.finditer(text):
        if found[0] in ("(", "[", "{"):
            depth += 1
            if depth > NESTING_MAX:
                raise error_at(
                    text, ast.Span(*found.span()),
                    f"brackets are nested more than {NESTING_MAX} deep",
                    hint=f"split the {whole} into several", kind=CatenaLimitError,
                )  # fmt: skip
        elif found[0] in (")", "]", "}"):
            # A bracket too many is the parser's to refuse; it must not hide the depth that follows.
            depth = max(0, depth - 1)


def check_depth(
    tree: Tree[Token],
    whole: str = "query",
    hint: str = "group long chains with parentheses, (a AND b) AND (c AND d), or use IN {...}",
) -> None:
    """Refuses a tree that is too deep for recursion, wherever on the stack the caller stands."""
    level: list[Tree[Token]] = [tree]
    for _ in range(TREE_DEPTH_MAX):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    raise CatenaLimitError(f"the {whole} is more than {TREE_DEPTH_MAX} operators deep", hint=hint)


class TreeBuilder:
    """Builds nodes from a parse tree of a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _span(self, child: Child) -> ast.Span:
        if isinstance(child, Token):
            return ast.Span(child.start_pos or 0, child.end_pos or 0)
        return ast.Span(child.meta.start_pos, child.meta.end_pos)

    def _error(self, where: Child, message: str, hint: str | None = None) -> CatenaError:
        return error_at(self._text, self._span(where), message, hint=hint, kind=CatenaSyntaxError)

    def _name(self, child: Child) -> str:
        assert isinstance(child, Token)
        if child.type == "QUOTED":
            return child[1:-1].replace("``", "`")
        return "ANY" if child.type == "ANY" else str(child)

    def _amount(self, number: Child) -> Fraction:
        digits, _, exponent = str(number).lower().partition("e")
        # The length is tested first: a long enough exponent would not even convert to an int.
        if len(digits) + len(exponent) > DIGITS_MAX or abs(int(exponent or 0)) > EXPONENT_MAX:
            raise self._error(number, "the number has too many digits for an amount")
        return Fraction(str(number))

    def _bound(self, duration: Child) -> ast.Bound:
        assert isinstance(duration, Tree)
        span = self._span(duration)
        numbers = [self._amount(part) for part in duration.children[::2]]
        units = [self._unit(part) for part in duration.children[1::2]]
        if not units:
            return ast.Bound(numbers[0], span=span)
        smallest = min(units, key=lambda unit: unit.nanoseconds)
        total = sum(n * u.nanoseconds for n, u in zip(numbers, units, strict=True))
        return ast.Bound(Fraction(total) / smallest.nanoseconds, smallest, span=span)

    def _unit(self, child: Child) -> ast.Unit:
        unit = _UNITS.get(str(child).lower())
        if unit is None and str(child).lower() in ("event", "events"):
            raise self._error(
                child, "EVENTS counts rows, and this is a span of time",
                "write WITHIN n EVENTS for a number of rows",
            )  # fmt: skip
        if unit is None:
            close = nearest(str(child).lower(), _UNITS)
            hint = f"did you mean {close}?" if close else "units are ns us ms s min h d"
            raise self._error(child, f"{str(child)!r} is not a unit of time", hint)
        return unit
