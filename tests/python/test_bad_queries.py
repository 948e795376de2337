"""Queries that are refused, each with its exact message, place and hint: tests/bad_queries.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from catena import errors
from catena.compile.plan import Settings, compile_query

CASES = tomllib.loads(
    (Path(__file__).parent.parent / "bad_queries.toml").read_text(encoding="utf-8")
)["bad"]


@pytest.mark.parametrize("case", CASES, ids=[case["query"] for case in CASES])
def test_bad_query(case: dict[str, Any]) -> None:
    with pytest.raises(errors.CatenaError) as caught:
        compile_query(case["query"], Settings(**case.get("columns", {})))
    error = caught.value
    assert error.message == case["message"]
    assert type(error) is getattr(errors, case["error"])
    assert (error.line, error.column) == (case.get("line"), case.get("column"))
    assert error.hint == case.get("hint")


def test_cases_are_many_and_different() -> None:
    assert len({case["query"] for case in CASES}) == len(CASES) >= 60
