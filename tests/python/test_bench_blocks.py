"""The benchmarks that compare several events: stocks, smart homes, taxis, and growth with windows.

Their reference is compared with the oracle on small streams, the files with the reference and the
engine with the files on the small size. The engine's time is judged by the command alone.
"""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from functools import cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import catena
import oracle as o
import reference_blocks
import run
import streams
import workloads
from reference_blocks import COMPANIES
from workloads import FOLDER, Workload

WORKLOADS = [
    workload
    for family in reference_blocks.FAMILIES
    for workload in workloads.load_file(FOLDER / f"{family}.toml")
]
STOCK = {workload.query: workload for workload in WORKLOADS if workload.family == "stock"}


def named(*queries: str) -> list[Workload]:
    return [STOCK[query] for query in queries]


# ---------------------------------------------------------------------------------------------
# The reference and the oracle

ANY, BUY, SELL = o.AnyType(), o.Type("BUY"), o.Type("SELL")
EITHER = o.Or(BUY, SELL)


def row_is(attribute: str, op: str, value: Any) -> o.Comparison:
    return o.Comparison(o.Attribute(attribute), op, o.Literal(value))


def tick(name: str, variable: str, kind: o.Formula = ANY, **limits: Any) -> o.Formula:
    """A tick of a company; a limit is one that its value is above, or the volume that it has."""
    conditions = [row_is("name", "=", name)]
    conditions += [
        row_is(attribute, "=" if attribute == "volume" else ">", value)
        for attribute, value in limits.items()
    ]
    return o.Filter(o.As(kind, variable), o.Holds(variable, reduce(o.Both, conditions)))


def compared(formula: o.Formula, last: str, op: str, first: str, attribute: str) -> o.Formula:
    terms = (o.VariableAttribute(variable, attribute, "current") for variable in (last, first))
    left, right = terms
    return o.Filter(formula, o.Comparison(left, op, right))


def sequence(*parts: o.Formula) -> o.Formula:
    return reduce(o.Sequence, parts)


def block(middle: str, begin: int) -> o.Formula:
    """A block of seq, k, kn or not, over the companies from the given one on."""
    size = 4 if middle in ("kn", "not") else 3
    a, *between, d = (tick(COMPANIES[at], f"v{at}") for at in range(begin, begin + size))
    if middle == "not":
        absent, repeated = between
        formula = o.Sequence(o.SequenceNot(a, absent, o.Plus(repeated)), d)
    elif middle == "kn":
        formula = sequence(a, o.Plus(o.Sequence(between[0], o.Plus(between[1]))), d)
    else:
        formula = sequence(a, between[0] if middle == "seq" else o.Plus(between[0]), d)
    return compared(formula, f"v{begin + size - 1}", ">", f"v{begin}", "price")


def mixed(kind: o.Formula, **limits: float) -> o.Formula:
    a = tick("MSFT", "a", SELL, **({"price": 22} if limits else {}))
    b = tick("ORCL", "b", kind, **limits)
    c = tick("CSCO", "c", kind, **limits)
    d = tick("AMAT", "d", SELL, **({"price": 20.5} if limits else {}))
    return compared(sequence(a, b, c, d), "d", "<", "a", "price")


FORMULAS = {
    "seq3": block("seq", 0),
    "seq6": o.Sequence(block("seq", 0), block("seq", 3)),
    "k3": block("k", 0),
    "k6": o.Sequence(block("k", 0), block("k", 3)),
    "kn4": block("kn", 0),
    "kn8": o.Sequence(block("kn", 0), block("kn", 4)),
    "not4": block("not", 0),
    "q1": mixed(BUY),
    "q2": mixed(BUY, price=21),
    "q3": mixed(EITHER),
    "q4": mixed(EITHER, price=21),
    "q5": compared(
        sequence(
            tick("MSFT", "a", SELL), o.Plus(tick("QQQ", "b", EITHER, volume=4000)),
            tick("AMAT", "d", SELL),
        ),
        "d", "<", "a", "price",
    ),
    "pair2": compared(sequence(o.As(BUY, "a"), o.As(SELL, "d")), "d", "=", "a", "name"),
}  # fmt: skip
WORDS = {
    "seq": [0, 1, 1, 2],
    "k": [0, 1, 1, 2],
    "kn": [0, 1, 2, 2, 3],
    "not": [0, 2, 2, 3],
    "q": [3, 4, 5, 6],
    "pair": [0, 1, 0, 1],
}
"""Companies whose ticks, in order, make a match."""


def word_of(query: str) -> list[int]:
    word = [3, 2, 2, 6] if query == "q5" else WORDS[query.rstrip("0123456789")]
    if query not in ("seq6", "k6", "kn8"):
        return word
    once = sorted(set(word))
    return once + [at + len(once) for at in once]


@cache
def small_streams(query: str) -> list[tuple[list[dict[str, Any]], int]]:
    """Rows and a window: a word of the query drawn out, some rows replaced; few values."""
    rng, word, found = random.Random(query), word_of(query), []
    for _ in range(60):
        length = rng.choice((0, 1, 8, 10, 11, 12))
        rows = []
        for at in range(length):
            company = word[at * len(word) // length]
            if rng.random() < 0.1:
                company = rng.randrange(8)
            kind = "SELL" if company in (3, 6) else rng.choice(("BUY", "BUY", "SELL"))
            price, volume = rng.choice((20.25, 21.5, 22.5, 23.0)), rng.choice((4000, 4000, 100))
            row = {"type": kind, "name": COMPANIES[company], "price": price, "volume": volume}
            rows.append(row)
        found.append((rows, rng.choice((2, 8, 10, 12, 12))))
    return found


EMPTY = {"type": "", "name": "", "price": 0.0, "volume": 0}


def by_column(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    return {
        name: np.array([row[name] for row in rows], dtype=type(value) if value != "" else "U8")
        for name, value in EMPTY.items()
    }


@pytest.mark.parametrize("query", FORMULAS)
def test_the_reference_counts_what_the_oracle_finds(query: str) -> None:
    blocks, matched = reference_blocks.blocks_of("stock", query), 0
    for rows, window in small_streams(query):
        asked = o.Query(FORMULAS[query], strategy="ALL", window=o.Events(window))
        by_end = [len(events) for events in o.results(asked, rows)]
        expected = {"ALL": sum(by_end), "ANY": sum(count > 0 for count in by_end)}
        assert reference_blocks.totals(blocks, by_column(rows), window) == expected, (rows, window)
        matched += expected["ALL"] > 0
    assert matched > 0, "no stream has a match"


@pytest.mark.parametrize("workload", named(*FORMULAS), ids=lambda workload: workload.query)
def test_the_query_of_a_file_is_the_one_of_the_reference(workload: Workload) -> None:
    blocks = reference_blocks.blocks_of("stock", workload.query)

    @cache
    def query(strategy: str, window: int) -> catena.Query:
        text = workload.text.replace(f"WITHIN {workload.window} ", f"WITHIN {window} ")
        return catena.Query(text.replace("{strategy}", strategy))

    for rows, window in small_streams(workload.query):
        table = pa.table({name: pa.array(values) for name, values in by_column(rows).items()})
        for strategy, count in reference_blocks.totals(blocks, by_column(rows), window).items():
            assert query(strategy, window).count(table) == count, (strategy, rows, window)


# ---------------------------------------------------------------------------------------------
# The files


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_the_answers_of_a_file_are_the_references_and_the_engines(workload: Workload) -> None:
    expected = reference_blocks.answers(workload, "small")
    table = workload.stream.table(workload.sizes["small"])
    for (size, strategy), answer in workload.answers.items():
        if size == "small":
            assert answer.count == expected[strategy]
            assert catena.Query(workload.text.replace("{strategy}", strategy)).count(table) == (
                answer.count
            )


def test_the_paper_s_patterns_are_all_there() -> None:
    names = {workload.name for workload in WORKLOADS}
    for family, stream in (("stock", "market"), ("smart_home", "plugs"), ("taxi", "trips")):
        for kind, lengths in (("seq", (3, 6, 9, 12)), ("k", (3, 6, 9, 12)), ("kn", (4, 8, 12, 16))):
            assert {f"{family}.{kind}{length}.{stream}" for length in lengths} <= names
    assert {f"stock.q{number}.market" for number in range(1, 6)} <= names
    assert {f"windows.{kind}_{n}.busy" for kind in ("k3", "kn4") for n in (50, 100, 200, 400)} <= (
        names
    )


@pytest.mark.parametrize("family", reference_blocks.FAMILIES)
def test_small_is_the_beginning_of_full(family: str) -> None:
    workload = next(workload for workload in WORKLOADS if workload.family == family)
    small, longer = (workload.stream.values(workload.sizes["small"] + n) for n in (0, 5_000))
    for name, values in small.items():
        assert np.array_equal(longer[name][: len(values)], values)


# ---------------------------------------------------------------------------------------------
# The generators


def made(name: str, row_count: int = 5_000, **parameters: Any) -> dict[str, np.ndarray]:
    columns = streams.columns(streams.generator(name, parameters), 1, row_count)
    return {
        name: column.values() if isinstance(column, streams.Words) else column
        for name, column in columns.items()
    }


def test_stock_ticks() -> None:
    rows = made("stock_ticks", companies=["X", "Y"], weights=[3, 1], low=1000, spread=200)
    assert {"BUY", "SELL"} == set(rows["type"])
    assert 0.2 < np.mean(rows["name"] == "Y") < 0.3
    assert rows["price"].min() >= 10 and rows["price"].max() <= 12
    moves = np.abs(np.diff(rows["price"][rows["name"] == "X"]))
    assert 0 < moves.max() < 0.505, "a price wanders"
    assert set(rows["volume"]) == set(range(100, 5_100, 100))


def test_plug_loads() -> None:
    rows = made("plug_loads", plugs=3, households=2)
    assert set(rows["plug"]) == {0, 1, 2} and set(rows["household"]) == {0, 1}
    assert 0.2 < np.mean(rows["value"] == 0) < 0.3
    assert rows["value"].min() >= 0 and rows["value"].max() <= 2_000


def test_taxi_trips() -> None:
    rows = made("taxi_trips", zones=["N", "S"], weights=[1, 1])
    assert set(rows["pickup"]) == set(rows["dropoff"]) == {"N", "S"}
    assert np.all(rows["fare"] >= 3 + 2.5 * rows["distance"] - 1e-9)
    assert np.all(rows["fare"] <= 8 + 2.5 * rows["distance"] + 1e-9)


def test_a_stream_may_have_no_rows() -> None:
    rows = made("taxi_trips", row_count=0, zones=["N"], weights=[1])
    assert {len(values) for values in rows.values()} == {0}


# ---------------------------------------------------------------------------------------------
# The command


def outcome(workload: Workload, steps: int, valuations: float) -> run.Outcome:
    zeros = {field.name: 0 for field in dataclasses.fields(run.Measurement)}
    given = zeros | {"rows": 10, "update_seconds": 1e-6, "found": None}
    given |= {"operations": steps, "valuations": valuations}
    entry = run.Entry(workload, "ALL", "full", workload.answers["full", "ALL"])
    return run.Outcome(entry, run.Measurement(**given), "")


@pytest.mark.parametrize(
    ("steps", "most", "kept"),
    [((100, 400, 1_600, 4_000), 200, True), ((100, 400, 1_600, 4_900), 200, False),
     ((100, 400, 1_600, 8_010), 401, False)],
)  # fmt: skip
def test_work_may_grow_as_the_window_does(steps, most: float, kept: bool) -> None:
    of_k3 = [workload for workload in WORKLOADS if workload.series == "k3"]
    figures = zip(of_k3, steps, (5.0, 20.0, 80.0, most), strict=True)
    [(text, judged)] = run.growth([outcome(*one) for one in figures])
    assert judged is kept
    assert text.startswith("windows.k3.busy ALL: ns per row by window: 100 in 50, 100 in 100, ")
    assert f"; valuations 5, 20, 80, {most}; steps per row and valuation 2.00, 2.00, " in text
    assert text.endswith(f"{steps[-1] / most / 20:.2f} times, at most 1.2")


def test_the_command_prints_the_time_per_row_by_window() -> None:
    command = [sys.executable, FOLDER.parent / "run.py", "--rows", "small", "kn4"]
    done = subprocess.run([*command, "--workloads", FOLDER], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "windows.kn4_400.busy ALL" in done.stdout
    assert "windows.kn4.busy ALL: ns per row by window: " in done.stdout
    assert "steps per row and valuation " in done.stdout
