"""Processes that tests start: they see the modules that tests see."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).parent.parent


def script_environment() -> dict[str, str]:
    """The environment of such a process."""
    return {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS / 'python'}"}
