"""Static bounds: what they are, that detection stays within them, and how they are shown."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import algebra as algebra_bench
import algebra_reference
import catena
from algebra_generators import random_term
from catena.algebra import parse
from catena.algebra.bounds import Bounds
from catena.cli import main
from oracle.algebra import text_of

BENCH = Path(__file__).parent.parent.parent / "bench"


def test_bounds_of_the_button() -> None:
    bound = catena.Algebra("(B ; B)[2] - (P | T)").memory_bound()
    assert bound == 128 and (bound.instances, bound.times) == (1, 1)
    with_rows = catena.Algebra("(B ; B)[2] - (P | T)", values=True).memory_bound()
    assert with_rows == 240 and (with_rows.instances, with_rows.times) == (1, 1)


@pytest.mark.parametrize(
    ("text", "instances", "times"),
    [
        ("A", 0, 0),
        ("A | B", 0, 0),
        ("A - B", 0, 1),
        ("A + B", 2, 0),
        ("A ; B", 1, 0),
        ("A ; B ; C", 2, 0),
        ("A ; (B ; C)", 3, 1),
        ("A ; (B + C)", 5, 2),
        ("A ; (B - (B + C))", 3, 1),
        ("A ; (B ; (C ; D))", 6, 3),
    ],
)
def test_sets_are_counted_where_they_are_kept(text: str, instances: int, times: int) -> None:
    bound = catena.Algebra(text).memory_bound()
    assert (bound.instances, bound.times) == (instances, times)


def test_the_words_of_the_detector_are_those_that_bounds_compares() -> None:
    rng = random.Random(9)
    for _ in range(60):
        expression = parse(text_of(random_term(rng, rng.randint(1, 30), "ABC")))
        shape = Bounds().of(expression)
        for values in (False, True):
            a = catena.Algebra(expression, values=values)
            count = len(a.plan.primitives)
            words = shape.words_with_rows if values else shape.words
            head = 2 + (1 if count else 0) + (count if values else 0)
            slots = count * (4 if values else 2)
            room = shape.widest + 2 if shape.count > 1 else 0
            assert a.memory_bound() == 8 * (words + head + slots + room)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_stored_stays_within_the_bounds(seed: int) -> None:
    """Propositions 37 and 38 over long streams, seen from outside; inside: tests/cpp."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    for _ in range(4):
        a = catena.Algebra(text_of(random_term(rng, 20, "ABCD")), time="ts", values=bool(seed % 2))
        d, bound = a.stream(), a.memory_bound()
        bytes_at_first = d.stats()["bytes"]
        for at in range(0, 20_000, 1_000):
            times = at + np.sort(numbers.integers(0, 1_000, 1_000))
            types = pa.array(list("ABCD")).take(pa.array(numbers.integers(0, 4, 1_000)))
            d.push({"ts": times, "type": types})
            stats = d.stats()
            assert stats["instances"] <= bound.instances and stats["times"] <= bound.times
        assert stats["bytes"] == bytes_at_first <= bound


def test_a_tick_that_touches_nothing_visits_nothing() -> None:
    d = catena.Algebra("(B ; B)[2] - (P | T)", time="ts").stream()
    d.push({"ts": list(range(100)), "type": ["Other"] * 100})
    assert d.stats()["visits"] == 0
    d.push({"ts": [200, 201], "type": ["P", "Other"]})
    assert d.stats()["visits"] == 2  # `|` and `-`; the sequence has nothing to do with P.


def test_time_bounds_grow_with_what_is_visited() -> None:
    small, large = catena.Algebra("A ; B"), catena.Algebra("A ; (B ; (C ; D))")
    assert 0 < small.time_bound() < large.time_bound()
    assert catena.Algebra("A ; B", values=True).time_bound() > small.time_bound()


def test_explain() -> None:
    text = catena.Algebra(
        "(hot ; S)[2 s]", time="ts", by=["id"], values=True, define={"hot": "v > 3"}
    ).explain()
    for part in ("(hot ; S)[2 s]", "hot: v > 3", "S: type = 'S'", "rows of equal ts are one tick",
                 "id", "bytes for each part", "steps a tick", "start, end and rows"):  # fmt: skip
        assert part in text
    assert "<pre>" in catena.Algebra("A")._repr_html_()


# ---------------------------------------------------------------------------------------------
# The command line


CSV = "ts,type,v\n1,T,1\n4,P,2\n6,B,3\n6,T,4\n"


def test_bounds_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algebra", "bounds", "A ; (B ; C) - 0"]) == 0
    head, given, simple = capsys.readouterr().out.splitlines()
    assert head.split() == ["bytes", "instances", "times", "units", "steps"]
    assert given.startswith("A ; (B ; C) - 0 ") and simple.startswith("A ; B ; C ")
    assert int(simple.split()[-5]) < int(given.split()[-5])


def test_run_explain_and_simplify_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events.csv"
    path.write_text(CSV)
    assert main(["algebra", "run", "P + T", str(path), "--time", "ts", "--format", "csv"]) == 0
    assert capsys.readouterr().out == '"start_time","end_time"\n1,4\n4,6\n'
    assert main(["algebra", "run", "hot", str(path), "--count", "--define", "hot=v > 2"]) == 0
    assert capsys.readouterr().out == "2\n"
    assert main(["algebra", "run", "T", str(path), "--by", "v", "--values"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["start_time", "end_time", "v", "T"]
    assert main(["algebra", "simplify", "A[3] | 0"]) == 0
    assert capsys.readouterr().out == "A\n"
    assert main(["algebra", "explain", "A ; B"]) == 0
    assert "expression    A ; B" in capsys.readouterr().out


def test_bad_input_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algebra", "bounds", "A ;"]) == 2
    assert "line 1, column 4: the expression ends" in capsys.readouterr().err
    assert main(["algebra", "bounds", "A", "--define", "hot"]) == 2
    assert "--define is 'hot'" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# The benchmark


def test_the_reference_of_the_benchmark_agrees() -> None:
    rng = random.Random(4)
    for _ in range(40):
        term = algebra_reference.random_term(rng, rng.randint(1, 20), "ABC")
        reference = algebra_reference.Reference(term)
        types = rng.choices("ABCx", k=60)
        expected = [reference.tick(at, {name}) for at, name in enumerate(types)]
        found = catena.Algebra(algebra_reference.text_of(term)).run({"type": types})
        assert [(m.start_time, m.end_time) for m in found] == [
            pair for pair in expected if pair != algebra_reference.NONE
        ]


def test_the_experiment_is_drawn_and_its_bounds_are_low(tmp_path: Path) -> None:
    """Section 4.4: an average expression of 51 subexpressions takes less than 250 units of memory,
    and about twice that with values."""
    curves = algebra_bench.bounds_of_random(25)
    last = {key: points[-1].mean for key, points in curves.items()}
    assert last["memory", "times"] < 250 and last["memory", "values"] < 600
    assert last["time", "times"] < 650 and last["time", "values"] < 980
    for path in algebra_bench.draw(curves, tmp_path):
        assert path.stat().st_size > 10_000


def test_the_speed_is_measured_with_the_right_answers() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH / "algebra.py"), "speed", "--rows", "20000"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 2 + len(algebra_bench.WORKLOADS)
