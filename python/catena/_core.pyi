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

DetectedColumns: TypeAlias = tuple[
    npt.NDArray[Any],
    npt.NDArray[Any],
    npt.NDArray[np.int64],
    list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]],
]
"""Starts, ends, the last row of each tick, and by primitive the lists of rows."""

class CoreError(Exception):
    args: tuple[str, str, int | None]

def floats_of_decimals(
    capsules: tuple[object, object],
) -> tuple[npt.NDArray[np.float64], int | None]: ...
def ordered_rows(capsules: tuple[object, object]) -> npt.NDArray[np.int64]: ...

class PartNumbers:
    def __init__(self, keys: Sequence[int]) -> None: ...
    def number(self, capsules: tuple[object, object]) -> npt.NDArray[np.int64]: ...
    @property
    def part_count(self) -> int: ...

class Program:
    def __init__(self) -> None: ...
    def add(self, op: str, type: str, left: int = 0, right: int = 0, value: Any = None) -> int: ...
    def add_guard(self, node: int) -> None: ...
    def add_condition(self, node: int) -> None: ...
    def add_update(self, node: int) -> None: ...
    def validate(self) -> None: ...

class Cea:
    """A transition: source, guard, marks, target, whether it marks, what it does with clocks and
    registers, what it asks of scopes."""

    def __init__(
        self,
        *,
        state_count: int,
        initial: Sequence[int],
        final: Sequence[int],
        transitions: Iterable[tuple[int, int | None, int, int, bool, int, int]],
        marks: Sequence[Sequence[int]],
        variable_count: int,
        guard_count: int,
        observers: Sequence[int],
        clock_kinds: Sequence[int],
        interval_count: int,
        actions: Sequence[tuple[Sequence[tuple[int, int]], Sequence[int]]],
        is_monotonic: bool,
        register_count: int,
        condition_reads: Sequence[Sequence[int]],
        update_reads: Sequence[Sequence[int]],
        register_actions: Sequence[
            tuple[Sequence[int], Sequence[tuple[int, int]], Sequence[Sequence[int]]]
        ],
        history: Sequence[int],
        scopes: Sequence[tuple[Strategy, Cea, Sequence[int], Cea | None]],
        asks: Sequence[Sequence[tuple[int, int, Sequence[int]]]],
        absences: Sequence[tuple[Cea, Cea | None]],
        condition_follows: Sequence[tuple[int, int | None, int | None] | None],
        update_follows: Sequence[tuple[int, int | None, int | None] | None],
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
        order: Sequence[tuple[int, bool, bool]],
        clock: int | None,
        time: int | None,
        attributes: Sequence[int],
        window: Window,
        keys: Sequence[int],
        tie_count: int,
        row_guard: int | None,
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
        valuation_count_max: int,
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

class EventOp(Enum):
    DISJUNCTION = ...
    CONJUNCTION = ...
    NEGATION = ...
    SEQUENCE = ...
    RESTRICTION = ...

class EventExpression:
    """A node: operator, left source, right source, number of its limit."""

    def __init__(
        self,
        *,
        primitive_count: int,
        nodes: Sequence[tuple[EventOp, int, int, int]],
        root: int,
        interval_count: int,
        with_rows: bool,
        bytes_max: int,
    ) -> None: ...
    @property
    def bytes_max(self) -> int: ...
    @property
    def part_bytes(self) -> int: ...
    @property
    def instance_count_max(self) -> int: ...
    @property
    def time_count_max(self) -> int: ...

class DetectionBinding:
    def __init__(
        self, *, program: Program, time: tuple[int, bool] | None, keys: Sequence[int]
    ) -> None: ...

class Detection:
    def __init__(
        self,
        expression: EventExpression,
        *,
        is_partitioned: bool,
        drops_late_rows: bool,
        class_count_max: int,
    ) -> None: ...
    def bind_times(self, limits: Sequence[Interval], are_floats: bool) -> None: ...
    def bind(self, binding: DetectionBinding) -> None: ...
    def push(self, capsules: tuple[object, object]) -> DetectedColumns: ...
    def finish(self) -> DetectedColumns: ...
    def snapshot(self, plan_hash: str, extra: bytes) -> bytes: ...
    def restore(self, data: bytes, plan_hash: str) -> bytes: ...
    def stats(self) -> dict[str, int]: ...
    @property
    def oldest_row(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def late_count(self) -> int: ...
