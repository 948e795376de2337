"""The command line, typed as a new user would: real files, a real process."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from catena.cli import main

QUERY = "SELECT a, b, max(b.v) AS top WHERE A AS a ; B AS b WITHIN 10 seconds"
CSV = "ts,type,v\n2026-01-01 00:00:00,A,1\n2026-01-01 00:00:05,B,2\n2026-01-01 00:00:20,B,3\n"


def catena(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "catena"
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=60)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture
def csv(tmp_path: Path) -> str:
    path = tmp_path / "events.csv"
    path.write_text(CSV)
    return str(path)


def test_demo() -> None:
    shown = catena("demo").stdout
    assert "PARTITION BY [place]" in shown
    assert "4 matches in 240 rows." in shown
    rows = [line.split()[0:2] for line in shown.splitlines() if "lab" in line]
    assert rows == [["112", "116"], ["129", "130"], ["132", "136"], ["129", "136"]]


def test_run_shows_a_table(csv: str) -> None:
    lines = catena("run", QUERY, csv, "--time", "ts").stdout.splitlines()
    assert lines[0].split() == ["start", "end", "start_time", "end_time", "a", "b", "top"]
    assert lines[2].split() == ["0", "1", "2026-01-01", "00:00:00", "2026-01-01", "00:00:05",
                                "[0]", "[1]", "2"]  # fmt: skip
    assert len(lines) == 3


def test_run_counts(csv: str) -> None:
    assert catena("run", QUERY, csv, "--time", "ts", "--count").stdout == "1\n"


def test_the_query_may_be_in_a_file(csv: str, tmp_path: Path) -> None:
    file = tmp_path / "query.ceql"
    file.write_text(QUERY)
    assert catena("run", str(file), csv, "--time", "ts", "--count").stdout == "1\n"


def test_run_writes_csv_json_lines_and_parquet(csv: str, tmp_path: Path) -> None:
    text = catena("run", QUERY, csv, "--time", "ts", "--format", "csv").stdout
    assert text.splitlines()[1].startswith("0,1,2026-01-01 00:00:00")
    assert '"[0]","[1]",2' in text
    line = catena("run", QUERY, csv, "--time", "ts", "--format", "jsonl").stdout
    assert json.loads(line) == {
        "start": 0, "end": 1, "start_time": "2026-01-01T00:00:00",
        "end_time": "2026-01-01T00:00:05", "a": [0], "b": [1], "top": 2,
    }  # fmt: skip
    out = tmp_path / "matches.parquet"
    catena("run", QUERY, csv, "--time", "ts", "-o", str(out))
    assert pyarrow.parquet.read_table(out).to_pylist()[0]["b"] == [1]


def test_files_of_every_kind_are_one_stream(csv: str, tmp_path: Path) -> None:
    table = pyarrow.csv.read_csv(csv)
    pieces = [tmp_path / "1.parquet", tmp_path / "2.jsonl", tmp_path / "3.csv.gz"]
    pyarrow.parquet.write_table(table.slice(0, 1), pieces[0])
    pieces[1].write_text('{"ts": "2026-01-01T00:00:05", "type": "B", "v": 2}\n')
    with gzip.open(pieces[2], "wt") as file:
        file.write("ts,type,v\n2026-01-01 00:00:20,B,3\n")
    query = "SELECT a, b WHERE A AS a ; B AS b"
    shown = catena("run", query, *map(str, pieces), "--format", "jsonl").stdout
    assert [json.loads(line)["b"] for line in shown.splitlines()] == [[1], [2]]


def test_a_parquet_file_has_one_type_per_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column that is whole numbers in one file and fractions in the next."""
    (tmp_path / "ints.csv").write_text("type,v\nA,1\n")
    (tmp_path / "floats.csv").write_text("type,v\nA,1.5\n")
    files = [str(tmp_path / "ints.csv"), str(tmp_path / "floats.csv")]
    query, out = "SELECT x.v WHERE A AS x", str(tmp_path / "out.parquet")
    assert main(["run", query, *files, "-o", out]) == 2
    shown = capsys.readouterr().err
    assert "out.parquet: column 'x.v' begins as int64 and goes on as double" in shown
    assert "hint: give the input files the same types, or write .csv or .jsonl" in shown
    assert main(["run", query, *files, "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ['"start","end","x.v"', "0,0,1", "1,1,1.5"]


def test_no_matches_still_write_a_header(csv: str) -> None:
    shown = catena("run", "SELECT z WHERE Z AS z", csv, "--format", "csv").stdout
    assert shown == '"start","end","z"\n'


def test_explain() -> None:
    shown = catena("explain", QUERY, "--time", "ts").stdout
    assert "class         constant" in shown
    assert catena("explain", QUERY, "--time", "ts", "--dot").stdout.startswith("digraph")


BAD = {
    "a query with a mistake": (["run", "SELECT * WHERE A ;", "{csv}"], "line 1, column 19"),
    "an unknown variable": (["run", "SELECT z WHERE A AS x", "{csv}"], "there is no variable z"),
    "an unknown column": (["run", "SELECT * WHERE A FILTER A[w > 1]", "{csv}"], "no column 'w'"),
    "a file that is not there": (["run", "SELECT * WHERE A", "none.csv"], "none.csv: there is no"),
    "a kind of file nobody knows": (["run", "SELECT * WHERE A", "a.xyz"], "cannot be read"),
    "a query file that is not there": (["run", "query.ceql", "{csv}"], "no file query.ceql"),
    "an empty file": (["run", "SELECT * WHERE A", "{empty}"], "the file is empty"),
    "a file that is not what it says": (["run", "SELECT * WHERE A", "{fake}"], "fake.parquet"),
    "a window without a time": (["run", QUERY, "{csv}"], "needs a time column"),
    "Parquet on the screen": (["run", "SELECT * WHERE A", "{csv}", "--format", "parquet"],
                              "cannot be written to the screen"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    name: str, csv: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "fake.parquet").write_text("not parquet at all")
    places = {"csv": csv, "empty": tmp_path / "empty.csv", "fake": tmp_path / "fake.parquet"}
    arguments, message = BAD[name]
    code = main([a.format(**places) if a[0] == "{" else a for a in arguments])
    shown = capsys.readouterr().err
    assert code == 2
    assert message in shown
    assert shown.startswith("catena: ") and shown.count("\n") == 1


def test_a_late_row(csv: str, tmp_path: Path) -> None:
    query = "SELECT * WHERE A"
    done = catena("run", query, csv, csv, "--time", "ts", check=False)
    assert done.returncode == 2 and "row 3: column 'ts' goes back" in done.stderr
    dropped = catena("run", query, csv, csv, "--time", "ts", "--on-late", "drop", "--count")
    assert dropped.stdout == "1\n"


def test_a_progress_line_on_long_input(tmp_path: Path) -> None:
    """On a terminal, work that takes long says how far it is, and cleans up behind itself."""
    import os
    import pty

    path = tmp_path / "long.parquet"
    count = 200_000
    types = pa.DictionaryArray.from_arrays(pa.array([0, 1] * (count // 2), pa.int8()), ["A", "B"])
    pyarrow.parquet.write_table(pa.table({"type": types}), path, row_group_size=50_000)
    controller, terminal = pty.openpty()
    at_once = """if True:
        import catena.cli, catena.progress as progress
        progress.DELAY_SECONDS = progress.EVERY_SECONDS = 0
        catena.cli.main()"""
    query = "SELECT * WHERE A ; B WITHIN 50 EVENTS"
    process = subprocess.Popen(
        [sys.executable, "-c", at_once, "run", query, str(path), "--count"],
        stdout=subprocess.PIPE, stderr=terminal,
    )  # fmt: skip
    os.close(terminal)
    out, _ = process.communicate(timeout=120)
    shown = os.read(controller, 100_000).decode()
    assert int(out) == 25 * count // 2 - 300
    assert "[###" in shown and "100% 200,000 rows" in shown and "a second" in shown
    assert shown.endswith("\x1b[K")
