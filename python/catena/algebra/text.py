"""Event expressions from and to text: `parse(format(e)) == e`.

lark does the parsing by `grammar.lark`; this file builds the expressions, with their places in the
text, and turns what went wrong into errors that say where, what was expected, and what to try.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final

import lark
from lark import Token, Tree

from catena.algebra.expressions import (
    Binary,
    Conjunction,
    Disjunction,
    Empty,
    Expression,
    Negation,
    Primitive,
    Restriction,
    Sequence,
    subexpressions,
)
from catena.errors import CatenaError
from catena.query.ast import Bound
from catena.query.format import format_bound
from catena.query.syntax_errors import syntax_error
from catena.query.trees import Child, TreeBuilder, check_depth, check_size

_OPERATORS: Final[dict[str, type[Binary]]] = {
    "disjunction": Disjunction,
    "conjunction": Conjunction,
    "negation": Negation,
    "sequence": Sequence,
}

_LEVELS: Final[dict[type[Expression], int]] = {
    Disjunction: 0,
    Conjunction: 1,
    Negation: 1,
    Sequence: 2,
    Restriction: 3,
    Primitive: 4,
    Empty: 4,
}
"""How tight an operator binds."""


def parse(text: str) -> Expression:
    """An event expression from its text; raises CatenaSyntaxError with place and hint.

    >>> from catena.algebra import parse
    >>> parse("A ; B")
    Sequence(left=Primitive(name='A'), right=Primitive(name='B'))
    """
    return _Builder(text).expression(_tree(text, "expression"))


def parse_bound(text: str) -> Bound:
    """A length of time: a number, or a duration such as `2 s` or `1 min 30 s`."""
    return _Builder(text).bound(_tree(text, "duration"))


def format(expression: Expression) -> str:
    """The text of an expression, with no more parentheses than it needs.

    >>> from catena.algebra import event, format
    >>> format((event("A") | event("B")) >> event("C"))
    '(A | B) ; C'
    """
    texts: list[tuple[str, int]] = []  # Of the operands that wait for their operator.

    def take(level: int) -> str:
        text, own = texts.pop()
        return text if own >= level else f"({text})"

    for part in subexpressions(expression):
        level = _LEVELS[type(part)]
        match part:
            case Primitive():
                text = _name(part.name)
            case Restriction():
                text = f"{take(level)}[{format_bound(part.limit)}]"
            case Binary():
                right = take(level + 1)  # Operators group from the left.
                text = f"{take(level)} {part.symbol} {right}"
            case _:
                text = "0"
        texts.append((text, level))
    return texts[0][0]


def _name(name: str) -> str:
    if re.fullmatch(r"[^\W\d]\w*", name):
        return name
    return "`" + name.replace("`", "``") + "`"


@cache
def _grammar() -> lark.Lark:
    text = (resources.files("catena.algebra") / "grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(
        text,
        parser="lalr",
        start=["expression", "duration"],
        propagate_positions=True,
        keep_all_tokens=False,
        maybe_placeholders=False,
    )


def _tree(text: str, start: str) -> Tree[Token]:
    if not isinstance(text, str):
        raise CatenaError(f"an event expression is a string, not {type(text).__name__}")
    whole = "expression" if start == "expression" else "length"
    check_size(text, whole)
    try:
        tree = _grammar().parse(text, start=start)
    except lark.exceptions.UnexpectedInput as error:
        raise syntax_error(text, error, whole=whole, hints=_hint) from None
    check_depth(tree, whole, "group long chains with parentheses, (A | B) | (C | D)")
    return tree


class _Builder(TreeBuilder):
    def expression(self, tree: Child) -> Expression:
        assert isinstance(tree, Tree)
        span = self._span(tree)
        parts = tree.children
        if tree.data == "group":
            return self.expression(parts[0])
        if tree.data == "primitive":
            return Primitive(self._name(parts[0]), span=span)
        if tree.data == "empty":
            return Empty(span=span)
        operand = self.expression(parts[0])
        if tree.data == "restriction":
            return Restriction(operand, self._bound(parts[1]), span=span)
        return _OPERATORS[str(tree.data)](operand, self.expression(parts[1]), span=span)

    def bound(self, tree: Child) -> Bound:
        return self._bound(tree)


_MEANT: Final = {
    "&": "both in any order is written A + B",
    ",": "one after the other is written A ; B",
    "->": "one after the other is written A ; B",
    ">>": "in a text a sequence is written A ; B",
    ":": "one after the other is written A ; B",
    "||": "either of both is written A | B",
    "!": "absence is written A - B: an A during which there is no B",
    "~": "absence is written A - B: an A during which there is no B",
    "'": "names that are no words stand in backquotes",
    '"': "names that are no words stand in backquotes",
    "`": "the name has no end: a backquote is missing",
    "/*": "the comment has no end: */ is missing",
}
"""What people write, and what it is here."""

_WORDS: Final = {
    "or": "either of both is written A | B",
    "and": "both in any order is written A + B",
    "not": "absence is written A - B: an A during which there is no B",
    "unless": "absence is written A - B: an A during which there is no B",
    "within": "a restriction is written after what it restricts: (A ; B)[2 s]",
    "select": "this is the language of queries: use catena.Query",
}


def _hint(text: str, at: int, token: Token | None, expected: str) -> str | None:
    found = text[at:]
    before = re.search(r"(\w+)\s*$", text[:at])
    here = str(token).lower() if token is not None else ""
    for word in (here, before[1].lower() if before else ""):
        if word in _WORDS:
            return _WORDS[word]
    for sign in ("->", ">>", "||", "/*", *_MEANT):
        is_second_half = sign in ("->", "||") and f"{text[at - 1 : at]}{found}".startswith(sign)
        if found.startswith(sign) or is_second_half:
            return _MEANT[sign]
    if found.startswith("-") and text[:at].rstrip().endswith("["):
        return "a length of time is not negative"
    if not text.strip():
        return "give an event, such as A, or a pattern, such as (A ; B)[2 s]"
    if token is not None and token.type == "$END":
        for opening, closing in ("()", "[]"):
            if text.count(opening) > text.count(closing):
                return f"a {closing!r} is missing"
    if re.match(r"\d", found) and "a number" not in expected:
        return "a name that begins with a digit stands in backquotes; only 0 is an event by itself"
    return None
