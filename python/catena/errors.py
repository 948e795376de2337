"""Errors that a user can act on, in one small tree.

Three kinds: the user's (`CatenaSyntaxError`, `CatenaDataError`, `CatenaSnapshotError`, or plain
`CatenaError`), with a position, what was expected and a hint; a limit's (`CatenaLimitError`), with
what was given, what is allowed and how to raise it; a bug's, which is an assertion and not here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catena.query.ast import Span
    from catena.records import Records


class CatenaError(Exception):
    """Something the user can mend.

    `line` and `column` count from 1 and are None for errors without a place in a query's text.
    `matches` are those (or the instances) that a push had found before the error; None for errors
    of anything else.
    """

    matches: Records | None = None

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source_line: str | None = None,
        width: int = 1,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line
        self.column = column
        self.source_line = source_line
        self._width = width

    def __str__(self) -> str:
        """The message with its place, the line with carets under it, and the hint."""
        lines = [self._headline()]
        if self.source_line is not None and self.column is not None:
            carets = "^" * max(1, min(self._width, len(self.source_line) - self.column + 1))
            lines += [f"  {self.source_line}", f"  {' ' * (self.column - 1)}{carets}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def one_line(self) -> str:
        """The message with its place and the hint, for a terminal's error stream."""
        hint = f" (hint: {self.hint})" if self.hint else ""
        return " ".join(f"{self._headline()}{hint}".split())

    def _headline(self) -> str:
        if self.line is None:
            return self.message
        return f"line {self.line}, column {self.column}: {self.message}"


class CatenaSyntaxError(CatenaError):
    """The text is not a query."""


class CatenaLimitError(CatenaError):
    """A budget is used up: what was `given`, what is `allowed`; the hint says how to raise it."""

    given: int | None = None
    allowed: int | None = None

    def with_amounts(self, given: int, allowed: int) -> CatenaLimitError:
        """The same error, with the two numbers for programs that act on them."""
        self.given, self.allowed = given, allowed
        return self


class CatenaSnapshotError(CatenaError):
    """Stored bytes are damaged or belong to another query."""


class CatenaDataError(CatenaError):
    """The events cannot be read. `row` is the position of the row to blame, if it is one."""

    def __init__(self, message: str, *, row: int | None = None, hint: str | None = None) -> None:
        super().__init__(message if row is None else f"row {row}: {message}", hint=hint)
        self.row = row


def error_at(
    text: str,
    span: Span,
    message: str,
    *,
    hint: str | None = None,
    kind: type[CatenaError] = CatenaError,
) -> CatenaError:
    """An error about a part of a query's text."""
    start = min(span.start, len(text))
    before = text[:start]
    line_start = before.rfind("\n") + 1
    source_line = text[line_start:].partition("\n")[0].rstrip("\r")
    return kind(
        message,
        hint=hint,
        line=before.count("\n") + 1,
        column=start - line_start + 1,
        source_line=source_line.replace("\t", " "),
        width=max(1, span.end - start),
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, if any is."""
    names = list(known)
    by_case = {other.lower(): other for other in names}
    if name.lower() in by_case:
        return by_case[name.lower()]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return close[0] if close else None
