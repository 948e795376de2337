"""What a user gives, checked: names of columns, units, limits, snapshots, and events to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

import pyarrow as pa

from catena.compile.plan import Settings
from catena.engine import Limits
from catena.errors import CatenaError, CatenaSnapshotError, nearest
from catena.events import Events, can_be_read_again, read_batches
from catena.query import ast

T = TypeVar("T")


class ColumnNeeds(Protocol):
    """What is known of whoever reads events."""

    @property
    def settings(self) -> Settings: ...
    @property
    def columns(self) -> tuple[str, ...]: ...


def each_time(
    events: Events, plan: ColumnNeeds, read: Callable[[Iterable[pa.RecordBatch]], Iterator[T]]
) -> Callable[[], Iterator[T]]:
    """Reads the events anew whenever called; an error if they can be read only once and were."""
    is_used_up = False

    def pieces() -> Iterator[T]:
        nonlocal is_used_up
        if is_used_up:
            raise CatenaError(
                "the events could be read only once and have been",
                hint="pass a table or a list instead of an iterator to read the results again",
            )
        is_used_up = not can_be_read_again(events)
        return read(read_batches(events, plan.columns, plan.settings.type))

    return pieces


def batches_at_hand(events: Events, plan: ColumnNeeds) -> Iterable[pa.RecordBatch]:
    """The events' batches; all of them, before any is evaluated, if they are there already."""
    batches = read_batches(events, plan.columns, plan.settings.type)
    return list(batches) if can_be_read_again(events) else batches


def checked_limits(limits: Limits | None) -> Limits:
    """The limits given, or the usual ones."""
    if limits is not None and not isinstance(limits, Limits):
        raise CatenaError(f"limits is {limits!r}", hint="pass catena.Limits(...)")
    return limits or Limits()


def column_name(role: str, name: object) -> str:
    """A name that was given for a column."""
    if not isinstance(name, str):
        raise CatenaError(f"{role} is {name!r}", hint=f"{role} is the name of a column")
    return name


def bytes_of(snapshot: bytes | bytearray | memoryview) -> bytes:
    """A snapshot as bytes."""
    try:
        return bytes(memoryview(snapshot))
    except TypeError:
        raise CatenaSnapshotError(
            f"a snapshot is bytes, not {type(snapshot).__name__}",
            hint="pass what Stream.snapshot() gave",
        ) from None


def unit_named(name: str | None) -> ast.Unit | None:
    """The unit of a numeric time column by its name."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise CatenaError(f"time_unit is {name!r}", hint="use a name such as 's' or 'ms'")
    for unit in ast.Unit:
        if unit.value == name:
            return unit
    names = [unit.value for unit in ast.Unit]
    close = nearest(name, names)
    raise CatenaError(
        f"time_unit is {name!r}",
        hint=f"did you mean {close!r}?" if close else f"use one of {', '.join(names)}",
    )
