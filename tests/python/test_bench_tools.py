"""What judges benchmarks: figures and noise, the gate, the comparison of files; Python's costs.

The judging is tested on made-up figures; that the gate measures what it says, and that a wrong
count fails, on few rows. No test here asserts a speed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena
import compare
import gate
import judge
import measure
import run as bench_run
import workloads
from catena import bench_report, benchmarks
from catena.cli import main as catena_main
from judge import Figure, Line, ceiling, floor
from workloads import FOLDER, Answer

BENCH = FOLDER.parent
SMALL = gate.Settings("small", rounds=1)


# ---------------------------------------------------------------------------------------------
# Judging


@pytest.mark.parametrize(
    ("line", "is_met", "fails", "verdict"),
    [
        (ceiling("ratio", "t", "", 15, Figure(14, 1)), True, False, "met"),
        (ceiling("ratio", "t", "", 15, Figure(15.5, 1)), False, False, "missed within the noise"),
        (ceiling("ratio", "t", "", 15, Figure(16.5, 1)), False, True, "MISSED"),
        (ceiling("exact", "t", "", 15, Figure(15.5, 1)), False, True, "MISSED"),
        (ceiling("absolute", "t", "", 15, Figure(99, 1)), False, False, "MISSED"),
        (floor("ratio", "t", "", 1.7, Figure(1.8, 0.1)), True, False, "met"),
        (floor("ratio", "t", "", 1.7, Figure(1.65, 0.1)), False, False, "missed within the noise"),
        (floor("ratio", "t", "", 1.7, Figure(1.5, 0.1)), False, True, "MISSED"),
        (floor("absolute", "t", "", 50, Figure(49, 0.1)), False, False, "MISSED"),
        (floor("ratio", "t", "", 2, None, reason="x"), False, True, "not measured: x"),
        (floor("absolute", "t", "", 2, None, reason="x"), False, False, "not measured: x"),
    ],
)
def test_a_line_is_judged(line: Line, is_met: bool, fails: bool, verdict: str) -> None:
    assert (line.is_met, line.fails, line.verdict) == (is_met, fails, verdict)


def test_the_noise_is_what_the_rounds_were_apart() -> None:
    assert judge.figure_of([5.0]) == Figure(5.0, 0.0)
    assert judge.figure_of([1.0, 2.0, 3.0, 4.0, 5.0]) == Figure(3.0, 1.0)
    assert judge.figure_of([3.0, 3.0, 3.0, 3.0, 99.0]) == Figure(3.0, 0.0)
    assert judge.ratio([2.0, 4.0], [1.0, 2.0]) == Figure(2.0, 0.0)
    assert judge.rate(10, [2.0, 2.0]) == Figure(5.0, 0.0)


def test_works_take_turns() -> None:
    done = []
    now = iter(range(100))

    def clock() -> float:
        return float(next(now))

    works = [lambda name=name: done.append(name) for name in "ab"]
    assert judge.rounds_of(works, 3, clock) == [[1.0] * 3, [1.0] * 3]
    assert done == list("ababab")


def test_a_short_work_is_repeated_and_its_shortest_run_counts() -> None:
    times = iter([0.0, 0.015, 1.0, 1.004, 2.0, 2.010])
    assert judge.seconds_of(lambda: None, lambda: next(times)) == pytest.approx(0.004)


# ---------------------------------------------------------------------------------------------
# The gate


TARGETS = {
    "update": 12, "selective": 8, "window": 6, "enumeration": 1, "long_results": 1, "memory": 1,
    "count": 7, "partitions": 2, "push": 1, "compile": 1, "threads": 1,
}  # fmt: skip
"""By target, how many lines it gives."""


def test_every_target_is_measured() -> None:
    assert list(gate.TARGETS) == list(TARGETS)


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "enumeration"])
def test_a_target_is_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SECONDS_MIN", 0.0)
    if name in ("update", "selective", "window", "count"):
        monkeypatch.setattr(gate, "QUERIES", ("Q1",))
    of_one_query = {"update": 2, "selective": 3, "window": 1, "count": 2}
    lines = list(gate.TARGETS[name](SMALL))
    assert len(lines) == of_one_query.get(name, TARGETS[name])
    for line in lines:
        assert line.target == name
        assert line.figure is None or line.figure.value > 0
        assert line.figure is not None or line.reason


def test_enumeration_reads_all_matches_of_the_stress_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SECONDS_MIN", 0.0)
    [line] = gate.enumeration_target(SMALL)
    assert line.figure is not None and line.figure.value > 0


def test_a_wrong_count_shuts_the_gate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judge, "SECONDS_MIN", 0.0)
    name = "stress_q2.Q2.rows_2000"
    right = gate.workloads()[name]
    answer = right.answers["small", "ALL"].count
    wrong = dataclasses.replace(right, answers={("small", "ALL"): Answer(answer + 1)})
    monkeypatch.setattr(gate, "workloads", lambda: {name: wrong})
    assert gate.main(["memory", "--rows", "small"]) == 1
    assert f"{answer} matches, but there are {answer + 1}" in capsys.readouterr().out


def made_up(line: Line) -> Any:
    def target(settings: gate.Settings) -> Iterator[Line]:
        yield line

    return target


@pytest.mark.parametrize(("value", "code"), [(3.9, 0), (4.4, 0), (4.6, 1)])
def test_the_gate_is_shut_by_a_ratio_beyond_its_noise(
    value: float, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    line = ceiling("ratio", "made up", "a ratio", 4, Figure(value, 0.5))
    monkeypatch.setattr(gate, "TARGETS", {"made_up": made_up(line)})
    path = tmp_path / "gate.json"
    assert gate.main(["--json", str(path)]) == code
    [written] = json.loads(path.read_text("utf-8"))
    assert written["figure"] == {"value": value, "noise": 0.5}
    assert written["verdict"] == line.verdict


def test_an_absolute_target_never_shuts_the_gate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = floor("absolute", "made up", "Mrows/s", 50, Figure(1.234))
    monkeypatch.setattr(gate, "TARGETS", {"made_up": made_up(line)})
    assert gate.main(["--markdown"]) == 0
    shown = capsys.readouterr().out
    assert "| Mrows/s | absolute | at least 50 | 1.23 | MISSED |" in shown
    assert "`python bench/gate.py made_up`" in shown


def test_the_gate_knows_its_targets() -> None:
    done = subprocess.run(
        [sys.executable, BENCH / "gate.py", "memory", "--rows", "small"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Q2 stress, MB of graph" in done.stdout and "met" in done.stdout
    assert "python bench/gate.py memory" in done.stdout
    with pytest.raises(SystemExit):
        gate.main(["speed"])


def test_the_bare_scan_counts_what_it_must() -> None:
    scan = gate.bare_scan()
    assert scan is not None, "the package was built with a C++ compiler"
    codes = np.random.default_rng(1).integers(0, 5, 5_000).astype(np.int8)
    wanted = 0
    for code in codes.tolist():
        wanted += code == wanted % 3
    assert scan(codes) == gate.scanned_answer(codes) == wanted // 3 > 100


# ---------------------------------------------------------------------------------------------
# Two files


FIGURES = measure.Measurement(
    rows=100, update_seconds=2.0, count_seconds=1.0, scan_seconds=0.5, graph_bytes_per_row=10.0,
    idle_bytes=0, peak_bytes=1_000_000, operations=200, valuations=2.0, found=Answer(7),
    read_count=100, read_positions=300, read_seconds=0.1,
)  # fmt: skip


def result_file(path: Path, problem: str | None = None, **changed: Any) -> str:
    figures = dataclasses.replace(FIGURES, **changed)
    result = {"workload": "w", "strategy": "ALL", "size": "full", "problem": problem}
    content = {
        "results": [result | {"figures": dataclasses.asdict(figures)}],
        "python": [{"name": "push", "seconds": figures.count_seconds, "rows": 1}],
    }
    path.write_text(json.dumps(content), "utf-8")
    return str(path)


def test_two_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = result_file(tmp_path / "before.json")
    after = result_file(tmp_path / "after.json", update_seconds=1.0, count_seconds=3.0)
    assert compare.main([before, after]) == 0
    shown = capsys.readouterr().out
    assert "| w ALL | 2 > 1 (0.50) | 4 > 2 (0.50) | 1e+03 > 1e+03 (1.00) | 1 > 3 (3.00) |" in shown
    assert "| push python | 1 > 3 (3.00) |" in shown


@pytest.mark.parametrize(("seconds", "scan", "code"), [(2.9, 0.5, 0), (3.1, 0.5, 1), (9.0, 2.0, 0)])
def test_a_time_that_grew_too_much_fails(
    tmp_path: Path, seconds: float, scan: float, code: int
) -> None:
    before = result_file(tmp_path / "before.json")
    after = result_file(tmp_path / "after.json", update_seconds=seconds, scan_seconds=scan)
    assert compare.main([before, after, "--worse", "1.5"]) == code


def test_answers_that_differ_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = result_file(tmp_path / "before.json")
    other = result_file(tmp_path / "other.json", found=Answer(8))
    wrong = result_file(tmp_path / "wrong.json", problem="8 matches, but there are 7")
    none = tmp_path / "none.json"
    none.write_text('{"results": []}', "utf-8")
    assert compare.main([before, before]) == 0
    for after, text in ((other, "the answer was"), (wrong, "8 matches, but there are 7"),
                        (str(none), "is missing from the newer file")):  # fmt: skip
        capsys.readouterr()
        assert compare.main([before, after]) == 1
        assert text in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------
# run.py


def test_what_python_costs_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "python.json"
    # pytest-benchmark measures nothing where tests share the cores.
    alone = {name: value for name, value in os.environ.items() if "PYTEST_" not in name}
    done = subprocess.run(
        [sys.executable, BENCH / "run.py", "--python", "compile", "push_one", "arrow",
         "--rows", "small", "--json", path],
        capture_output=True, text=True, env=alone,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    names = {result["name"] for result in json.loads(path.read_text("utf-8"))["python"]}
    assert names == {"compile_12_atoms", "compile_absence", "push_one_mapping", "read_arrow"}
    assert all(name in done.stdout for name in names)


def test_workloads_over_a_file_need_one() -> None:
    loaded = workloads.load_file(FOLDER / "real.toml")
    assert loaded and not any(workload.stream.is_at_hand for workload in loaded)
    assert bench_run.entries_of(loaded, ["ALL"], "small") == []
    given = workloads.load_file(FOLDER / "real.toml", data=Path("ticks.csv"))
    entries = bench_run.entries_of(given, ["ALL"], "small")
    assert len(entries) == len(loaded)
    assert entries[0].command.endswith("--rows small --data ticks.csv")


def test_long_counts_are_shown_short() -> None:
    assert bench_run.shown(10**24 - 1) == "9" * 24
    assert bench_run.shown(12_345 * 10**30) == "1.234e34"


def test_what_is_measured_beside_the_time() -> None:
    [workload] = workloads.choose(workloads.load(), ["stress_q2.Q2.rows_200"])
    figures = measure.measure(workload, "ALL", "full")
    assert figures.found == workload.answers["full", "ALL"]
    assert figures.read_count == figures.found.count
    assert figures.read_positions == 4 * figures.read_count
    assert figures.results_per_second > 0 and figures.positions_per_second > 0
    assert figures.peak_bytes >= figures.idle_bytes > 0


# ---------------------------------------------------------------------------------------------
# catena bench


def test_its_rows_are_those_of_the_suite() -> None:
    cel = workloads.load_file(FOLDER / "cel.toml")[0]
    rows = benchmarks.Rows("small")
    assert np.array_equal(np.array(list(benchmarks.TYPES))[rows.codes],
                          cel.stream.type_names(rows.count))  # fmt: skip


def test_catena_bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bench.json"
    assert catena_main(["bench", "--rows", "small", "--json", str(path)]) == 0
    shown = capsys.readouterr().out
    results = json.loads(path.read_text("utf-8"))
    assert len(results) == len(benchmarks.BENCHMARKS) > 5
    for result in results:
        assert result["is_right"] and result["found"] == result["expected"] > 0
        assert result["update_seconds"] > 0
        assert result["name"] in shown and str(result["found"]) in shown


def test_catena_bench_fails_where_a_count_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = benchmarks.Benchmark("wrong", "SELECT * WHERE A ; E WITHIN 2 EVENTS", {"small": 1})
    for module in (benchmarks, bench_report):
        monkeypatch.setattr(module, "BENCHMARKS", (wrong,))
    assert catena_main(["bench", "--rows", "small"]) == 1
    assert "WRONG: there are 1" in " ".join(capsys.readouterr().out.split())


def test_catena_bench_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    assert catena_main(["bench", "--rows", "small"]) == 2
    assert "catena[cli]" in capsys.readouterr().err


def test_the_counts_of_catena_bench_are_those_of_the_full_size() -> None:
    assert all(set(b.counts) == set(benchmarks.SIZES) for b in benchmarks.BENCHMARKS)
    full = {w.name: w.answers for w in workloads.load()}
    by_name = {b.name: b.counts["full"] for b in benchmarks.BENCHMARKS}
    assert by_name["sequence"] == full["cel.Q1.uniform"]["full", "ALL"].count
    assert by_name["iteration"] == full["cel.Q5.uniform"]["full", "ALL"].count
    assert by_name["next match"] == full["cel.Q1.uniform"]["full", "NEXT"].count
    assert by_name["absence"] == full["absence.N1.even"]["full", "ALL"].count
    assert by_name["time bounds"] == full["timed.gap_100.uniform"]["full", "ALL"].count
    assert catena.__version__
