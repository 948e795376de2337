"""The benchmark of increments, on few rows: its two sides give one answer."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCH = runpy.run_path(str(Path(__file__).parent.parent.parent / "bench" / "tsa.py"))


@pytest.mark.parametrize("name", ["tumbling", "frames"])
def test_increments_give_the_answer_of_one_evaluation(name: str) -> None:
    workload = BENCH[name](5_000)
    whole, parts = BENCH["run"](workload, 1), BENCH["run"](workload, 7)
    assert whole.result.num_rows
    assert BENCH["same"](whole.result, parts.result)
    assert parts.buffered <= whole.buffered
