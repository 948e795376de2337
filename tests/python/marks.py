"""What the matches of a stream are compared by: the marks of each, as numbers of rows.

Positions of a stream are those of a bucket, so every variable shows an attribute that numbers the
rows of the whole stream. A stream has a timestamp for a time column, so where rows have numbers of
seconds, so have the query's times.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from typing import Any

import oracle
from catena.query import ast
from catena.query.format import format_query
from catena.query.parse import parse
from oracle import ComplexEvent

Marks = tuple[tuple[str, int], ...]


def marks_of(events: Iterable[ComplexEvent]) -> Counter[Marks]:
    """The marks of each event."""
    return Counter(tuple(sorted(event.marks)) for event in events)


def why_wrong(
    query: oracle.Query, due: Iterable[frozenset[ComplexEvent]], found: Counter[Marks]
) -> str:
    """What is wrong with the matches of a query, as far as their marks tell; empty if nothing."""
    due = list(due)
    count = sum(oracle.reported_count(query, len(events)) for events in due)
    wrong = found - marks_of(event for events in due for event in events)
    if wrong:
        return f"reported but wrong: {wrong}"
    return "" if found.total() == count else f"{count} results due, {found.total()} reported"


def showing_rows(text: str, variables: tuple[str, ...]) -> str:
    """The text of a query with the column `n` of every variable among its items."""
    head, _, rest = text.partition(" WHERE ")
    words = head.split(" FROM ")
    strategy = words[0].split()[1]
    kept = f"{strategy} " if strategy in ("ANY", "NEXT", "LAST", "MAX", "STRICT") else ""
    items = ", ".join(f"{x}[n]" for x in variables) or "NONE"
    source = f" FROM {words[1]}" if len(words) > 1 else ""
    return f"SELECT {kept}{items}{source} WHERE {rest}"


def text_in_seconds(text: str) -> str:
    """A query in which times without a unit are seconds."""
    return format_query(_in_seconds(parse(text)))


def _in_seconds(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(_in_seconds(part) for part in node)
    if isinstance(node, ast.Bound) and node.unit is None:
        return dataclasses.replace(node, unit=ast.Unit.S)
    if not isinstance(node, ast.Node):
        return node
    parts = {f.name: _in_seconds(getattr(node, f.name)) for f in dataclasses.fields(node)}
    return dataclasses.replace(node, **parts)
