"""Processes that tests start: they see the modules that tests see."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).parent.parent


def script_environment() -> dict[str, str]:
    """The environment of such a process."""
    folders = (TESTS, TESTS / "python", TESTS / "spark")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
