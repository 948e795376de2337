"""The queries of the benchmarks as the oracle has them, and small streams in which they match."""

from __future__ import annotations

import random
from typing import Any

import oracle
import reference
import workloads
from oracle import Arrow, As, Or, Plus, Sequence, SequenceNot, Type, Unless

A, B, C, D = (As(Type(kind), name) for kind, name in zip("ABCD", "xyzw", strict=True))
FORMULAS = {
    "Q1": Sequence(Sequence(A, B), C),
    "Q2": Sequence(Sequence(Sequence(A, B), C), D),
    "Q3": Sequence(Or(Or(A, B), C), D),
    "Q4": Sequence(Plus(A), B),
    "Q5": Sequence(Sequence(Plus(A), Plus(B)), C),
    "Q6": Sequence(Plus(Sequence(Plus(A), B)), C),
    "N1": SequenceNot(A, B, C),
    "N2": Arrow(Arrow(A, B), C),
    "N3": Unless(Sequence(Sequence(A, B), C), D),
    "N4": SequenceNot(A, Sequence(B, D), C),
}


WORDS = {"Q1": "ABC", "Q2": "ABCD", "Q3": "ABCD", "Q4": "AAB", "Q5": "AABBC", "Q6": "ABABC"}
WORDS |= {"N1": "AC", "N2": "AABC", "N3": "ABC", "N4": "AABC"}


def small_streams(query: str) -> list[tuple[list[str], int]]:
    """Types and a window: a word of the query drawn out over the rows, with some rows replaced."""
    rng, word = random.Random(query), WORDS[query]
    streams = []
    for _ in range(40):
        length = rng.choice((0, 1, *range(5, 11), 10))
        drawn = [word[at * len(word) // length] for at in range(length)]
        types = [rng.choice("ABCDE") if rng.random() < 0.3 else kind for kind in drawn]
        streams.append((types, rng.choice((1, 2, *range(4, 11)))))
    return streams


def answers_of_the_oracle(
    query: str,
    types: list[str],
    window: int,
    *,
    consume: str | None = None,
    keys: list[int] | None = None,
) -> dict[str, int]:
    """By strategy the number of matches; of NEXT and LAST also how far their marks lie back."""
    rows: list[dict[str, Any]] = [{"type": kind} for kind in types]
    for row, key in zip(rows, keys or (), strict=False):
        row["id"] = key
    answers = {}
    for strategy in ("ALL", "ANY") if query in reference.SKIPPED else workloads.STRATEGIES:
        asked = oracle.Query(
            FORMULAS[query],
            strategy=strategy,
            window=oracle.Events(window),
            consume=consume,
            partition=(("id",),) if keys else (),
        )
        found = oracle.results(asked, rows)
        answers[strategy] = sum(oracle.reported_count(asked, len(events)) for events in found)
        if strategy in ("NEXT", "LAST"):
            answers[f"{strategy}.distances"] = sum(
                event.end - position for events in found for event in events
                for position in event.positions()
            )  # fmt: skip
    return answers
