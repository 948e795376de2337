"""Conditions over several events through the engine, against the oracle, by every path."""

from __future__ import annotations

import random
import re

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from paths import PATHS, check, run
from test_semantics import COMMON

import catena
import oracle as o
from generators import (
    CORRELATED,
    QUERY,
    SELECTED,
    TERMS,
    TIMED,
    UNARY,
    Features,
    correlated_up_to,
    queries,
    rows,
    valued_streams,
)
from worked_examples import EXAMPLES

REFUSED = ("not supported yet", "can never match", "there is never an event before")


def is_refused(error: catena.CatenaError) -> bool:
    """Whether the engine says that it does not evaluate such a query, or that it is pointless."""
    return any(words in str(error) for words in REFUSED)


def compare(asked: o.Query, events: list[dict], paths=PATHS, **columns) -> None:
    """By every path, unless the engine says that it does not evaluate such a query."""
    try:
        check(asked, events, paths=paths, **columns)
    except o.OverBudget:
        assume(False)
    except catena.CatenaLimitError:
        assume(False)
    except catena.CatenaError as error:
        assume(not is_refused(error))
        raise


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_worked_examples(example) -> None:
    """In a window of all rows where one is asked for."""
    try:
        check(o.Query(example.formula), example.rows())
    except catena.CatenaError as error:
        if "no window bounds it" in str(error):
            window = o.Events(len(example.rows()))
            return check(o.Query(example.formula, window=window), example.rows())
        if not is_refused(error):
            raise
        pytest.skip(f"conditions inside strategies: {error}")


def compare_exhaustively(size: int, features: Features, length: int, every: int, seed: int) -> int:
    rng = random.Random(seed)
    streams = [list(stream) for stream in valued_streams(length)]
    compared = 0
    for formula in correlated_up_to(size, features):
        for stream in streams:
            if rng.randrange(every):
                continue
            try:
                check(o.Query(formula), stream, paths=[run])
            except catena.CatenaError as error:
                if not is_refused(error):
                    raise
                continue
            compared += 1
    return compared


SMALL: Features = frozenset({"as", "filter", "or", ";", ":", "+", "project"}) | CORRELATED
FEW: Features = frozenset({"filter", ";", "+"}) | CORRELATED


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(3, UNARY | CORRELATED, length=3, every=10, seed=1) > 200
    assert compare_exhaustively(4, SMALL, length=4, every=500, seed=2) > 200
    assert compare_exhaustively(5, FEW, length=4, every=1_500, seed=3) > 200


@pytest.mark.slow
def test_more_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(3, UNARY | CORRELATED, length=3, every=1, seed=4) > 3_000
    assert compare_exhaustively(4, SMALL, length=4, every=50, seed=5) > 3_000
    assert compare_exhaustively(5, FEW, length=4, every=100, seed=6) > 3_000


EVERYTHING = UNARY | TERMS | TIMED | CORRELATED | QUERY | SELECTED


def is_correlated(query: o.Query) -> bool:
    return bool(o.term_variables(query.formula))


@settings(max_examples=120, **COMMON)
@given(queries(UNARY | TERMS | CORRELATED, max_depth=4).filter(is_correlated), rows(max_size=7))
def test_random_formulas(asked: o.Query, events: list[dict]) -> None:
    compare(asked, events)


@settings(max_examples=120, **COMMON)
@given(queries(EVERYTHING, max_depth=3).filter(is_correlated), rows(max_size=7))
def test_random_queries(asked: o.Query, events: list[dict]) -> None:
    compare(asked, events, time="ts")


@pytest.mark.slow
@settings(max_examples=400, **COMMON)
@given(queries(EVERYTHING, max_depth=4).filter(is_correlated), rows(max_size=9))
def test_many_random_queries(asked: o.Query, events: list[dict]) -> None:
    compare(asked, events, time="ts")


# ---------------------------------------------------------------------------------------------
# Never the number of runs


def test_an_iteration_between_costs_nothing_more() -> None:
    """2^200 runs share a bundle for each p of an A: counted exactly, enumerated from the first."""
    query = catena.Query("SELECT * WHERE (A AS x ; (B AS y)+ ; C AS z) FILTER z.p > x.p")
    types = ["A", "A", "A", *["B"] * 200, "C", "C"]
    p = [1, 5, 9, *[0] * 200, 6, 10]
    events = {"type": types, "p": p}
    assert query.count(events) == (2**200 - 1) * (2 + 3)
    seen = set()
    for match, _ in zip(query.run(events), range(1000), strict=False):
        assert p[match.end] > p[match.start] and set(match["y"]) <= set(range(3, 203))
        seen.add((match.start, match.end, match["y"]))
    assert len(seen) == 1000


def operations(query: catena.Query, events: dict) -> int:
    stream = query.stream()
    stream.push(events)
    return stream._engine.stats()["operations"]


def test_steps_per_row_follow_the_distinct_values() -> None:
    query = catena.Query("SELECT * WHERE (A AS x ; (B AS y)+ ; C AS z) FILTER z.p > x.p")

    def steps(a_count: int, values: int) -> float:
        types = [*["A"] * a_count, *["B"] * 1000]
        p = [i % values for i in range(a_count)] + [0] * 1000
        return operations(query, {"type": types, "p": p})

    assert steps(1000, 10) < 1.5 * steps(100, 10)


@pytest.mark.parametrize(
    ("condition", "live"),
    [("y.id = x.id AND y.w > 0", "hash"), ("y.id < x.id", "order"), ("x.id + 1 <= y.id", "order")],
)
def test_a_row_touches_what_it_matches(condition: str, live: str) -> None:
    """Ten thousand live values, rows that match one of them or none."""
    query = catena.Query(f"SELECT x, y WHERE A AS x ; (B AS y FILTER {condition}) ; C")
    assert f"indexed {'by hash' if live == 'hash' else 'in order'}" in query.explain()
    count = 10_000
    first = {"type": ["A"] * count, "id": list(range(count)), "w": [1] * count}
    value = {"y.id < x.id": count - 2, "x.id + 1 <= y.id": 1}.get(condition, 7)
    rows_b = {"type": ["B"] * 100, "id": [value] * 100, "w": [1] * 100}
    none = {**rows_b, "id": [-1 if "<=" in condition or live == "hash" else count] * 100}
    stream = query.stream()
    stream.push(first)
    stream.push({name: values[:1] for name, values in rows_b.items()})
    before = stream._engine.stats()["operations"]
    stream.push(rows_b)
    touching = stream._engine.stats()["operations"] - before
    assert touching < 100 * 60, "a row costs what it matches"
    stream.push(none)
    assert stream._engine.stats()["operations"] - before - touching < 100 * 20
    ends = stream.push({"type": ["C"], "id": [0], "w": [0]})
    assert ends.count() == 101


# ---------------------------------------------------------------------------------------------
# Every type of column


def column_pairs() -> list[tuple[str, list, object, object]]:
    """A type, rising values of it, and one of them twice."""
    return [
        ("int8", [-3, 0, 5], 0, 5),
        ("uint64", [0, 2**63, 2**64 - 1], 2**63, 2**64 - 1),
        ("int64", [-(2**63), 2**53 + 1, 2**63 - 1], 2**53 + 1, 2**53 + 2),
        ("float32", [-1.5, 0.0, 2.5], 0.0, 2.5),
        ("float64", [-1.5, 0.0, float("inf")], -0.0, float("nan")),
        ("string", ["", "é", "𝄞"], "é", "𝄞"),
        ("large_string", ["a", "ab", "b"], "ab", "b"),
        ("bool", [False, True, True], True, False),
        ("date32", [1, 2, 3], 2, 3),
        ("timestamp[ms]", [1, 2, 3], 2, 3),
        ("duration[s]", [1, 2, 3], 2, 3),
    ]


def arrow_type(name: str) -> pa.DataType:
    special = {"timestamp[ms]": pa.timestamp("ms"), "duration[s]": pa.duration("s")}
    return special.get(name) or getattr(pa, {"bool": "bool_"}.get(name, name))()


def array_of(name: str, values: list) -> pa.Array:
    if name.startswith(("date", "timestamp", "duration")):
        width = pa.int32() if name == "date32" else pa.int64()
        return pa.array(values, width).cast(arrow_type(name))
    return pa.array(values, arrow_type(name))


@pytest.mark.parametrize(("name", "values", "same", "other"), column_pairs())
def test_values_of_every_type(name: str, values: list, same: object, other: object) -> None:
    low, middle, high = values
    k = array_of(name, [low, middle, high, None, same, other, None])
    events = pa.table({"type": ["A"] * 4 + ["B"] * 3, "k": k, "w": [1] * 7})

    def pairs(op: str) -> set[tuple[int, int]]:
        query = catena.Query(f"SELECT * WHERE (A AS x ; B AS y : ANY) FILTER y.k {op} x.k")
        padded = pa.concat_tables(
            [events.slice(i, 1) if i < 4 else pa.concat_tables([events.slice(i, 1)] * 2)
             for i in range(7)]
        )  # fmt: skip
        found = {(m["x"][0], m["y"][0]) for m in query.run(padded)}
        blob = query.stream()
        blob.push(padded.slice(0, 4))
        restored = query.restore(blob.snapshot())
        again = {(m["x"][0], m["y"][0]) for m in restored.push(padded.slice(4))}
        assert found == again
        return found

    equal = {(x, y) for x, y in pairs("=") if y == 4}
    assert equal == {(i, 4) for i, v in enumerate(values) if v == same}
    assert not {pair for pair in pairs("=") | pairs("!=") if 3 in pair}
    if name != "bool":
        expected = {(i, 4) for i, v in enumerate(values) if v < same}
        assert {(x, y) for x, y in pairs(">") if y == 4} == expected
        assert {(x, y) for x, y in pairs(">=") if y == 4} == expected | equal


def test_strings_compare_across_batches_layouts_and_by_code_points() -> None:
    query = catena.Query("SELECT * WHERE A AS x ; (B AS y FILTER y.s = x.s) ; C")
    stream = query.stream()
    stream.push(pa.table({"type": ["A"], "s": pa.array(["é"]).dictionary_encode()}))
    stream.push(pa.table({"type": ["B"], "s": pa.array(["é"], pa.large_string())}))
    stream.push({"type": "B", "s": "e"})
    assert [m["y"] for m in stream.push({"type": "C", "s": None})] == [(1,)]


def test_types_that_change_between_batches() -> None:
    query = catena.Query("SELECT x, y WHERE A AS x ; (B AS y FILTER y.v > x.v) ; C")
    stream = query.stream()
    for row in (
        {"type": "A", "v": None},
        {"type": "A", "v": 1},
        {"type": "A", "v": 1.5},
        {"type": "B", "v": 2},
        {"type": "B", "v": None},
        {"type": "B", "v": 1.25},
    ):
        stream.push(row)
    found = {(m["x"][0], m["y"][0]) for m in stream.push({"type": "C", "v": 0})}
    assert found == {(1, 3), (2, 3), (1, 5)}
    with pytest.raises(catena.CatenaError, match="was a number in earlier rows and is a string"):
        stream.push({"type": "B", "v": "two"})


def test_sums_are_exact_and_null_past_64_bits() -> None:
    query = catena.Query("SELECT * WHERE (A AS x)+ ; (B FILTER sum(x.v) > 0)")
    big = 2**63 - 1
    events = {"type": ["A", "A", "A", "B"], "v": [big, big, -big, 0]}
    sums = {m["x"] for m in query.run(events)}
    assert sums == {(0,), (1,), (0, 1, 2)}


def test_endless_strings_stay_bounded() -> None:
    query = catena.Query("SELECT * WHERE A AS x ; (B AS y FILTER y.s > x.s) ; C WITHIN 5 EVENTS")
    stream = query.stream()
    sizes = []
    for step in range(6):
        names = [f"{step}-{i:06}" * 4 for i in range(20_000)]
        stream.push({"type": ["A", "B"] * 10_000, "s": names})
        sizes.append(stream._engine.stats()["part_bytes"])
    assert sizes[-1] < 2 * sizes[1]


def test_a_limit_on_live_valuations() -> None:
    query = catena.Query(
        "SELECT * WHERE A AS x ; (B AS y FILTER y.v > x.v) ; C",
        limits=catena.Limits(valuation_count_max=100),
    )
    with pytest.raises(catena.CatenaLimitError, match="more than 100 different valuations"):
        query.run({"type": ["A"] * 200, "v": list(range(200))}).count()


# ---------------------------------------------------------------------------------------------
# Key equalities


F = {
    "type": list("HTHHTTTHH"),
    "id": [2, 0, 0, 1, 1, 0, 1, 1, 0],
    "value": [25, 45, 20, 25, 40, 42, 25, 70, 18],
}
SAME_ID = (
    "(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) "
    "FILTER x[value < 30] AND z[value > 60] AND x.id = z.id"
)


@pytest.mark.parametrize("strategy", ["ALL", "ANY", "NEXT", "LAST", "MAX"])
def test_one_id_under_all_strategies(strategy: str) -> None:
    query = catena.Query(f"SELECT {strategy} * WHERE {SAME_ID}")
    assert "id: all events of a match are equal in it" in query.explain()
    assert "constant (unary conditions and key equalities)" in query.explain()
    found = sorted(sorted({*m["x"], *m["y"], *m["z"]}) for m in query.run(F))
    every = [[3, 4, 6, 7], [3, 4, 7], [3, 6, 7]]
    if strategy == "ANY":
        assert len(found) == 1 and found[0] in every
    else:
        assert found == (every if strategy == "ALL" else [[3, 4, 6, 7]])


def test_strict_looks_at_all_rows() -> None:
    query = catena.Query(f"SELECT STRICT * WHERE {SAME_ID}")
    assert "partition     none" in query.explain() and list(query.run(F)) == []


TIED = [
    "(A AS x ; B AS y) FILTER x.{k} = y.{k}",
    "(A AS x ; B AS y ; C AS z) FILTER x.{k} = y.{k} AND y.{k} = z.{k}",
    "(A AS x ; B AS y ; C AS z) FILTER x.{k} = z.{k} AND y.{k} = z.{k} AND x.v < z.v",
    "A AS x ; (B AS y FILTER y.{k} = x.{k} AND y.{k} = prev(y).{k})+",
    "(A AS x ; (B AS y)+ ; C AS z) FILTER x.{k} = z.{k}",
    "A AS x ; (B AS y FILTER y.{k} = last(x).{k})+",
    "(A AS x FILTER x.{k} = prev(x).{k})+",
    "(A AS x : B AS y) FILTER x.{k} = y.{k}",
    "((A AS x OR B AS x) ; C AS y) FILTER x.{k} = y.{k}",
    "A AS x -> (B AS y FILTER y.{k} = x.{k})",
    "A AS x ; NOT (B AS y FILTER y.{k} = x.{k} AND y.v > x.v) ; (C AS z FILTER z.{k} = x.{k})",
    "A AS x ; NOT ((B FILTER B.{k} = x.{k}) OR (C FILTER C.{k} = x.{k} AND C.v = x.v)) ; "
    "(C AS z FILTER z.{k} = x.{k})",
    "((A AS x ; C AS z) FILTER z.{k} = x.{k}) UNLESS (B FILTER B.{k} = x.{k})",
    "(A AS x ; (B AS y FILTER y.{k} = x.{k} AND y.{k} = prev(y).{k})+) "
    "UNLESS (C FILTER C.{k} = x.{k} AND C.v > first(x).v)",
]


@pytest.mark.parametrize("formula", TIED)
@pytest.mark.parametrize("key", ["id", "f", "s"])
def test_partitions_by_keys_change_nothing(formula: str, key: str) -> None:
    """With nulls and NaN in the key, against the oracle, with windows, strategies and CONSUME."""
    rng = random.Random(formula + key)
    parsed = formula.format(k=key)
    values = {"id": [0, 1, None], "f": [0.5, -0.0, 0.0, float("nan"), None], "s": ["a", "b", None]}
    clauses = ["", "WITHIN 3", "WITHIN 4 EVENTS", "CONSUME BY ANY", "CONSUME BY PARTITION"]
    for clause in clauses:
        plain = catena.Query(f"SELECT * WHERE {parsed} {clause}", time="ts")
        apart = catena.Query(f"SELECT * WHERE {as_inequalities(parsed)} {clause}", time="ts")
        assert not apart.plan.ties
        for _ in range(4):
            events = [
                {"type": rng.choice("ABC"), key: rng.choice(values[key]), "v": rng.randrange(3),
                 "ts": ts}
                for ts in range(10)
            ]  # fmt: skip
            found = [run(query, events, rng) for query in (plain, apart)]
            assert list(map(set, found[0])) == list(map(set, found[1])), (clause, events)


TERM = r"(\w+(?:\(\w+\))?\.\w+)"


def as_inequalities(formula: str) -> str:
    """The same in a form that is not taken for key equalities: x.k <= y.k AND x.k >= y.k."""
    return re.sub(f"{TERM} = {TERM}", r"\1 <= \2 AND \1 >= \2", formula)
