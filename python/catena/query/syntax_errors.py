"""What went wrong in a text, in words: from the parser's terminals to what a person would say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import lark
from lark import Token

from catena.errors import CatenaError, CatenaSyntaxError, error_at
from catena.query.ast import Span

_WORDS: Final = {
    "NAME": "a name",
    "QUOTED": "a name",
    "STRING": "a string",
    "NUMBER": "a number",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "SEMICOLON": "';'",
    "COLON": "':'",
    "COLON_PLUS": "':+'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "PERCENT": "'%'",
    "VBAR": "'|'",
    "ZERO": "0",
    "DOT": "'.'",
    "DOTS": "'..'",
    "__ANON_0": "'->'",
    "MORETHAN": "'>'",
    "EQ": "a comparison",
    "NE": "a comparison",
    "LT": "a comparison",
    "LE": "a comparison",
    "GT": "a comparison",
    "GE": "a comparison",
    "$END": "the end of the query",
}

_ORDER: Final = (
    "a name", "a number", "a string", "'('", "')'", "']'", "'}'", "','", "'['", "a comparison",
    "SELECT", "FROM", "WHERE", "';'", "':'", "'->'", "'+'", "AS", "FILTER", "AND", "OR",
    "PARTITION", "WITHIN", "CONSUME", "LIMIT", "the end of the query",
)  # fmt: skip

_TIME_WORDS: Final = ("date", "time", "timestamp", "datetime")

SHOWN_MAX: Final = 6


Hints: TypeAlias = Callable[[str, int, Token | None, str], str | None]
"""What is most likely meant: of the text, the place, what stands there and what was expected."""


def syntax_error(
    text: str,
    error: lark.exceptions.UnexpectedInput,
    *,
    whole: str = "query",
    hints: Hints | None = None,
) -> CatenaError:
    """The parser's complaint as ours; `whole` is what the text should have been."""
    match error:
        case lark.exceptions.UnexpectedToken():
            token = error.token
            at = len(text) if token.type == "$END" else token.start_pos or 0
            found = f"the {whole} ends" if token.type == "$END" else f"unexpected {str(token)!r}"
            width = 1 if token.type == "$END" else len(token)
            expected = _expected(error.accepts or error.expected, whole)
        case lark.exceptions.UnexpectedCharacters():
            at, width = error.pos_in_stream or 0, 1
            found = f"unexpected {text[at : at + 1]!r}"
            expected = _expected(error.allowed or (), whole)
            token = None
        case _:
            at, width, found, expected, token = 0, 1, "unexpected input", "", None
    message = f"{found}; expected {expected}" if expected else found
    hint = (hints or _hint)(text, at, token, expected)
    return error_at(text, Span(at, at + width), message, hint=hint, kind=CatenaSyntaxError)


def _expected(terminals: object, whole: str) -> str:
    words = {_WORDS.get(str(name), str(name)) for name in terminals}  # type: ignore[attr-defined]
    ranked = sorted(words, key=lambda w: (_ORDER.index(w) if w in _ORDER else len(_ORDER), w))
    ranked = [word.replace("the query", f"the {whole}") for word in ranked]
    shown = ranked[:SHOWN_MAX]
    if len(ranked) > SHOWN_MAX:
        return ", ".join(shown) + " or others"
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _before(text: str, at: int) -> str:
    """The word that stands directly before a place."""
    found = re.search(r"(\w+)\s*$", text[:at])
    return found[1].lower() if found else ""


def _hint(text: str, at: int, token: Token | None, expected: str) -> str | None:
    """What is most likely meant."""
    if text[at : at + 1] == '"':
        return "strings stand in single quotes, names in backquotes"
    if text[at : at + 1] == "'" and token is None:
        return "the string has no end: a single quote is missing"
    if token is not None and token.type == "STRING" and _before(text, at) in _TIME_WORDS:
        return f"a date or time is written as a string: {token!s}"
    if text[at : at + 1] == "`":
        return "the name has no end: a backquote is missing"
    if text[at : at + 2] == "/*":
        return "the comment has no end: */ is missing"
    word = str(token).lower() if token is not None else ""
    is_after_not = _before(text, at) == "not" and expected == "'('"
    if word == "not" or is_after_not or expected == "';'":
        return "NOT (...) stands only between two ';'; elsewhere use UNLESS"
    if not re.match(r"\s*(--[^\n]*\n\s*|/\*.*?\*/\s*)*select\b", text, re.IGNORECASE | re.DOTALL):
        return "a query begins with SELECT"
    if token is not None and token.type == "$END":
        return _hint_at_end(text)
    if token is not None and re.fullmatch(r"[a-z]+", word) and token.type not in ("NAME",):
        return f"to use {token!s} as a name, write `{token}`"
    return None


def _hint_at_end(text: str) -> str | None:
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening) > text.count(closing):
            return f"a {closing!r} is missing"
    if not re.search(r"\bwhere\b", text, re.IGNORECASE):
        return "a query has the form SELECT items WHERE formula"
    return None
