"""The scripts of examples/, the document on Spark and the benchmark, run in the tests' session."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from test_docs import ROOT, run_examples

import spark_passes


def test_the_batch_example(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "spark_batch.py"), run_name="__main__")
    printed = capsys.readouterr().out
    found = re.search(r"(\d+) matches; user\d+ failed \d+ times\n(\d+) matches by SQL", printed)
    assert found and found.group(1) == found.group(2) != "0", printed


def test_the_streaming_example(
    spark: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["spark_stream.py", str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / "spark_stream.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(r"[1-9]\d* matches in \d+ events; \d+ still wait", printed), printed


def test_the_examples_of_the_document_run(
    spark: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(ROOT / "docs" / "spark.md", capsys)


def test_the_benchmark_compares_passes_over_the_same_rows(spark: Any) -> None:
    costs = spark_passes.batch_costs(spark, rows=20_000, keys=50, rounds=1)
    assert all(cost.wall > 0 for cost in costs.values())
    line, keeps = spark_passes.report_batch(costs, 20_000, 50)
    assert keeps and line.startswith("| 20,000 | 50 |")
    slow = {**costs, "match": spark_passes.Cost(1e6, 1e6)}
    assert not spark_passes.report_batch(slow, 5_000_000, 50)[1]


@pytest.mark.slow
def test_the_benchmark_measures_streams(spark: Any) -> None:
    wall, cpu = spark_passes.stream_rates(spark, rows=4_000, keys=20, micro_batches=4)
    assert wall > 0 and cpu > 0
