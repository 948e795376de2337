"""A progress bar on standard error for work that takes long: how much is done, and how fast."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Final

import pyarrow as pa

from catena.files import FileBatches

DELAY_SECONDS: Final = 0.5
"""Work shorter than this shows nothing."""

EVERY_SECONDS: Final = 0.1
WIDTH: Final = 30
"""Of the bar, in characters."""


class Progress:
    """Counts the rows that pass through `watch`, and shows them if it takes long."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._started = time.monotonic()
        self._next = self._started + DELAY_SECONDS
        self._rows = 0
        self._is_dirty = False

    def watch(self, files: FileBatches) -> Iterator[pa.RecordBatch]:
        """The batches of the files."""
        for batch in files:
            self._rows += batch.num_rows
            now = time.monotonic()
            if self._shown and now >= self._next:
                self._next = now + EVERY_SECONDS
                self._show(files.fraction, now)
            yield batch

    def _show(self, fraction: float, now: float) -> None:
        bar = ("#" * round(WIDTH * fraction)).ljust(WIDTH, "-")
        speed = self._rows / max(now - self._started, 1e-9)
        line = f"[{bar}] {fraction:4.0%} {self._rows:,} rows, {speed:,.0f} a second "
        print(f"\r{line}", end="", file=sys.stderr, flush=True)
        self._is_dirty = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_dirty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
