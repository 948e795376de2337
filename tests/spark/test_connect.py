"""The batch cases, SQL and a stream on a Spark Connect session, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts import script_environment

SCRIPT = Path(__file__).parent / "connect_script.py"


@pytest.mark.slow
def test_a_connect_session_runs_the_batch_cases() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=script_environment(),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "all cases agree" in done.stdout
