"""A pattern query as an operator: the stream of its matches.

`match(source, query)` has attributes `start` and `end`, the times of a match's first and last row,
and the values that are asked for; `start <= end`, and `end <= start + w` under a window of time; it
progresses on `end`. The source's rows reach the pattern's engine in order of time once they are
known to be complete, so a program keeps none of them longer, whatever the pattern: what is open is
in the engine's own graph. Rows of equal time are ordered by their other attributes, so that results
do not depend on how the rows arrived.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from catena.errors import CatenaError
from catena.queries import Query as Pattern
from catena.query import ast
from catena.tsa.formulas import Comparison, Formula, conjunction
from catena.tsa.queries import Query, query
from catena.tsa.relations import Relation, Stream, check_name
from catena.tsa.terms import Name, Shift, exact
from catena.tsa.values import TEMPORAL, Kind, checked_kind

SECOND_NS = ast.Unit.S.nanoseconds


@dataclass(frozen=True, eq=False, repr=False)
class PatternStream(Stream):
    """What a pattern finds in a stream: `source` is the query that hands over its rows."""

    source: Query
    pattern: Pattern

    @property
    def time(self) -> str:
        """The attribute by which the source's rows are ordered."""
        return self.source.stream.progressing[0]


def match(
    source: Relation,
    pattern: Pattern,
    values: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
) -> PatternStream:
    """The matches of a pattern in a stream, as a stream that progresses on `end`.

    `values` names what of each match becomes an attribute beside `start` and `end`, with its kind:
    keys of PARTITION BY and measures. The pattern's `time` is an attribute on which the source
    progresses; a pattern over times of kind "timestamp" needs no `time_unit`.
    """
    time = pattern.plan.settings.time
    if time is None:
        raise CatenaError(
            "a pattern over a stream needs to know its times",
            hint=f"catena.Query(..., time={source.schema.times[:1] or ('time',)!r})",
        )
    name = name or _name_of(source)
    handing_over = query(f"{name}_rows", source, progressing=time)
    kinds: dict[str, Kind] = {}
    for each, kind in (values or {}).items():
        check_name(each)
        if checked_kind(kind) in TEMPORAL or each in ("start", "end"):
            raise CatenaError(
                f"'{each}' cannot be a time of the match", hint="start and end are its times"
            )
        kinds[each] = checked_kind(kind)
    times: dict[str, Kind] = {"start": source.schema.attributes[time]}
    times["end"] = times["start"]
    relations = _relations(pattern, times["end"])
    return PatternStream(name, times | kinds, relations, ("end",), handing_over, pattern)


def _name_of(source: Relation) -> str:
    if isinstance(source, Stream):
        return f"{source.name}_matches"
    raise CatenaError("the matches need a name", hint='tsa.match(..., name="Fires")')


def _relations(pattern: Pattern, kind: Kind) -> Formula:
    start, end = Name("start"), Name("end")
    width = _window(pattern, kind)
    known: list[Formula] = [Comparison(start, "<=", end)]
    return conjunction(known + ([Comparison(end, "<=", Shift(start, width))] if width else []))


def _window(pattern: Pattern, kind: Kind) -> Fraction | int | None:
    """The pattern's window of time, in units of the stream's time line."""
    window, settings = pattern.plan.query.window, pattern.plan.settings
    if isinstance(window, ast.AttributeWindow) and window.attribute == settings.time:
        return exact(window.amount) if kind == "time" else None
    if not isinstance(window, ast.TimeWindow):
        return None
    bound = window.bound
    if kind == "timestamp":
        return exact(bound.amount * bound.unit.nanoseconds / SECOND_NS) if bound.unit else None
    if bound.unit is None or settings.time_unit is None:
        return exact(bound.amount) if bound.unit is None else None
    return exact(bound.amount * bound.unit.nanoseconds / settings.time_unit.nanoseconds)
