"""Case files and random queries on Spark: as a pass, as table functions and as streams.

The random ones have all strategies, of the query and inside it, time operators, negation and
conditions over several events; the oracle says what they find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asked import Question, answers, by_batch, by_table_function
from asked_streams import answers_of_stream
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import marks_of, why_wrong
from paths import table_of
from test_cases import load
from test_registers import is_refused
from test_semantics import COMMON

import catena
import oracle
from generators import (
    CORRELATED,
    NEGATED,
    QUERY,
    SELECTED,
    STRATEGIES,
    STREAMS,
    TERMS,
    TIMED,
    UNARY,
    Features,
    queries,
    rows,
)
from oracle import ComplexEvent

# ---------------------------------------------------------------------------------------------
# The case files


def case_questions() -> tuple[list[Question], list[set[ComplexEvent]]]:
    """The queries of the case files, and the matches that they have."""
    questions, expected = [], []
    for _, stream, case in load():
        if "error" not in case:
            query = catena.Query(case["query"], **case.get("columns", {}))
            questions.append(Question(query, pa.table(stream)))
            expected.append(
                {
                    ComplexEvent(start, end, frozenset((x, p) for x, at in m.items() for p in at))
                    for start, end, m in case["matches"]
                }
            )
    return questions, expected


@pytest.mark.parametrize("find", [by_batch, by_table_function])
def test_the_case_files(spark: Any, find: Any) -> None:
    questions, expected = case_questions()
    found = answers(spark, questions, find)
    for question, events, due in zip(questions, found, expected, strict=True):
        assert set(events) == due and len(events) == len(due), question.query.text


# ---------------------------------------------------------------------------------------------
# Random queries

Asked = tuple[oracle.Query, list[dict[str, Any]], list[frozenset[ComplexEvent]]]

BASE: Features = frozenset({"as", "filter", ";", "+", "or", "strategy", "window", "partition"})
NEGATIONS = (oracle.SequenceNot, oracle.Arrow, oracle.Unless)


def has(*kinds: type) -> Callable[[oracle.Query], bool]:
    return lambda asked: any(isinstance(f, kinds) for f in oracle.subformulas(asked.formula))


KINDS: tuple[tuple[Features, Callable[[oracle.Query], bool]], ...] = (
    (UNARY | QUERY | TERMS | STREAMS, lambda asked: True),
    (BASE | NEGATED, has(*NEGATIONS)),
    (BASE | CORRELATED, lambda asked: bool(oracle.term_variables(asked.formula))),
    (BASE | SELECTED | TIMED, has(oracle.Select)),
    (UNARY | NEGATED | TIMED | CORRELATED, has(oracle.Within, *NEGATIONS)),
)


@cache
def drawn(count: int) -> list[Asked]:
    """Random queries of every kind and strategy, rows and what they find; always the same ones."""
    found: dict[str, Asked] = {}
    of_a_kind = -(-count // len(KINDS))
    for number, (features, is_one) in enumerate(KINDS, 1):

        @settings(max_examples=40 + 20 * of_a_kind, derandomize=True, database=None, **COMMON)
        @given(queries(features), rows(), st.just(0))
        def draw(asked: oracle.Query, events: list[dict[str, Any]], _: int) -> None:
            text = asked.text()
            if len(found) >= number * of_a_kind or text in found or not is_one(asked):
                return
            asked = replace(asked, strategy=STRATEGIES[len(found) % len(STRATEGIES)])
            due = expected(asked, events)
            if due is not None and (any(due) or len(found) % 4 == 0):  # Most find something.
                found[text] = (asked, events, due)

        draw()
    assert len(found) >= 0.7 * count
    assert {asked.strategy for asked, _, _ in found.values()} == set(STRATEGIES)
    return list(found.values())


def expected(asked: oracle.Query, events: list[dict[str, Any]]) -> Any:
    """What the oracle finds; None if that takes too long, and for what the package refuses."""
    if not events:
        return None
    try:
        question_of(asked, events).query.count(table_of(events))
        return oracle.results(asked, events, time="ts", stream="stream")
    except (oracle.OverBudget, catena.CatenaLimitError):
        return None
    except catena.CatenaError as error:
        if is_refused(error) or "no window bounds it" in str(error):
            return None
        raise


def question_of(asked: oracle.Query, events: list[dict[str, Any]]) -> Question:
    return Question(catena.Query(asked.text(), time="ts", stream="stream"), table_of(events))


def compare(spark: Any, asked: Sequence[Asked], find: Any) -> None:
    questions = [question_of(query, events) for query, events, _ in asked]
    for (query, events, due), found in zip(asked, answers(spark, questions, find), strict=True):
        reported: list[list[ComplexEvent]] = [[] for _ in events]
        for event in found:
            reported[event.end].append(event)
        problem = oracle.difference(query, due, reported)
        assert not problem, f"{problem}\nrows: {events}"


def compare_streamed(spark: Any, folder: Path, cases: slice, some: Sequence[Asked]) -> None:
    """Cases and random queries in micro-batches that hold a part of the rows of each."""
    questions, expected_of_cases = (found[cases] for found in case_questions())
    asked = [question_of(query, events) for query, events, _ in some]
    found = iter(answers_of_stream(spark, [*questions, *asked], folder))
    for question, due in zip(questions, expected_of_cases, strict=True):
        assert next(found) == marks_of(due), question.query.text
    for query, events, due_by_row in some:
        problem = why_wrong(query, due_by_row, next(found))
        assert not problem, f"{problem}\n{query.text()}\nrows: {events}"


@pytest.mark.parametrize("find", [by_batch, by_table_function])
def test_random_queries(spark: Any, find: Any) -> None:
    compare(spark, drawn(20), find)


def test_queries_in_micro_batches(spark: Any, tmp_path: Path) -> None:
    compare_streamed(spark, tmp_path, slice(4, None, 30), drawn(20)[3::14])


@pytest.mark.slow
@pytest.mark.parametrize("find", [by_batch, by_table_function])
def test_many_random_queries(spark: Any, find: Any) -> None:
    compare(spark, drawn(75), find)


@pytest.mark.slow
def test_more_queries_in_micro_batches(spark: Any, tmp_path: Path) -> None:
    compare_streamed(spark, tmp_path, slice(0, None, 2), drawn(75)[::5])
