"""Runs: what may be pushed, late rows, duplicates, patterns, recursion, buffers, all cuts."""

from __future__ import annotations

import datetime
import itertools
import json
import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from list_engine import ListEngine
from tsa_checks import as_set, check_increments, passed
from tsa_examples import FIRE_END, FIRE_START, SMOKE, Rows, frames
from tsa_generators import Push

import catena
from catena import tsa
from catena.errors import CatenaDataError, CatenaError, CatenaLimitError
from catena.tsa import _
from catena.tsa.on_duckdb import CUT_ROWS_MIN
from oracle import tsa as oracle

A = tsa.stream("A", {"t": "time", "v": "int64"}, progressing="t")
B = tsa.stream("B", {"t": "time", "v": "int64"}, progressing="t")
SHIFTED = tsa.query("Out", A.mutate(u=_.t + 1).select("u", "v"))


def out(run: tsa.Run[Any], *args: Any, **more: Any) -> Rows:
    return run.push(*args, **more)["Out"].to_pylist()


@pytest.mark.parametrize(
    "rows",
    [
        [{"t": 1, "v": 2}, {"v": 3, "t": 2}],
        {"t": [1, 2], "v": [2, 3]},
        pa.table({"v": [2, 3], "t": [1, 2], "other": ["x", "y"]}),
        pd.DataFrame({"t": [1, 2], "v": [2, 3]}),
        pl.DataFrame({"t": [1, 2], "v": [2, 3]}),
    ],
    ids=["mappings", "columns", "arrow", "pandas", "polars"],
)
def test_rows_of_every_form(rows: Any) -> None:
    found = out(tsa.Program(SHIFTED).run(), {"A": rows}, {"A": 5})
    assert as_set(found) == as_set([{"u": 2, "v": 2}, {"u": 3, "v": 3}])


def test_equal_rows_are_one() -> None:
    count = tsa.query("Out", A.group_by("t").aggregate(n=tsa.count()))
    run = tsa.Program(count).run()
    run.push({"A": [{"t": 1, "v": 2}, {"t": 1, "v": 2}, {"t": 1, "v": 3}]})
    assert out(run, {"A": [{"t": 1, "v": 3}]}, {"A": 1}) == [{"t": 1, "n": 2}]


def test_before_leaves_the_moment_open() -> None:
    run = tsa.Program(SHIFTED).run()
    assert out(run, {"A": [{"t": 3, "v": 0}]}, {"A": tsa.before(3)}) == []
    found = out(run, {"A": [{"t": 3, "v": 1}]}, {"A": 3})
    assert as_set(found) == as_set([{"u": 4, "v": 0}, {"u": 4, "v": 1}])


def test_late_rows() -> None:
    run = tsa.Program(SHIFTED).run()
    run.push({"A": [{"t": 3, "v": 0}]}, {"A": 5})
    late = [{"t": 5, "v": 1}, {"t": 6, "v": 1}]
    with pytest.raises(CatenaDataError, match="A: 1 rows came too late: all rows with t up to 5"):
        run.push({"A": late}, {"A": 9})
    assert str(run.progress["A:t"]) == "5", "what is refused changes nothing"
    assert out(run, {"A": late}, {"A": 9}, on_late="drop") == [{"u": 7, "v": 1}]
    assert run.late_count == 1


WRONG: dict[str, tuple[Any, Any, str]] = {
    "no such stream": ({"X": []}, {}, "X is no input stream"),
    "a derived stream": ({}, {"Out": 3}, "Out is no input stream"),
    "a missing column": ({"A": {"t": [1]}}, {}, "A: .*v"),
    "a null time": ({"A": {"t": [1, None], "v": [1, 1]}}, {}, "row 1: A: the time 't' is null"),
    "another type": ({"A": {"t": ["x"], "v": [1]}}, {}, "A: 't' is of type string, not time"),
    "progress that is none": ({}, {"A": "now"}, "'now' is no progress"),
    "progress on another attribute": ({}, {"A": {"v": 3}}, "A does not progress on 'v'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_pushed(name: str) -> None:
    rows, progress, message = WRONG[name]
    with pytest.raises(CatenaDataError, match=message):
        tsa.Program(SHIFTED).run().push(rows, progress)


def test_rows_must_satisfy_the_relations_of_their_stream() -> None:
    pairs = tsa.stream(
        "P", {"a": "time", "b": "time"}, progressing="b",
        where=[_.a <= _.b, (_.b <= _.a + 5) | (_.b == _.a.ceil(10)), ~(_.a.floor(3) == _.b)],
    )  # fmt: skip
    run = tsa.Program(tsa.query("Out", pairs.prefix("p"))).run()
    run.push({"P": {"a": [1, 2, -7], "b": [3, 10, 0]}})
    for a, b in [(4, 3), (1, 8), (3, 3), (-14, 0)]:
        with pytest.raises(CatenaDataError, match="P: 1 rows do not satisfy"):
            run.push({"P": {"a": [a], "b": [b]}})


def test_static_relations_must_be_given() -> None:
    names = tsa.static("Names", {"v": "int64", "name": "string"})
    named = A.prefix("a").join(names.prefix("n"), _.a.v == _.n.v)
    program = tsa.Program(tsa.query("Out", named.select("a.t", "n.name")))
    with pytest.raises(CatenaError, match="the static relation Names has no rows"):
        program.run()
    run = program.run(static={"Names": {"v": [1, 2], "name": ["x", None]}})
    found = out(run, {"A": {"t": [1, 2, 3], "v": [1, 2, 3]}}, {"A": 9})
    assert as_set(found) == as_set([{"a.t": 1, "n.name": "x"}, {"a.t": 2, "n.name": None}])


def test_timestamps_and_nulls() -> None:
    stream = tsa.stream(
        "S", {"at": "timestamp", "seen": "datetime", "x": "float64"}, progressing="at"
    )
    minute = datetime.timedelta(minutes=1)
    query = tsa.query(
        "Out",
        stream.filter(_.seen.is_null() | (_.seen - _["at"] > minute))
        .mutate(w=_["at"].ceil(minute))
        .group_by("w")
        .aggregate(last=_.seen.max(), mean=_.x.mean()),
    )
    day = datetime.datetime(2026, 1, 2)
    rows = [
        {"at": day + minute / 2, "seen": None, "x": 1.0},
        {"at": day + minute, "seen": day + 3 * minute, "x": None},
        {"at": day + minute, "seen": day + minute, "x": 5.0},
    ]
    run = tsa.Program(query).run()
    assert out(run, {"S": rows}, {"S": day + minute * 0.9}) == []
    assert out(run, {}, {"S": (day + minute).replace(tzinfo=datetime.UTC)}) == [
        {"w": day + minute, "last": day + 3 * minute, "mean": 1.0}
    ]


def test_a_pattern_is_an_operator() -> None:
    """The maximum of a sensor between a detected start and a detected end is one expression."""
    alarms = tsa.stream(
        "Alarms", {"type": "string", "time": "time", "v": "int64"}, progressing="time"
    )
    pattern = catena.Query("SELECT a, max(b.v) AS v WHERE (A AS a ; B AS b) WITHIN 20", time="time")
    fires = tsa.match(alarms, pattern, {"v": "int64"}, name="Fires")
    assert str(fires.relations) == "start ≤ end ∧ end ≤ start + 20"
    assert str(fires.schema.bounds) == "bounded(end, Fires:end)"
    query = tsa.query(
        "Peak",
        fires.prefix("f")
        .join(SMOKE.prefix("s"), _.f.start <= _.s.time, _.s.time <= _.f.end)
        .group_by("f.start", "f.end", "f.v")
        .aggregate(peak=_.s.konz.max())
        .drop_prefix("f"),
    )
    program = tsa.Program(query)
    rows = [("A", 10, 0), ("B", 15, 7), ("C", 16, 0), ("A", 30, 1), ("B", 60, 2), ("B", 31, 3)]
    smoke = [{"time": t, "area": "x", "konz": t % 13} for t in range(0, 80, 2)]
    expected = [
        {"start": s, "end": e, "v": v, "peak": max(t % 13 for t in range(0, 80, 2) if s <= t <= e)}
        for s, e, v in [(10, 15, 7), (30, 31, 3)]
    ]
    for cuts in ([80], [14, 15, 80], list(range(0, 81, 3))):
        run, found = program.run(), []
        for first, last in itertools.pairwise([-1, *cuts]):
            new = [
                {"type": k, "time": t, "v": v} for k, t, v in reversed(rows) if first < t <= last
            ]
            seen = [row for row in smoke if first < row["time"] <= last]
            progress = {"Alarms": last, "Smoke": last}
            found += run.push({"Alarms": new, "Smoke": seen}, progress)["Peak"].to_pylist()
        assert as_set(found) == as_set(expected)
        assert run.buffered["Alarms"] <= len(rows)
    assert "keeps Smoke where time > max(Peak:start, Peak:end - 20)" in program.explain()


def test_all_at_once() -> None:
    example = frames()
    found = tsa.Program(*example.queries).evaluate(example.rows)["MaxSmoke"].to_pylist()
    assert as_set(found) == as_set(oracle.evaluate(example.queries[0].relation, example.rows))


def test_a_run_goes_on_from_what_was_saved() -> None:
    """Progress, buffers, and the open matches of a pattern; as JSON."""
    pattern = catena.Query("SELECT a WHERE A AS a ; B AS b", time="time")
    kinds = {"type": "string", "time": "time"}
    events = tsa.stream("Events", kinds, progressing="time")
    matches = tsa.match(events, pattern, name="Pairs").prefix("p")
    later = A.prefix("a").join(matches, _.p.end <= _.a.t, _.a.t <= _.p.end + 5)
    program = tsa.Program(tsa.query("Out", later, progressing="a.t"))
    engine = ListEngine()
    run = program.run(engine)
    first = {"Events": [{"type": "A", "time": 1}], "A": [{"t": 4, "v": 0}]}
    assert out(run, first, {"Events": 2, "A": tsa.before(2)}) == []
    held, saved = dict(engine.buffers), json.loads(json.dumps(run.saved()))
    again = program.run(engine)
    engine.buffers.update(held)
    again.restore(saved)
    assert again.progress == run.progress
    rest = {"Events": [{"type": "B", "time": 3}]}
    found = out(again, rest, {"Events": 9, "A": 9})
    assert found == [{"a.t": 4, "a.v": 0, "p.start": 1, "p.end": 3}]


def test_patterns_that_cannot_be_operators() -> None:
    untimed = catena.Query("SELECT a WHERE A AS a")
    with pytest.raises(CatenaError, match="needs to know its times"):
        tsa.match(FIRE_START, untimed)
    timed = catena.Query("SELECT a WHERE A AS a", time="time")
    with pytest.raises(CatenaError, match="the matches need a name"):
        tsa.match(SMOKE.filter(_.konz > 3), timed)
    with pytest.raises(CatenaError, match="start and end are its times"):
        tsa.match(SMOKE, timed, {"start": "int64"})


def test_streams_that_feed_each_other_in_turns() -> None:
    """Mutual recursion, with edges that go back as long as the cycle goes on."""
    ping = tsa.stream("Ping", {"t": "time"}, progressing="t")
    pong = tsa.stream("Pong", {"t": "time"}, progressing="t")
    queries = [
        tsa.Query(ping, A.select("t")),
        tsa.Query(ping, pong.mutate(u=_.t + 7).select(t="u")),
        tsa.Query(pong, ping.mutate(u=_.t - 4).select(t="u")),
    ]
    rows: Rows = [{"t": 10, "v": 0}, {"t": 25, "v": 0}]
    whole = oracle.fixpoint(queries, {"A": rows}, 400)
    run = tsa.Program(*queries).run(ListEngine())
    seen: dict[str, Rows] = {"Ping": [], "Pong": []}
    for end in (5, 12, 13, 30, 60):
        new = [row for row in rows if run.progress["A:t"].value < row["t"] <= end]
        for name, table in run.push({"A": new}, {"A": end}).items():
            seen[name] += table.to_pylist()
        for stream in run.program.outputs:
            assert as_set(seen[stream.name]) == passed(stream, run, whole[stream.name])
    assert len(seen["Ping"]) == len(as_set(seen["Ping"])) > 10
    run.steps_max = 50
    with pytest.raises(CatenaLimitError, match="more than 50 steps"):
        run.finish()


def all_pushes(rows: Rows, last: int) -> Any:
    """Every way to cut at times up to `last`, and every arrival that the progress allows."""
    for count in range(last + 1):
        for ends in itertools.combinations(range(last), count):
            steps = [*ends, last]
            choices = [range(next(i for i, e in enumerate(steps) if r["t"] <= e) + 1) for r in rows]
            for arrivals in itertools.product(*choices):
                yield [
                    Push(
                        {"A": [r for r, a in zip(rows, arrivals, strict=True) if a == i]},
                        {"A": {"t": tsa.Bound(end)}},
                    )
                    for i, end in enumerate(steps)
                ]


SELF = A.prefix("a").anti_join(A.prefix("b"), _.a.v == _.b.v, _.a.t < _.b.t, _.b.t <= _.a.t + 2)
EVERY_CUT = {
    "silence": SELF.mutate(u=_.a.t + 1),
    "windows": A.mutate(w=_.t.ceil(2)).group_by("w").aggregate(n=tsa.count()),
    "pairs": A.prefix("a").join(A.prefix("b"), _.a.t < _.b.t, _.b.t < _.a.t + 3),
    "either": A.select("t").union(A.mutate(u=_.t + 2).select(t="u")),
}


@pytest.mark.parametrize("name", EVERY_CUT)
def test_every_cut_and_every_order_of_arrival(name: str) -> None:
    query = tsa.query("Out", EVERY_CUT[name])
    rows = [{"t": t, "v": v} for t, v in [(0, 0), (1, 0), (1, 1), (3, 0)]]
    for pushes in all_pushes(rows, 3):
        check_increments(query, {"A": rows}, pushes, ListEngine())


def test_buffers_stay_bounded_on_duckdb() -> None:
    """Ten rows of each stream are needed; 400,000 pass."""
    query = tsa.query("Out", A.prefix("a").join(B.prefix("b"), _.a.t <= _.b.t, _.b.t <= _.a.t + 10))
    run = tsa.Program(query).run()
    most = 0
    for first in range(0, 200_000, 10_000):
        rows = {"t": list(range(first, first + 10_000)), "v": [0] * 10_000}
        run.push({"A": rows, "B": rows}, {"A": first + 9_999, "B": first + 9_999})
        most = max(most, sum(run.buffered.values()))
    assert most <= 2 * (CUT_ROWS_MIN + 11)


def test_importing_needs_no_engine() -> None:
    code = (
        "import sys, catena.tsa; "
        "print([m for m in ('ibis', 'duckdb', 'pyspark', 'sqlglot') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
    assert tsa.DuckDB.__module__ == "catena.tsa.on_duckdb"
    with pytest.raises(AttributeError):
        _ = tsa.Oracle


def test_what_must_be_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    monkeypatch.delitem(sys.modules, "catena.tsa.on_duckdb", raising=False)
    monkeypatch.delitem(sys.modules, "catena.tsa.lowering", raising=False)
    with pytest.raises(CatenaError, match="ibis is not installed") as raised:
        tsa.Program(SHIFTED).run()
    assert raised.value.hint == "pip install 'catena[tsa]'"


def test_programs_that_do_not_fit_together() -> None:
    static = tsa.static("S", {"t": "time"})
    with pytest.raises(CatenaError, match="S is static, so no query contributes to it"):
        tsa.Program(tsa.Query(static, A.select("t")))
    other = tsa.stream("A", {"t": "time"}, progressing="t")
    with pytest.raises(CatenaError, match="there are two streams named A"):
        tsa.Program(SHIFTED, tsa.query("More", other))


def test_a_program_prints_like_the_paper() -> None:
    [frame] = frames().queries
    assert str(frame).startswith("MaxSmoke ← δ[fs.time → start, fe.time → end, s.area → area](")
    assert repr(FIRE_END) == "FireEnd"
