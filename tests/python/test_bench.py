"""The benchmark suite: its reference is right, its answers are the reference's, its command judges.

The reference is compared with the oracle on small streams, the files with the reference on the
small size, and the engine with the files by the command itself.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import catena
import measure
import oracle
import reference
import reference_timed
import run as bench_run
import workloads
from bench_streams import FORMULAS, answers_of_the_oracle, small_streams
from oracle import As, Sequence, Type
from workloads import FOLDER, WorkloadError

RUN_STRATEGIES = ("ALL", "ANY", "NEXT", "LAST", "MAX", "STRICT")
"""What the command is run with here: the strategies that the engine has."""

COMMAND = FOLDER.parent / "run.py"
CEL = workloads.load_file(FOLDER / "cel.toml")
TIMED = workloads.load_file(FOLDER / "timed.toml")
ABSENCE = workloads.load_file(FOLDER / "absence.toml")


@pytest.mark.parametrize("query", FORMULAS)
def test_the_reference_counts_what_the_oracle_finds(query: str) -> None:
    matched = 0
    for types, window in small_streams(query):
        expected = answers_of_the_oracle(query, types, window)
        found = reference.answers(query, np.array(types, dtype="U1"), window)
        assert found == expected, (types, window)
        matched += expected["ALL"] > expected["ANY"]
    assert matched > 5, "hardly any stream has a choice of matches"


def test_counts_beyond_64_bits_are_exact() -> None:
    types = np.array(list("A" * 80 + "B"))
    assert reference.totals("Q4", types, 81, "ALL") == (2**80 - 1, 1)
    assert reference.totals("Q4", types, 71, "ALL") == (2**70 - 1, 1)


@pytest.mark.parametrize("workload", [*CEL[::2], *ABSENCE], ids=lambda workload: workload.query)
def test_the_query_of_a_file_is_the_one_of_the_reference(workload: workloads.Workload) -> None:
    for types, window in small_streams(workload.query):
        text = workload.text.replace("{strategy}", "ALL").replace("WITHIN 100", f"WITHIN {window}")
        query, table = catena.Query(text), pa.table({"type": pa.array(types, pa.string())})
        asked = workload.query, np.array(types, dtype="U1"), window, "ALL"
        assert query.count(table) == reference.totals(*asked)[0]
        assert measure.distances(query, table) == reference.totals(*asked, pointing=True)[0]


@pytest.mark.parametrize("workload", [*CEL, *ABSENCE], ids=lambda workload: workload.name)
def test_the_answers_of_a_file_are_those_of_the_reference(workload: workloads.Workload) -> None:
    types = workload.stream.type_names(workload.sizes["small"])
    expected = reference.answers(workload.query, types)
    for (size, strategy), answer in workload.answers.items():
        if size == "small":
            assert answer.count == expected[strategy]
            assert answer.distances == expected.get(f"{strategy}.distances")


# ---------------------------------------------------------------------------------------------
# Time bounds


A_B_C = [As(Type(kind), name) for kind, name in zip("ABC", "xyz", strict=True)]


def timed_formula(gap: int | None, window: int | None) -> oracle.Formula:
    interval = None if gap is None else oracle.Interval(0, gap)
    first, second, third = A_B_C
    formula: oracle.Formula = Sequence(Sequence(first, second, interval), third, interval)
    return formula if window is None else oracle.Within(formula, oracle.Duration(window))


@pytest.mark.parametrize(("gap", "window"), [(2, None), (None, 4), (2, 3), (3, 5), (4, 4), (5, 3)])
def test_the_reference_of_time_bounds_counts_what_the_oracle_finds(
    gap: int | None, window: int | None
) -> None:
    rng, matched = random.Random(1), 0
    for _ in range(60):
        types = rng.choices("ABC", k=rng.randrange(6, 12))
        rows = [{"type": kind, "ts": at} for at, kind in enumerate(types)]
        found = oracle.results(oracle.Query(timed_formula(gap, window)), rows, time="ts")
        counted = reference_timed.counts(np.array(types, dtype="U1"), gap, window)
        assert [len(events) for events in found] == counted.tolist(), types
        matched += any(found)
    assert matched > 10


@pytest.mark.parametrize("workload", TIMED, ids=lambda workload: workload.name)
def test_the_answers_of_time_bounds_are_those_of_the_reference(
    workload: workloads.Workload,
) -> None:
    gap, window = reference_timed.BOUNDS[workload.query]
    types = workload.stream.type_names(workload.sizes["small"])
    expected = reference_timed.answers(workload.query, types)
    for (size, strategy), answer in workload.answers.items():
        if size == "small":
            assert answer.count == expected[strategy]
    assert str(gap or window) in workload.text


# ---------------------------------------------------------------------------------------------
# Files


def changed(folder: Path, old: str, new: str) -> Path:
    """A folder with a copy of the file in which one text is another."""
    shutil.copy(FOLDER / "cel.toml", folder)
    path = folder / "cel.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    return folder


def test_small_is_the_beginning_of_full() -> None:
    for workload in CEL[:2]:
        small, full = (workload.stream.type_names(count) for count in workload.sizes.values())
        assert np.array_equal(full[: len(small)], small)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 1", "seed = 3", "have checksum"),
        ('generator = "typed_rows"', 'generator = "rows"', "no generator rows"),
        ("weights = [1, ", "weights = [", "5 types, 4 weights"),
        (
            "weights =",
            "odds =",
            "stream uniform: typed_rows: TypedRows got an unexpected .* 'odds'",
        ),
        ("{strategy}", "ALL", "text needs {strategy}"),
        ("Q6 =", "Q7 =", "Q7 over uniform: some answers are missing"),
        ("  STRICT  ", "  LATEST  ", "the head of the answers"),
        ("[sizes]", "[size]", "'sizes' is missing"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        for workload in workloads.load(changed(tmp_path, old, new)):
            workload.stream.columns(workload.sizes["small"])


# ---------------------------------------------------------------------------------------------
# The command


def run(*options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, COMMAND, "--rows", "small", *options], capture_output=True, text=True
    )


def test_the_command_measures_and_compares(tmp_path: Path) -> None:
    strategies = [word for name in RUN_STRATEGIES for word in ("--strategy", name)]
    done = run("cel.*.uniform", *strategies, "--json", tmp_path / "figures.json")
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "figures.json").read_text("utf-8"))["results"]
    assert len(results) == 6 * len(RUN_STRATEGIES)
    for result in results:
        assert result["problem"] is None
        assert result["figures"]["update_seconds"] > 0
        assert f"{result['workload']} {result['strategy']}" in done.stdout


def test_the_command_measures_time_bounds() -> None:
    done = run("timed.*_100.uniform", "timed.*_10000.uniform", "--strategy", "ANY")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"{workload.name} ANY" in done.stdout for workload in TIMED)


def test_a_ratio_that_is_too_large_fails() -> None:
    figures = {
        "window_100": measure.Measurement(
            100, 1.0, 1.0, 1.0, 1.0, 0, 0, 0, 0.0, workloads.Answer(1)
        ),
        "window_10000": measure.Measurement(
            100, 2.5, 1.0, 1.0, 1.0, 0, 0, 0, 0.0, workloads.Answer(1)
        ),
    }
    done = [
        bench_run.Outcome(
            bench_run.Entry(w, "ANY", "full", workloads.Answer(1)), figures[w.query], ""
        )
        for w in TIMED
        if w.query in figures
    ]
    [(text, is_kept)] = bench_run.ratios(done)
    assert "2.50 times the time per row of timed.window_100.uniform, at most 2.0" in text
    assert not is_kept


def test_the_command_measures_what_did_not_happen() -> None:
    done = run("absence")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"absence.N{i}.even ALL" in done.stdout for i in range(1, 5))


def test_a_wrong_count_fails_and_the_others_are_still_shown(tmp_path: Path) -> None:
    wrong, right = (workload.answers["small", "ALL"].count for workload in CEL[:2])
    folder = changed(tmp_path, f" {wrong} ", f" {wrong}0 ")
    done = run("Q1", "--strategy", "ALL", "--workloads", folder, "--markdown")
    assert done.returncode == 1
    assert f"cel.Q1.uniform ALL: WRONG: {wrong} matches, but there are {wrong}0\n" in done.stdout
    command = "python bench/run.py cel.Q1.skewed --strategy ALL --rows small"
    assert f"| `{command}` | {right} |" in done.stdout
    assert "1 of 2 answers are wrong" in done.stderr


def test_names_choose_workloads() -> None:
    def chosen(*names: str) -> list[str]:
        return [workload.name for workload in workloads.choose(CEL, names)]

    assert len(chosen()) == len(chosen("cel")) == 12
    assert chosen("Q1") == ["cel.Q1.uniform", "cel.Q1.skewed"]
    assert chosen("cel.Q6.s*", "cel.Q2.uniform") == ["cel.Q2.uniform", "cel.Q6.skewed"]
    with pytest.raises(WorkloadError, match="no workload is called Q9; there are"):
        chosen("Q9")
