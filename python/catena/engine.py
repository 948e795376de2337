"""The Python side of a running query: batches in, result sets and kept rows out.

One `Engine` is one stream's worth of state. It binds the plan to the columns' types when they first
come or change, keeps the rows that matches may show, and turns the core's errors into ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from catena import _core
from catena.compile.binding import bind
from catena.compile.plan import CORE_STRATEGIES, Plan
from catena.compile.predicates import Value, value_from
from catena.errors import (
    CatenaDataError,
    CatenaError,
    CatenaLimitError,
    CatenaSnapshotError,
)
from catena.layout import Layout, layout_of
from catena.rowstore import RowStore

OnLate: TypeAlias = Literal["error", "drop"]

TRIM_ROWS_MIN: Final = 65_536
"""Rows kept before it is worth asking which of them are still needed."""


LIMIT_MAX: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets; passing one is a CatenaLimitError."""

    state_count_max: int = 10_000
    class_count_max: int = 65_536
    valuation_count_max: int = 1_000_000
    """Of one part: what its open matches may at most hold in registers and clocks, told apart."""
    detector_bytes_max: int = 1 << 28
    """What detection of an event expression may take for one part."""

    def __post_init__(self) -> None:
        for field in fields(self):
            given: Any = getattr(self, field.name)
            if type(given) is not int or not 1 <= given <= LIMIT_MAX:
                raise CatenaError(
                    f"{field.name} is {given!r}", hint=f"use a whole number from 1 to {LIMIT_MAX:,}"
                )


@dataclass(frozen=True, slots=True)
class Piece:
    """What a batch gave: where its matches are, and the rows they may show."""

    results: _core.ResultSet
    rows: RowStore


@contextmanager
def core_errors() -> Iterator[None]:
    """Turns an error of the core into one of the package's."""
    try:
        yield
    except _core.CoreError as error:
        raise _translated(*error.args) from None


def _translated(kind: str, message: str, row: int | None) -> CatenaError:
    if kind == "limit":
        return CatenaLimitError(
            message, hint="raise the limit with limits=catena.Limits(...), or simplify the query"
        )
    if kind == "snapshot":
        return CatenaSnapshotError(message)
    if kind == "data":
        hint = None
        if "goes back" in message:
            hint = "sort the rows, or pass on_late='drop' to leave such rows out and count them"
        return CatenaDataError(message, row=row, hint=hint)
    return CatenaError(message)


class Engine:
    """A plan at work on one stream."""

    def __init__(self, plan: Plan, limits: Limits, on_late: OnLate) -> None:
        if on_late not in ("error", "drop"):
            raise CatenaError(f"on_late is {on_late!r}", hint="use 'error' or 'drop'")
        self._plan = plan
        with core_errors():
            self._core = _core.Engine(
                plan.cea,
                strategy=CORE_STRATEGIES.get(plan.query.strategy, _core.Strategy.ALL),
                consume=getattr(_core.Consume, plan.consume.value),
                is_partitioned=bool(plan.part_keys),
                has_window=plan.query.window is not None,
                drops_late_rows=on_late == "drop",
                state_count_max=limits.state_count_max,
                class_count_max=limits.class_count_max,
                valuation_count_max=limits.valuation_count_max,
            )
        self._layout: Layout | None = None
        self._order_types: Mapping[str, pa.DataType] = {}
        self._registers: tuple[Value, ...] = ()
        self._rows = RowStore(plan.kept_columns)
        self._trim_at = TRIM_ROWS_MIN

    @property
    def late_count(self) -> int:
        return self._core.late_count

    @property
    def position(self) -> int:
        return self._core.position

    def stats(self) -> dict[str, int]:
        return self._core.stats()

    def push(self, batch: pa.RecordBatch) -> Piece:
        """Reads a batch that has the plan's columns; a bad one raises and changes nothing."""
        with core_errors():
            layout = self._layout_for(batch.schema)
            rows = self._rows.append(layout.stored(batch))
            readable = layout.read(batch, self.position)
            results = self._core.push(readable.__arrow_c_array__())
        self._rows, self._order_types = rows, layout.order_types
        if self._rows.row_count >= self._trim_at:
            self._trim()
        elif len(self._rows.batches) > 64:
            self._rows = self._rows.compacted()
        return Piece(results, rows)

    def push_row(self, row: dict[str, Any]) -> Piece | None:
        """Reads one row; None, and nothing is read, if it must come as a batch.

        It may come alone if its values are of just the types of the columns before it, and no match
        shows any of them: then it goes to the core without Arrow in between.
        """
        try:
            results = self._core.push_row(row)
        except _core.CoreError as error:
            raise _translated(*error.args) from None
        return None if results is None else Piece(results, self._rows)

    def _layout_for(self, schema: pa.Schema) -> Layout:
        if self._layout is None or not schema.equals(self._layout.given):
            layout = layout_of(self._plan, schema, self._order_types)
            binding, registers = bind(self._plan, layout.columns, layout.keys, self._registers)
            self._core.bind(binding)
            formats = "" if self._plan.kept_columns else layout.row_formats
            self._core.bind_row(layout.given.names if formats else [], formats)
            self._layout, self._registers = layout, registers
        return self._layout

    def _trim(self) -> None:
        self._rows = self._rows.trim(self._core.release()).compacted()
        self._trim_at = max(TRIM_ROWS_MIN, 2 * self._rows.row_count)

    def snapshot(self) -> bytes:
        """The state as bytes; see docs/formats.md."""
        with core_errors():
            self._rows = self._rows.trim(self._core.release()).compacted()
            registers = list(map(asdict, self._registers))
            extra = write_extra(self._order_types, self._rows, registers)
            return self._core.snapshot(self._plan.hash, extra)

    def restore(self, data: bytes) -> None:
        """Takes over a snapshot; only for an engine that has read nothing."""
        with core_errors():
            extra = self._core.restore(data, self._plan.hash)
            oldest = self._core.release()
        self._order_types, self._rows = read_extra(
            extra, self._plan.kept_columns, range(oldest, self.position)
        )
        self._registers = _read_registers(extra, len(self._plan.program_registers))


def write_extra(
    order_types: Mapping[str, pa.DataType], rows: RowStore, registers: Sequence[object] = ()
) -> bytes:
    """What the Python side must remember: the kept rows and the types of the time columns, and what
    is known of registers."""
    types = pa.schema(list(order_types.items())).serialize().to_pybytes()
    header = {
        "start": rows.start, "order_types": types.hex(), "registers": list(registers)
    }  # fmt: skip
    encoded = json.dumps(header).encode()
    sink = pa.BufferOutputStream()
    if rows.batches:
        with pa.ipc.new_stream(sink, rows.batches[0].schema) as writer:
            for batch in rows.batches:
                writer.write_batch(batch)
    return len(encoded).to_bytes(4, "little") + encoded + bytes(sink.getvalue())


def read_extra(
    extra: bytes, columns: tuple[str, ...], needed: range
) -> tuple[dict[str, pa.DataType], RowStore]:
    """The types of the time columns and the kept rows, from what `write_extra` wrote.

    Raises CatenaSnapshotError if it is damaged, or the rows at these positions are not all there.
    """
    try:
        order_types, rows = _parse_extra(extra, columns)
    except (ValueError, KeyError, TypeError, OSError, pa.ArrowException) as error:
        raise CatenaSnapshotError(f"the snapshot is damaged: {error}") from error
    covers = rows.start <= needed.start and rows.start + rows.row_count == needed.stop
    if rows.columns and not covers:
        raise CatenaSnapshotError("the snapshot is damaged: rows are missing")
    return order_types, rows


def _parse_extra(extra: bytes, columns: tuple[str, ...]) -> tuple[dict[str, pa.DataType], RowStore]:
    size = int.from_bytes(extra[:4], "little")
    header = json.loads(extra[4 : 4 + size])
    types = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(header["order_types"])))
    rows = RowStore(columns, int(header["start"]))
    if len(extra) > 4 + size:
        for batch in pa.ipc.open_stream(pa.py_buffer(extra[4 + size :])):
            batch.validate(full=True)
            if tuple(batch.schema.names) != columns:
                raise ValueError("the kept rows have other columns")
            rows = rows.append(batch)
    return {field.name: field.type for field in types}, rows


def _read_registers(extra: bytes, count: int) -> tuple[Value, ...]:
    """What is known of registers, from what `write_extra` wrote."""
    size = int.from_bytes(extra[:4], "little")
    try:
        found = json.loads(extra[4 : 4 + size])["registers"]
        registers = tuple(value_from(**fields) for fields in found)
    except (ValueError, KeyError, TypeError) as error:
        raise CatenaSnapshotError(f"the snapshot is damaged: {error}") from error
    if len(registers) not in (0, count):
        raise CatenaSnapshotError("the snapshot is damaged: it is of other registers")
    return registers
