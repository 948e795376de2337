"""The table of matches: positions become the columns that a query shows.

A reader of the core gives starts, ends and the positions of each variable; a column is computed
from these and from the kept rows, for all matches of a read at once (measures.py). Which columns
there are is a list of outputs (compile/outputs.py), so whoever wants other columns, as Spark does,
hands in another list. Cost: linear in what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from catena import _core
from catena.aggregates import PositionLists
from catena.compile.outputs import (
    AttributeOutput,
    EdgeOutput,
    MeasureOutput,
    Output,
    PositionsOutput,
    RowsOutput,
)
from catena.compile.plan import Plan
from catena.engine import Piece
from catena.measures import Measures, attribute_lists
from catena.records import unique_names
from catena.rowstore import RowStore

FIRST_READ: Final = 256
"""Matches made at once at first; each further read makes four times as many, up to the limit. The
core ends a read early when the matches are long."""

READ_MAX: Final = 65_536


def edge_outputs(plan: Plan) -> tuple[Output, ...]:
    """What every match shows beside its items: where it starts and ends, when, and its key."""
    time = plan.settings.time
    times = (EdgeOutput("start_time", "start", time), EdgeOutput("end_time", "end", time))
    return (
        EdgeOutput("start", "start"),
        EdgeOutput("end", "end"),
        *(times if time else ()),
        *(EdgeOutput(key, "end", key) for key in plan.keys),
    )


def match_table(plan: Plan) -> MatchTable:
    """The table that a query shows."""
    outputs = (*edge_outputs(plan), *plan.outputs)
    return MatchTable(plan, outputs, tuple(unique_names(output.name for output in outputs)))


@dataclass(frozen=True, slots=True)
class MatchTable:
    """Makes batches of these outputs, under these names, of the matches of a plan."""

    plan: Plan
    outputs: tuple[Output, ...]
    names: tuple[str, ...]

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """The matches of a piece, in batches of growing size."""
        if piece.results.is_empty:
            return
        reader = piece.results.reader(self.plan.limit)
        size = FIRST_READ
        while True:
            columns = reader.read(size)
            if len(columns[0]) == 0:
                return
            yield self._batch(columns, piece.rows)
            size = min(4 * size, READ_MAX)

    def empty(self, piece: Piece | None) -> pa.RecordBatch:
        """No matches, with the columns' names and, as far as rows have shown them, their types."""
        nothing = np.empty(0, np.int64)
        lists = [(np.zeros(1, np.int32), nothing) for _ in self.plan.variables]
        rows = RowStore(self.plan.kept_columns) if piece is None else piece.rows
        return self._batch((nothing, nothing, lists), rows)

    def _batch(self, columns: _core.MatchColumns, rows: RowStore) -> pa.RecordBatch:
        starts, ends, variables = columns
        lists = {
            name: PositionLists(*pair)
            for name, pair in zip(self.plan.variables, variables, strict=True)
        }
        measures = Measures(self.plan.text, lists, rows.take, len(starts))

        def column(output: Output) -> pa.Array:
            match output:
                case EdgeOutput():
                    at = starts if output.edge == "start" else ends
                    return rows.take(output.attribute, at) if output.attribute else pa.array(at)
                case PositionsOutput():
                    found = lists[output.variable]
                    return pa.ListArray.from_arrays(found.offsets, found.positions)
                case AttributeOutput():
                    return attribute_lists(lists[output.variable], output.attribute, rows.take)
                case RowsOutput():
                    return _rows(output, lists[output.variable], rows)
                case MeasureOutput():
                    return measures.value(output.expression)

        arrays = [column(output) for output in self.outputs]
        return pa.RecordBatch.from_arrays(arrays, names=list(self.names))


def _rows(output: RowsOutput, lists: PositionLists, rows: RowStore) -> pa.Array:
    """The rows at every position of each match, as a list column of structs."""
    taken = [rows.take(name, lists.positions) for name in output.attributes]
    structs = pa.StructArray.from_arrays(taken, names=list(output.attributes))
    return pa.ListArray.from_arrays(pa.array(lists.offsets), structs)
