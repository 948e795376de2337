"""A progress line on standard error for work that takes long: rows read, and how fast."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Final

import pyarrow as pa

DELAY_SECONDS: Final = 0.5
"""Work shorter than this shows nothing."""

EVERY_SECONDS: Final = 0.1


class Progress:
    """Counts the rows that pass through `watch`, and shows them if it takes long."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._started = time.monotonic()
        self._next = self._started + DELAY_SECONDS
        self._rows = 0
        self._is_dirty = False

    def watch(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches themselves."""
        for batch in batches:
            self._rows += batch.num_rows
            now = time.monotonic()
            if self._shown and now >= self._next:
                self._next = now + EVERY_SECONDS
                self._show(now)
            yield batch

    def _show(self, now: float) -> None:
        speed = self._rows / (now - self._started)
        print(f"\r{self._rows:,} rows, {speed:,.0f} a second ", end="", file=sys.stderr, flush=True)
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
