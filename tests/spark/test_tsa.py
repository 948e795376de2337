"""Temporal stream algebra on Spark: the paper's examples against the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from test_examples_of_the_paper import run_example
from tsa_examples import EXAMPLES, sliding_windows

from catena import tsa


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_paper(spark: Any, name: str) -> None:
    example = sliding_windows(step=60) if name == "sliding_windows" else EXAMPLES[name]()
    run_example(example, [90, 400], tsa.Spark(spark))
