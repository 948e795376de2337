"""What is valid, and what the messages say where something is not (Definition 19)."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_increments import RELAXED
from tsa_examples import FIRE_END, FIRE_START, SMOKE
from tsa_generators import Sources, comparisons, streams, times

from catena import tsa
from catena.errors import CatenaError
from catena.tsa import _
from catena.tsa.relations import AntiJoin, Relation, SemiJoin, Stream

PAIR = FIRE_START.prefix("a").join(FIRE_END.prefix("b"), _.a.fid == _.b.fid)
WINDOWS = tsa.stream("Windows", {"start": "time", "end": "time"}, progressing="end")
CLOCKED = tsa.stream("Clocked", {"at": "timestamp"}, progressing="at")

REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "an end that waits for any start": (
        lambda: tsa.query("Fires", PAIR.select(start="a.time", end="b.time"), progressing="end"),
        "Fires: 'end' cannot progress: it would wait for FireStart, since nothing bounds 'start' "
        "from above by 'end'",
        "add `start <= end + …`",
    ),
    "a start that waits for any end": (
        lambda: tsa.query(
            "Fires",
            PAIR.filter(_.a.time <= _.b.time).select(start="a.time", end="b.time"),
            progressing="start",
        ),
        "Fires: 'start' cannot progress: it would wait for FireEnd, since nothing bounds 'end' "
        "from above by 'start'",
        "add `end <= start + …`",
    ),
    "no attribute at all": (
        lambda: tsa.query("Fires", PAIR.select(start="a.time", end="b.time")),
        "Fires cannot progress on any attribute: 'end' cannot progress: it would wait for "
        "FireStart, since nothing bounds 'start' from above by 'end'",
        "add `start <= end + …`",
    ),
    "no time": (
        lambda: tsa.query("Ids", FIRE_START.select("fid")),
        "Ids has no time among its attributes, so it cannot progress",
        "keep a time in select and group_by",
    ),
    "an aggregated time": (
        lambda: tsa.query("Last", FIRE_START.group_by("fid").aggregate(time=_.time.max())),
        "Last has no time among its attributes, so it cannot progress",
        "keep a time in select and group_by",
    ),
    "negation without an end": (
        lambda: tsa.query(
            "Alone",
            FIRE_START.prefix("a").anti_join(FIRE_END.prefix("b"), _.a.time <= _.b.time),
        ),
        "Alone cannot progress on any attribute: 'a.time' cannot progress: it would wait for "
        "FireEnd, since nothing bounds 'b.time' from above by 'a.time'",
        "add `b.time <= a.time + …`",
    ),
    "a definition that says too much": (
        lambda: tsa.Query(
            tsa.stream(
                "Fires",
                {"start": "time", "end": "time"},
                progressing="end",
                where=[_.start <= _.end, _.end <= _.start + 60],
            ),
            PAIR.filter(_.a.time <= _.b.time).select(start="a.time", end="b.time"),
        ),
        "Fires: its definition says end ≤ start + 60, but the expression does not imply it",
        "filter on it, or weaken the definition; known of end, start: start ≤ end",
    ),
    "other attributes": (
        lambda: tsa.Query(WINDOWS, FIRE_START),
        "Windows: the expression has other attributes than the stream; it lacks {start: time, "
        "end: time} and has {fid: int64, time: time}",
        "select and rename until they are the same; aggregated times are plain values",
    ),
    "recursion that stands still": (
        lambda: tsa.Program(tsa.Query(WINDOWS, WINDOWS.filter(_.start < _.end))),
        "the recursion of Windows does not go into the future: Windows:end = Windows:end",
        "what a row is computed from must be earlier by a constant: add … + c to its time",
    ),
    "recursion into the past": (
        lambda: tsa.Program(
            tsa.Query(
                WINDOWS,
                WINDOWS.prefix("w").mutate(end=_.w.end - 5).select("end", start="w.start"),
            )
        ),
        "the recursion of Windows does not go into the future: Windows:end = Windows:end - 5",
        "what a row is computed from must be earlier by a constant: add … + c to its time",
    ),
    "an unknown attribute": (
        lambda: SMOKE.filter(_.konzz > 3),
        "there is no attribute 'konzz'",
        "did you mean 'konz'? attributes: time, area, konz",
    ),
    "attributes on both sides": (
        lambda: FIRE_START.cross_join(FIRE_END),
        "both sides have attributes named fid, time",
        'give a side a prefix: relation.prefix("s")',
    ),
    "two kinds of times": (
        lambda: CLOCKED.join(FIRE_END, _["at"] <= _.time),
        "'at ≤ time' compares different kinds of values",
        "kinds of values: boolean, int64, float64, string, datetime, time, timestamp",
    ),
    "a truth value of a condition": (
        lambda: 1 if _.time < 3 else 2,
        "'time < 3' has a truth value per row, not one",
        "write & for and, | for or, ~ for not; conditions may also stand side by side",
    ),
    "a width that is none": (
        lambda: SMOKE.mutate(w=_.time.ceil(0)).schema,
        "'ceil(time, 0)': the width is no positive stretch of time",
        "a whole number for a time, a timedelta for a timestamp",
    ),
    "a stream that stands still": (
        lambda: tsa.stream("Still", {"time": "time"}, progressing=[]),
        "stream Still progresses on no attribute",
        "name one in progressing=, or declare a static relation with tsa.static",
    ),
    "progress on a value": (
        lambda: tsa.stream("S", {"v": "int64"}, progressing="v"),
        "stream S cannot progress on 'v', which is no time but int64",
        'times are of kind "time" (whole numbers) or "timestamp"',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, message, hint = REFUSED[name]
    with pytest.raises(CatenaError) as raised:
        build()
    assert (raised.value.message, raised.value.hint) == (message, hint)


def test_what_a_query_says_is_inferred() -> None:
    fires = tsa.query(
        "Fires",
        PAIR.filter(_.a.time < _.b.time, _.b.time <= _.a.time + 60)
        .mutate(seen=_.b.time + 5)
        .select("seen", start="a.time", end="b.time"),
    ).stream
    assert fires.progressing == ("seen", "start", "end")
    assert str(fires.relations) == (
        "start < seen - 5 ∧ seen ≤ start + 65 ∧ end = seen - 5 ∧ end ≤ start + 60 ∧ start < end"
    )


def test_timestamps_are_in_seconds() -> None:
    minute = datetime.timedelta(minutes=1)
    query = tsa.query("Later", CLOCKED.mutate(then=_["at"] + 2 * minute).select("then"))
    assert str(query.propagation["then"]) == "Clocked:at + 120"
    assert str(CLOCKED.mutate(w=_["at"].ceil(minute))) == "ι[w = ceil(at, 60sec)](Clocked)"


def same_analysis(first: Relation, second: Relation) -> None:
    for name in first.schema.times:
        assert first.schema.is_progressing([name]) == second.schema.is_progressing([name])
        for other in first.schema.times:
            assert first.schema.analysis.dist(name, other) == second.schema.analysis.dist(
                name, other
            )


@settings(RELAXED, max_examples=150)
@given(st.data())
def test_joins_have_the_schema_of_what_they_stand_for(data: st.DataObject) -> None:
    """And pass on the same progress: a copy of the left side adds nothing."""
    sources = Sources(data.draw(streams()))
    left, right = sources.leaf(data.draw), sources.leaf(data.draw)
    if not times(left) or not times(right):
        return
    tie = comparisons(data.draw, times(right), times(left))
    for join in (SemiJoin(left, right, tie), AntiJoin(left, right, tie)):
        composed = join.composed()
        same_analysis(join, composed)
        for name in join.schema.times:
            if join.schema.is_progressing([name]):
                first = tsa.query("Out", join, progressing=name)
                second = tsa.query("Out", composed, progressing=name)
                assert first.propagation == second.propagation


def test_a_stream_is_what_its_definition_says() -> None:
    stream = tsa.stream(
        "W", {"a": "time", "b": "time"}, where=[_.a == _.b - 10], progressing=["a", "b"]
    )
    assert isinstance(stream, Stream)
    assert str(stream.relations) == "a = b - 10"
    assert str(stream.schema.bounds) == "bounded(a, W:a) ∨ bounded(b, W:b)"
