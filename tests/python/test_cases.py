"""The case files: query, events and the matches that are expected, or the error."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from paths import as_events

import catena

CASES = Path(__file__).parent.parent / "cases"


def load() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    found = []
    for path in sorted(CASES.glob("*.toml")):
        file = tomllib.loads(path.read_text())
        for case in file["case"]:
            found.append((f"{path.stem}: {case['name']}", file["streams"][case["stream"]], case))
    return found


@pytest.mark.parametrize(("stream", "case"), [c[1:] for c in load()], ids=[c[0] for c in load()])
def test_case(stream: dict[str, Any], case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(catena.CatenaError, match=case["error"]):
            catena.Query(case["query"], **case.get("columns", {}))
        return
    query = catena.Query(case["query"], **case.get("columns", {}))
    expected = {
        (start, end, frozenset((x, p) for x, positions in marks.items() for p in positions))
        for start, end, marks in case["matches"]
    }
    found = as_events(query, query.run(stream))
    assert set(found) == expected
    assert len(found) == len(expected)
    assert query.count(stream) == len(expected)
