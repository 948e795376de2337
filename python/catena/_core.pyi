"""The compiled engine. Private: the package is its only user."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

MatchColumns: TypeAlias = tuple[
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]],
]

class CoreError(Exception):
    args: tuple[str, str, int | None]

def floats_of_decimals(
    capsules: tuple[object, object],
) -> tuple[npt.NDArray[np.float64], int | None]: ...

class Program:
    def __init__(self) -> None: ...
    def add(self, op: str, type: str, left: int = 0, right: int = 0, value: Any = None) -> int: ...
    def add_guard(self, node: int) -> None: ...
    def validate(self) -> None: ...

class Cea:
    """A transition: source, guard, marks, target, whether it marks, what it does with clocks."""

    def __init__(
        self,
        *,
        state_count: int,
        initial: Sequence[int],
        final: Sequence[int],
        transitions: Iterable[tuple[int, int | None, int, int, bool, int]],
        marks: Sequence[Sequence[int]],
        variable_count: int,
        guard_count: int,
        observers: Sequence[int],
        clock_kinds: Sequence[int],
        interval_count: int,
        actions: Sequence[tuple[Sequence[tuple[int, int]], Sequence[int]]],
    ) -> None: ...

class WindowKind(Enum):
    NONE = ...
    EVENTS = ...
    INT = ...
    FLOAT = ...

class Consume(Enum):
    NONE = ...
    PARTITION = ...
    ANY = ...

class Strategy(Enum):
    ALL = ...
    NEXT = ...
    LAST = ...
    MAX = ...

class Window:
    def __init__(self, kind: WindowKind, bound: int = 0, float_bound: float = 0.0) -> None: ...
    def threshold(self, clock: int) -> int: ...

class Interval:
    """Closed bounds of whole differences; `of_floats`: of differences of floats, open or closed."""

    def __init__(self, low: int, high: int) -> None: ...
    @staticmethod
    def of_floats(low: float, high: float, low_open: bool, high_open: bool) -> Interval: ...

class Binding:
    def __init__(
        self,
        *,
        program: Program,
        order: Sequence[tuple[int, bool]],
        clock: int | None,
        part_clock: tuple[int, bool] | None,
        window: Window,
        keys: Sequence[int],
        row_guard: int | None,
        time: int | None,
        intervals: Sequence[Interval],
    ) -> None: ...

class MatchReader:
    def read(self, match_count_max: int) -> MatchColumns: ...
    @property
    def steps(self) -> int: ...

class ResultSet:
    def reader(self, limit: int | None) -> MatchReader: ...
    def count(self, limit: int | None) -> int: ...
    @property
    def is_empty(self) -> bool: ...

class Engine:
    def __init__(
        self,
        cea: Cea,
        *,
        strategy: Strategy,
        consume: Consume,
        is_partitioned: bool,
        has_window: bool,
        drops_late_rows: bool,
        state_count_max: int,
        class_count_max: int,
    ) -> None: ...
    def bind(self, binding: Binding) -> None: ...
    def push(self, capsules: tuple[object, object]) -> ResultSet: ...
    def release(self) -> int: ...
    def snapshot(self, plan_hash: str, extra: bytes) -> bytes: ...
    def restore(self, data: bytes, plan_hash: str) -> bytes: ...
    def stats(self) -> dict[str, int]: ...
    @property
    def position(self) -> int: ...
    @property
    def late_count(self) -> int: ...
