"""The meaning of a query: SPEC section 3, "The query" and "Output items", by brute force.

The stream is split into parts, the formula is evaluated over each part as a stream of its own, then
row by row: what ends here and was not consumed, then the window, then the strategy, then the items.
Everything up to the items is done in the part's own positions (STRICT and `n EVENTS` count its
rows); only results are in positions of the whole stream.

`results` gives for every row the set of *all* results that end there. Under ANY or LIMIT only some
of them are reported: `reported_count` says how many, `difference` compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field

from .formulas import Query, star_variables
from .predicates import Row, Value
from .semantics import (
    DEFAULT_BUDGET,
    ComplexEvent,
    Events,
    complex_events,
    inside,
    projected,
    select,
)


@dataclass
class Part:
    """The rows of one key: their positions in the whole stream, and what the formula gives."""

    positions: list[int] = field(default_factory=list)
    by_end: dict[int, set[ComplexEvent]] = field(default_factory=dict)

    def whole(self, event: ComplexEvent) -> ComplexEvent:
        """A complex event of the part, in positions of the whole stream."""
        marks = frozenset((name, self.positions[position]) for name, position in event.marks)
        return ComplexEvent(self.positions[event.start], self.positions[event.end], marks)


def results(
    query: Query,
    rows: Rows[Row],
    type: str = "type",
    time: str | None = None,
    stream: str | None = None,
    budget: int = DEFAULT_BUDGET,
) -> list[Events]:
    """For every row, the results that end there; marks are those of the output variables."""
    parts = split(query, rows, stream)
    for part in parts.values():
        evaluate(part, query, rows, type, time, stream, budget)
    part_at = {position: part for part in parts.values() for position in part.positions}
    consumed: dict[int, int] = {}  # by scope: the last row that may not take part any more
    per_row: list[Events] = []
    for position in range(len(rows)):
        found: Events = frozenset()
        if position in part_at:
            part = part_at[position]
            scope = id(part) if query.consume == "PARTITION" else 0
            found = ending_at(part, position, query, consumed.get(scope, -1))
            if found and query.consume in ("ANY", "PARTITION"):
                consumed[scope] = position
        per_row.append(found)
    return per_row


def split(query: Query, rows: Rows[Row], stream: str | None) -> dict[tuple[Value, ...], Part]:
    """The parts by key; a row of a stream not in FROM, or with a null in its key, is in none."""
    attributes = [attribute for key in query.partition for attribute in key]
    parts: dict[tuple[Value, ...], Part] = {}
    for position, row in enumerate(rows):
        if stream is not None and query.sources and row.get(stream) not in query.sources:
            continue
        key = tuple(row.get(attribute) for attribute in attributes)
        if None not in key:
            parts.setdefault(key, Part()).positions.append(position)
    return parts


def evaluate(
    part: Part,
    query: Query,
    rows: Rows[Row],
    type: str,
    time: str | None,
    stream: str | None,
    budget: int,
) -> None:
    """Fill in what the formula, then the window, leave of one part."""
    own = [rows[position] for position in part.positions]
    for event in complex_events(query.formula, own, type, time, stream, budget):
        if query.window is None or inside(event, query.window, own, time):
            part.by_end.setdefault(event.end, set()).add(event)


def ending_at(part: Part, position: int, query: Query, consumed: int) -> Events:
    """The results that end at a row of the part, given the last consumed row."""
    ending = part.by_end.get(part.positions.index(position), set())
    alive = [event for event in ending if part.positions[event.start] > consumed]
    strategy = "ALL" if query.strategy == "ANY" else query.strategy
    chosen = select(strategy, alive)
    variables = output_variables(query)
    return frozenset(part.whole(projected(event, variables)) for event in chosen)


def output_variables(query: Query) -> frozenset[str]:
    """The variables whose marks a result shows."""
    if query.items == "*":
        return star_variables(query.formula)
    if query.items == "NONE":
        return frozenset()
    return frozenset(query.items)


# ---------------------------------------------------------------------------------------------
# Comparing with what an engine reports


def reported_count(query: Query, total: int) -> int:
    """How many of the `total` results of one row are reported: fewer under ANY and LIMIT."""
    if query.strategy == "ANY":
        total = min(total, 1)
    return total if query.limit is None else min(total, query.limit)


def difference(query: Query, expected: Rows[Events], reported: Rows[Iterable[ComplexEvent]]) -> str:
    """The first row whose reported results are wrong, in words; empty when all are right."""
    if len(expected) != len(reported):
        return f"{len(expected)} rows expected, {len(reported)} reported"
    for row, (wanted, given) in enumerate(zip(expected, reported, strict=True)):
        problem = row_difference(query, wanted, list(given))
        if problem:
            return f"row {row}: {problem}\n{query.text()}"
    return ""


def row_difference(query: Query, wanted: Events, given: list[ComplexEvent]) -> str:
    """What is wrong with the results of one row; empty when nothing is."""
    distinct = frozenset(given)
    if len(distinct) < len(given):
        return f"reported more than once: {shown(e for e in distinct if given.count(e) > 1)}"
    if distinct - wanted:
        return f"reported but wrong: {shown(distinct - wanted)}"
    count = reported_count(query, len(wanted))
    if len(distinct) == count:
        return ""
    return f"{count} results due, {len(distinct)} reported; absent: {shown(wanted - distinct)}"


def shown(events: Iterable[ComplexEvent]) -> str:
    """Complex events as sorted text."""
    triples = sorted((event.start, event.end, sorted(event.marks)) for event in events)
    return ", ".join(f"({start}, {end}, {marks})" for start, end, marks in triples)
