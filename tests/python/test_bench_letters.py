"""The benchmarks over letters: long windows, consumption, parts, selective rows, texts, events.

What their references add to the one of test_bench.py is compared with the oracle on small streams,
the files with the references, and the engine with the files, all on the small size.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import catena
import measure
import reference
import reference_letters
import reference_long
import streams
import workloads
from bench_streams import answers_of_the_oracle, small_streams
from reference_letters import CONFIGURATIONS_MAX, FAMILIES, LONG
from workloads import DISTANCES, FOLDER, RESIDUE_OF, Answer, Stream, Workload, WorkloadError

QUERIES = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
WORKLOADS = [
    workload for family in FAMILIES for workload in workloads.load_file(FOLDER / f"{family}.toml")
]


def named(*names: str) -> list[Workload]:
    return [workload for workload in WORKLOADS if workload.name in names]


# ---------------------------------------------------------------------------------------------
# The references and the oracle


@pytest.mark.parametrize("query", QUERIES)
def test_consumption_counts_what_the_oracle_finds(query: str) -> None:
    rng, matched = random.Random(query), 0
    for types, window in small_streams(query)[::2]:
        # Two streams in one, so that a second match is consumed or not.
        types = types + rng.choices("ABCD", k=3)
        expected = answers_of_the_oracle(query, types, window, consume="ANY")
        array = np.array(types, dtype="U1")
        lows = reference_letters.consumed(query, array, window)
        assert reference.answers(query, array, window, lows) == expected, (types, window)
        matched += bool(lows.max(initial=0))
    assert matched > 5, "hardly anything is consumed"


@pytest.mark.parametrize("query", ("Q1", "Q5"))
def test_parts_count_what_the_oracle_finds(query: str) -> None:
    matched = 0
    for types, window in small_streams(query):
        keys = [row % 2 for row in range(len(types))]
        expected = answers_of_the_oracle(query, types, window, keys=keys)
        order, lows = reference_letters.in_parts(np.array(keys, dtype=np.int64))
        array = np.array(types, dtype="U1")[order]
        for column in ("ALL", "ANY"):
            found = reference.answers(query, array, window, lows, (column,))
            assert found[column] == expected[column], (types, window)
        matched += expected["ALL"] > 0
    assert matched > 5


@pytest.mark.parametrize("query", QUERIES)
def test_long_windows_count_what_short_ones_do(query: str) -> None:
    types = np.random.default_rng(1).choice(list("ABCDE"), 60)
    for strategy in reference.MACHINES:
        for pointing in (False, strategy in ("NEXT", "LAST")):
            for window in (1, 7, 60):
                asked = query, types, window, strategy, pointing
                by_end = reference_long.by_end(*asked).tolist()
                assert by_end == [count % RESIDUE_OF for count in reference.by_end(*asked)], asked


# ---------------------------------------------------------------------------------------------
# The files


QUICK_LONG = ("long.Q1.uniform", "long.Q4.uniform", "selective.Q1v_10000.one_in_100")


def is_quick(workload: Workload, column: str) -> bool:
    """Whether an answer is found in much less than a second."""
    if workload.family == "partitions":
        return workload.stream.name == "hundred_thousand"
    if workload.window <= LONG:
        return True
    return workload.family == "consume" or (workload.name in QUICK_LONG and column == "ALL")


def is_feasible(workload: Workload, column: str) -> bool:
    """Whether the machine that counts is small enough: that of Q2 under NEXT takes 15 seconds."""
    if workload.window <= LONG or column == "ANY":
        return True
    strategy, _, pointing = column.partition(".")
    query = workload.query[:2]
    return reference.tabulate(query, strategy, bool(pointing)).size <= CONFIGURATIONS_MAX


def of_the_reference(workload: Workload, column: str) -> str:
    rows = workload.stream.values(workload.sizes["small"])
    query, types = reference_letters.letters_of(workload, rows)
    if workload.window > LONG:
        return reference_letters.in_long(query, types, workload.window, column, "small")
    return reference_letters.answers(workload, "small")[column]


def in_the_file(answer: Answer, column: str) -> str:
    if column.endswith(DISTANCES):
        return str(answer.distances)
    return f"{workloads.RESIDUE if answer.is_residue else ''}{answer.count}"


def compare_with_the_reference(workload: Workload, *, quick: bool) -> None:
    columns = [
        column
        for column in FAMILIES[workload.family]
        if is_quick(workload, column) == quick and is_feasible(workload, column)
    ]
    if not columns:
        return
    if workload.window <= LONG or workload.family == "consume":
        found = reference_letters.answers(workload, "small")
    else:
        found = {column: of_the_reference(workload, column) for column in columns}
    for column in columns:
        answer = workload.answers.get(("small", column.removesuffix(DISTANCES)))
        assert answer is not None
        assert in_the_file(answer, column) == found[column], column


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_the_answers_of_a_file_are_those_of_the_reference(workload: Workload) -> None:
    compare_with_the_reference(workload, quick=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "workload",
    [w for w in WORKLOADS if w.window > LONG or w.family == "partitions"],
    ids=lambda workload: workload.name,
)
def test_the_answers_in_long_windows_are_those_of_the_reference(workload: Workload) -> None:
    compare_with_the_reference(workload, quick=False)


def asked_of_the_engine() -> list[tuple[Workload, str]]:
    """What takes the engine no longer than a moment: not MAX of iterations in long windows."""
    return [
        (workload, strategy)
        for workload in WORKLOADS
        for size, strategy in workload.answers
        if size == "small"
        and not (strategy == "MAX" and workload.window > LONG and workload.family == "long")
        and not (strategy == "ALL" and workload.window > LONG and workload.query[:2] > "Q3")
        and not (strategy == "ANY" and workload.family in ("selective", "partitions"))
        and not (workload.family == "partitions" and workload.query != "Q1")
    ]


def test_the_engine_counts_what_the_files_say() -> None:
    for workload, strategy in asked_of_the_engine():
        table = workload.stream.table(workload.sizes["small"])
        query = measure.query_of(workload, strategy)
        expected = workload.answers["small", strategy]
        found = Answer(query.count(table), expected.distances)
        assert not expected.difference(found), (workload.name, strategy)


def test_all_that_should_be_measured_is_there() -> None:
    answers = {
        (workload.family, workload.query, workload.stream.name, strategy)
        for workload in WORKLOADS
        for _, strategy in workload.answers
    }
    for query in QUERIES:
        for strategy in ("ALL", "NEXT", "LAST", "MAX"):
            assert ("long", query, "uniform", strategy) in answers
            for window in (100, 10_000):
                assert ("consume", f"{query}_{window}", "uniform", strategy) in answers
        for stream in ("one_in_10000", "one_in_100", "one_in_2"):
            assert ("selective", f"{query}_100", stream, "ALL") in answers
    for query, family in (("Q1", "stress_q1"), ("Q2", "stress_q2")):
        for rows in range(200, 2_001, 200):
            assert (family, query, f"rows_{rows}", "ALL") in answers
    assert ("strings", "like", "plain", "ALL") in answers
    assert ("strings", "like", "dictionary", "ALL") in answers
    assert ("partitions", "Q1", "hundred_thousand", "ALL") in answers
    assert next(workload for workload in WORKLOADS if workload.family == "events").feed == "events"


def test_in_the_stress_test_only_the_last_row_ends_matches() -> None:
    for workload in named("stress_q1.Q1.rows_2000", "stress_q2.Q2.rows_2000"):
        table = workload.stream.table(2_000)
        query = measure.query_of(workload, "ALL")
        assert query.count(table.slice(0, 1_999)) == 0
        stream = query.stream()
        stream.push(table.slice(0, 1_999))
        assert stream.push(table.slice(1_999)).count() == workload.answers["full", "ALL"].count


# ---------------------------------------------------------------------------------------------
# Answers, streams, data files


def test_a_remainder_is_compared_as_one() -> None:
    expected = Answer(5, is_residue=True)
    assert not expected.difference(Answer(5 + 3 * RESIDUE_OF))
    assert "6 matches, but there are 5" in expected.difference(Answer(6))
    assert Answer(5).difference(Answer(5 + RESIDUE_OF))
    assert "lie 2 before" in Answer(5, 1).difference(Answer(5, 2))


def test_keyed_rows_take_turns_across_parts_of_a_stream() -> None:
    made = streams.columns(
        streams.generator("keyed_rows", {"keys": 7, "types": ["A"], "weights": [1]}), 1, 10_000
    )
    assert np.array_equal(made["id"], np.arange(10_000) % 7)


def test_relevant_rows_say_the_same_by_type_and_by_value() -> None:
    given = {"relevant": 1, "among": 4}
    made = streams.columns(streams.generator("relevant_rows", given), 1, 20_000)
    types, values = made["type"], made["value"]
    assert isinstance(types, streams.Words) and isinstance(values, np.ndarray)
    assert np.array_equal(np.minimum(values // 10, 4), types.codes)
    assert 0.23 < np.mean(types.codes < 4) < 0.27
    assert set(types.codes) == set(range(5))


def test_plain_columns_are_no_dictionaries() -> None:
    [dictionary, plain] = [w.stream.table(100) for w in WORKLOADS if w.query == "like"]
    assert pa.types.is_dictionary(dictionary["name"].type)
    assert plain["name"].type == pa.string()
    assert dictionary["name"].to_pylist() == plain["name"].to_pylist()


CSV = "event_type,name,volume,price,other\n" + "\n".join(
    f"{'SELL' if at % 3 else 'BUY'},{'XYZ'[at % 3]},{at},{at / 4},0" for at in range(30)
)


def data_stream(path: Path | None, **columns: str) -> Stream:
    given = {"type": "event_type", "name": "name", "volume": "volume"} | columns
    return Stream("ticks", "csv", {"columns": given}, 0, {20: 1}, file=path)


def test_a_data_file_becomes_columns(tmp_path: Path) -> None:
    path = tmp_path / "ticks.csv"
    path.write_text(CSV)
    values = data_stream(path).values(10)
    assert values["name"].tolist() == list("XYZXYZXYZX")
    assert values["volume"].tolist() == list(range(10))
    table = data_stream(path).table(10)
    assert pa.types.is_dictionary(table["type"].type)
    assert catena.Query("SELECT * WHERE BUY ; SELL").count(table) == 6 + 4 + 2


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (20, {}, "20 rows have checksum"),
        (31, {}, "has 30 rows, 31 are needed"),
        (10, {"name": "company"}, "has no column company"),
    ],
)
def test_another_data_file_is_refused(
    tmp_path: Path, rows: int, columns: dict[str, str], message: str
) -> None:
    path = tmp_path / "ticks.csv"
    path.write_text(CSV)
    with pytest.raises(WorkloadError, match=message):
        data_stream(path, **columns).columns(rows)


def test_a_data_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="none"):
        data_stream(tmp_path / "none.csv").columns(10)
    assert not data_stream(None).is_at_hand
    with pytest.raises(WorkloadError, match="the data file is not given"):
        data_stream(None).columns(10)
