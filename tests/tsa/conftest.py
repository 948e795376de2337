"""Finds the helpers of this folder, and Spark's session for the few tests that need it."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "tsa"))
