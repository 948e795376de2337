"""The Python side of a running detection: batches in, instances as columns out.

It binds the plan to the columns' types when they first come or change, and keeps the rows whose
keys instances of the tick at hand will show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from catena import _core
from catena.algebra.plan import AlgebraPlan
from catena.compile.binding import check_is_text, in_ticks, is_float_clock, whole_bounds
from catena.compile.predicates import bind_predicates
from catena.engine import OnLate, core_errors, read_extra, write_extra
from catena.errors import CatenaError
from catena.layout import Layout, layout_of
from catena.query import ast
from catena.rowstore import RowStore


@dataclass(frozen=True, slots=True)
class Detected:
    """The instances that a batch completed, the rows with their keys, and the type of times."""

    columns: _core.DetectedColumns
    rows: RowStore
    time_type: pa.DataType


class Running:
    """A plan at work on one stream."""

    def __init__(self, plan: AlgebraPlan, on_late: OnLate) -> None:
        if on_late not in ("error", "drop"):
            raise CatenaError(f"on_late is {on_late!r}", hint="use 'error' or 'drop'")
        self._plan = plan
        with core_errors():
            self._core = _core.Detection(
                plan.core,
                is_partitioned=bool(plan.keys),
                drops_late_rows=on_late == "drop",
                class_count_max=plan.limits.class_count_max,
            )
        self._layout: Layout | None = None
        self._order_types: Mapping[str, pa.DataType] = {}
        self._rows = RowStore(plan.keys)
        self._no_rows: pa.RecordBatch | None = None  # None until a batch has shown the types.

    @property
    def position(self) -> int:
        return self._core.position

    @property
    def late_count(self) -> int:
        return self._core.late_count

    def stats(self) -> dict[str, int]:
        return self._core.stats()

    def push(self, batch: pa.RecordBatch) -> Detected:
        """Reads a batch that has the plan's columns; a bad one raises and changes nothing."""
        with core_errors():
            layout = self._layout_for(batch.schema)
            stored = layout.stored(batch)
            rows = self._rows.append(stored)
            readable = layout.read(batch, self.position)
            columns = self._core.push(readable.__arrow_c_array__())
        self._rows, self._order_types = rows.trim(self._core.oldest_row), layout.order_types
        self._no_rows = stored.slice(0, 0)
        return Detected(columns, rows, self._time_type)

    def finish(self) -> Detected:
        """Completes the tick at hand."""
        with core_errors():
            columns = self._core.finish()
        rows, self._rows = self._rows, self._rows.trim(self.position)
        if not rows.batches and self._no_rows is not None:
            rows = rows.append(self._no_rows)
        return Detected(columns, rows, self._time_type)

    @property
    def _time_type(self) -> pa.DataType:
        time = self._plan.settings.time
        if time is None:
            return pa.int64()
        if self._layout is not None:
            return self._layout.schema.field(time).type
        return self._order_types.get(time, pa.int64())

    def _layout_for(self, schema: pa.Schema) -> Layout:
        if self._layout is None or not schema.equals(self._layout.given):
            layout = layout_of(self._plan, schema, self._order_types)
            self._core.bind(_binding(self._plan, layout))
            self._layout = layout
            self._bind_times()
        return self._layout

    def _bind_times(self) -> None:
        type = self._time_type
        limits = [_interval(limit, type, self._plan) for limit in self._plan.limits_of_time]
        self._core.bind_times(limits, pa.types.is_floating(type))

    def snapshot(self) -> bytes:
        """The state as bytes; see docs/formats.md."""
        with core_errors():
            self._rows = self._rows.compacted()
            return self._core.snapshot(self._plan.hash, write_extra(self._order_types, self._rows))

    def restore(self, data: bytes) -> None:
        """Takes over a snapshot; only for one that has read nothing."""
        with core_errors():
            extra = self._core.restore(data, self._plan.hash)
        needed = range(self._core.oldest_row, self.position)
        self._order_types, self._rows = read_extra(extra, self._plan.keys, needed)
        if set(self._plan.order_columns) <= set(self._order_types):
            with core_errors():
                self._bind_times()


def _binding(plan: AlgebraPlan, layout: Layout) -> _core.DetectionBinding:
    """How the plan meets columns of these types."""
    schema = layout.columns
    if plan.asks_for_type:
        check_is_text("type", plan.settings.type, schema)
    time = plan.settings.time
    return _core.DetectionBinding(
        program=bind_predicates(plan.guards, schema),
        time=None if time is None else (schema.get_field_index(time), is_float_clock(schema, time)),
        keys=layout.keys,
    )


def _interval(limit: ast.Bound, type: pa.DataType, plan: AlgebraPlan) -> _core.Interval:
    """The lengths that a restriction allows, in the ticks of times of this type."""
    ticks = in_ticks(limit, type, plan)
    if pa.types.is_floating(type):
        return _core.Interval.of_floats(0.0, float(ticks), False, False)
    _, most = whole_bounds(ast.Interval(None, limit), None, ticks)
    return _core.Interval(0, min(most, 2**63 - 1))


def times_as(values: pa.Array, type: pa.DataType) -> pa.Array:
    """Times as the core counts them, in the time column's type."""
    if values.type.equals(type):
        return values
    if not pa.types.is_temporal(type):
        return values.cast(type)
    if type.bit_width == 32:
        values = values.cast(pa.int32())
    return values.view(type)
