"""Subsequences with wildcards and gaps (swg queries; paper 000, section 3).

Rows of given kinds, with bounds on the time from one to the next and, by a window, from the first
to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.errors import CatenaError
from catena.queries import Query
from catena.query import ast
from catena.query.format import format_expression, format_interval, format_name
from catena.query.parse import parse_formula, parse_predicate


def swg(
    kinds: Sequence[str], gaps: Sequence[str | None], window: str | None = None, **settings: Any
) -> Query:
    """The query for a sequence of rows with gaps between them.

    `kinds`: for each row its type, a plain name, or a predicate. `gaps`: for each row but the first
    the interval of time since the row before, or None. `window`: as after WITHIN. The rows are
    called e1, e2 and so on. `settings` are those of `Query`; gaps need `time`.

    >>> import catena
    >>> q = catena.swg(["A", "type = 'B' AND v > 3"], ["[0 s, 5 s]"], window="1 min", time="ts")
    >>> print(q.text)
    SELECT * WHERE A AS e1 ;[0 s, 5 s] (ANY AS e2 FILTER e2[type = 'B' AND v > 3]) WITHIN 1 min
    """
    if not kinds:
        raise CatenaError("a sequence with gaps needs at least one kind of row")
    if len(gaps) != len(kinds) - 1:
        raise CatenaError(
            f"{len(kinds)} kinds of rows have {len(kinds) - 1} gaps between them, not {len(gaps)}",
            hint="give one gap for each kind but the first; None where any time may pass",
        )
    text = f"SELECT * WHERE {_row(kinds[0], 1)}"
    for number, (gap, kind) in enumerate(zip(gaps, kinds[1:], strict=True), 1):
        text += f" ;{_gap(gap, number)} {_row(kind, number + 1)}"
    return Query(text + (f" WITHIN {window}" if window is not None else ""), **settings)


def _row(kind: str, number: int) -> str:
    if kind.isidentifier():
        return f"{format_name(kind)} AS e{number}"
    try:
        predicate = parse_predicate(kind)
    except CatenaError as error:
        raise _in_part(f"kind {number}", kind, error) from None
    return f"(ANY AS e{number} FILTER e{number}[{format_expression(predicate)}])"


def _gap(gap: str | None, number: int) -> str:
    if gap is None:
        return ""
    try:
        sequence = parse_formula(f"ANY ;{gap} ANY")
    except CatenaError as error:
        raise _in_part(f"gap {number}", gap, error) from None
    match sequence:
        case ast.Sequence(ast.AnyEvent(), ast.AnyEvent(), interval=ast.Interval() as interval):
            return format_interval(interval)
    raise CatenaError(
        f"gap {number} is {gap!r}, which is not an interval", hint="write for instance [0 s, 5 s]"
    )


def _in_part(what: str, text: str, error: CatenaError) -> CatenaError:
    return CatenaError(f"{what} is {text!r}: {error.message}", hint=error.hint)
