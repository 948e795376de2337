"""Random schemas, expressions, streams, and ways to cut and shuffle them, for Hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from catena import tsa
from catena.errors import CatenaError
from catena.tsa import _
from catena.tsa.relations import Relation
from catena.tsa.values import Value

TIMES = 8
Rows = list[dict[str, Any]]


@dataclass
class Sources:
    """Streams to build expressions of; leaves get names of their own."""

    streams: list[tsa.Stream]
    used: int = field(default=0)

    def leaf(self, draw: st.DrawFn) -> Relation:
        self.used += 1
        return draw(st.sampled_from(self.streams)).prefix(f"r{self.used}")

    def name(self) -> str:
        self.used += 1
        return f"n{self.used}"


@st.composite
def streams(draw: st.DrawFn) -> list[tsa.Stream]:
    """One to three streams, now and then with two times, and a static relation."""
    found = []
    for name in ["A", "B", "C"][: draw(st.integers(1, 3))]:
        if draw(st.booleans()):
            found.append(tsa.stream(name, {"t": "time", "v": "int64"}, progressing="t"))
            continue
        where = draw(st.sampled_from([[], [_.t <= _.u], [_.u <= _.t + 2], [_.t < _.u]]))
        progressing = draw(st.sampled_from([["t"], ["u"], ["t", "u"]]))
        kinds = {"t": "time", "u": "time", "v": "int64"}
        found.append(tsa.stream(name, kinds, progressing=progressing, where=where))
    if draw(st.booleans()):
        found.append(tsa.static("S", {"v": "int64"}))
    return found


def times(relation: Relation) -> list[str]:
    return list(relation.schema.times)


def values(relation: Relation) -> list[str]:
    return [n for n, kind in relation.schema.attributes.items() if kind == "int64"]


def comparisons(draw: st.DrawFn, left: list[str], right: list[str]) -> Value:
    """A comparison of two times that keeps them close, or only in order."""
    a, b = _[draw(st.sampled_from(left))], _[draw(st.sampled_from(right))]
    c = draw(st.integers(-2, 2))
    shape = draw(st.integers(0, 5))
    if shape == 0:
        return a == b + c
    if shape == 1:
        return (b + c < a) & (a <= b + c + draw(st.integers(0, 3)))
    if shape == 2:
        return a <= b + c
    if shape == 3:
        return (a < b) | (a - b >= 2)
    if shape == 4:
        return ~((a <= b) | (b + 3 < a))
    return (b <= a) & (a < b + 3)


def terms(draw: st.DrawFn, names: list[str]) -> Value:
    a, b = _[draw(st.sampled_from(names))], _[draw(st.sampled_from(names))]
    c = draw(st.integers(-2, 2))
    return draw(
        st.sampled_from(
            [a + c, tsa.greatest(a, b + c), tsa.least(a, b), a.ceil(3), a.floor(3) + c,
             tsa.greatest(a, b).ceil(2)]
        )
    )  # fmt: skip


def condition(draw: st.DrawFn, relation: Relation) -> Value:
    known_values, known_times = values(relation), times(relation)
    if known_values and (not known_times or draw(st.booleans())):
        a = _[draw(st.sampled_from(known_values))]
        return draw(st.sampled_from([a == 1, a != 0, ~(a > 1), (a < 1) | (a == 2)]))
    if not known_times:
        return tsa.Value.__eq__(_["missing"], 1)
    return comparisons(draw, known_times, known_times)


def narrow(draw: st.DrawFn, relation: Relation, keys: list[str]) -> Relation | None:
    """The relation with one time and one value, under given names."""
    if not times(relation) or not values(relation):
        return None
    time = draw(st.sampled_from(times(relation)))
    value = draw(st.sampled_from(values(relation)))
    return relation.select(time, value).rename({keys[0]: time, keys[1]: value})


def expressions(draw: st.DrawFn, sources: Sources, depth: int) -> Relation:
    """An expression; wrong draws fall back to what there is."""
    if depth == 0:
        return sources.leaf(draw)
    shape = draw(st.integers(0, 8))
    first = expressions(draw, sources, depth - 1)
    if shape <= 3:
        return unary(draw, sources, first, shape)
    second = expressions(draw, sources, draw(st.integers(0, depth - 1)))
    if shape <= 6:
        ties = []
        if times(first) and times(second):
            ties = [
                comparisons(draw, times(second), times(first))
                for _unused in range(draw(st.integers(1, 2)))
            ]
        if values(first) and values(second) and draw(st.booleans()):
            ties.append(_[values(first)[0]] == _[values(second)[0]])
        join = {4: first.join, 5: first.semi_join, 6: first.anti_join}[shape]
        return join(second, *ties)
    keys = [sources.name(), sources.name()]
    left, right = narrow(draw, first, keys), narrow(draw, second, keys)
    if left is None or right is None:
        return first
    return left.union(right) if shape == 7 else left.difference(right)


def unary(draw: st.DrawFn, sources: Sources, first: Relation, shape: int) -> Relation:
    if shape == 0 and (times(first) or values(first)):
        return first.filter(condition(draw, first))
    if shape == 1 and times(first):
        return first.mutate({sources.name(): terms(draw, times(first))})
    if shape == 2:
        kept = draw(st.lists(st.sampled_from(first.columns), min_size=1, unique=True))
        return first.select(*kept)
    if shape == 3 and values(first):
        keys = draw(st.lists(st.sampled_from(first.columns), min_size=1, unique=True))
        value = _[draw(st.sampled_from(values(first)))]
        chosen = draw(st.sampled_from([value.max(), value.sum(), tsa.count(), value.min()]))
        return first.group_by(*keys).aggregate({sources.name(): chosen})
    return first


@st.composite
def valid_queries(draw: st.DrawFn, depth: int = 3) -> tsa.Query | None:
    """A query; None if what was drawn is not valid."""
    sources = Sources(draw(streams()))
    relation = expressions(draw, sources, draw(st.integers(1, depth)))
    try:
        return tsa.query("Out", relation)
    except CatenaError:
        return None


def row_lists(draw: st.DrawFn, stream: tsa.Stream, size: int = 5) -> Rows:
    """Rows that match the stream's schema, some of them equal."""
    row = st.fixed_dictionaries(
        {
            name: st.integers(0, TIMES) if kind == "time" else st.integers(0, 2)
            for name, kind in stream.kinds.items()
        }
    )
    rows = draw(st.lists(row, max_size=size))
    if "u" not in stream.kinds:
        return rows
    holds = {
        "⊤": lambda r: True,
        "t ≤ u": lambda r: r["t"] <= r["u"],
        "u ≤ t + 2": lambda r: r["u"] <= r["t"] + 2,
        "t < u": lambda r: r["t"] < r["u"],
    }[str(stream.relations)]
    return [row for row in rows if holds(row)]


@dataclass
class Push:
    """What arrives at once."""

    rows: dict[str, Rows]
    progress: dict[str, dict[str, tsa.Bound]]


def pushes(draw: st.DrawFn, data: Mapping[str, tuple[tsa.Stream, Rows]], steps: int) -> list[Push]:
    """Rows cut into pushes and shuffled, as far as the progress values allow."""
    found = [Push({}, {}) for _unused in range(steps)]
    for name, (stream, rows) in data.items():
        ends: list[dict[str, tsa.Bound]] = []
        for attribute in stream.progressing:
            bounds = sorted(
                tsa.Bound(draw(st.integers(-1, TIMES + 1)), draw(st.booleans()))
                for _unused in range(steps)
            )
            for i, bound in enumerate(bounds):
                if i == len(ends):
                    ends.append({})
                ends[i][attribute] = bound
        for push, end in zip(found, ends, strict=True):
            push.progress[name] = end
        for row in rows:
            last = next(
                (i for i, end in enumerate(ends) if any(b.covers(row[a]) for a, b in end.items())),
                steps - 1,
            )
            arrival = last if draw(st.booleans()) else draw(st.integers(0, last))
            found[arrival].rows.setdefault(name, []).append(row)
    for push in found:
        push.rows = {name: draw(st.permutations(rows)) for name, rows in push.rows.items()}
    return found


@st.composite
def valid_programs(draw: st.DrawFn) -> list[tsa.Query] | None:
    """A stream that one or two queries contribute to, and a query over it and others."""
    sources = Sources(draw(streams()))
    keys = ["mt", "mv"]
    parts = []
    for _unused in range(draw(st.integers(1, 2))):
        part = narrow(draw, expressions(draw, sources, draw(st.integers(1, 2))), keys)
        parts += [] if part is None else [part.select(*keys)]
    try:
        middle = tsa.stream("Mid", {"mt": "time", "mv": "int64"}, progressing="mt")
        queries = [tsa.Query(middle, part) for part in parts]
        if not queries:
            return None
        further = Sources([*sources.streams, middle, middle], used=sources.used)
        return [*queries, tsa.query("Out", expressions(draw, further, draw(st.integers(1, 3))))]
    except CatenaError:
        return None
