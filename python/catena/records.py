"""What was found, as objects or as columns: what matches and instances have in common."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from catena.unify import agreed

if TYPE_CHECKING:
    import pandas
    import polars

SHOWN_ROWS: Final = 10
"""Records shown by a notebook."""


class Record:
    """One row of columns of Python values."""

    __slots__ = ("_columns", "_row")

    def __init__(self, columns: Mapping[str, list[Any]], row: int) -> None:
        self._columns = columns
        self._row = row

    def __getitem__(self, name: str) -> Any:
        """An item by its name: a tuple of positions, or a value."""
        if name not in self._columns:
            kind = type(self).__name__.lower()
            raise KeyError(f"{name!r}; a {kind} has {', '.join(map(repr, self._columns))}")
        value = self._columns[name][self._row]
        return tuple(value) if isinstance(value, list) else value

    def get(self, name: str, default: Any = None) -> Any:
        """An item by its name, or the default if there is none of that name."""
        return self[name] if name in self._columns else default

    def keys(self) -> tuple[str, ...]:
        """The names of all items."""
        return tuple(self._columns)

    def to_dict(self) -> dict[str, Any]:
        """All items by name."""
        return {name: self[name] for name in self._columns}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(tuple(self.to_dict().values()))

    def __repr__(self) -> str:
        items = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"{type(self).__name__}({items})"


class Records(ABC):
    """Records in order, made when they are asked for.

    Iterate for objects, or take all at once as columns with `to_arrow`, `to_pandas` or `to_polars`.
    """

    @property
    @abstractmethod
    def _names(self) -> list[str]:
        """The names of the columns."""

    @abstractmethod
    def __iter__(self) -> Iterator[Record]: ...

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records as Arrow batches; at least one, which may be empty."""

    def to_arrow(self) -> pa.Table:
        """All records as an Arrow table."""
        return pa.Table.from_batches(agreed(list(self.batches()))).combine_chunks()

    def to_pandas(self) -> pandas.DataFrame:
        """All records as a pandas DataFrame."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """All records as a polars DataFrame."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def _repr_html_(self) -> str:
        """The first records as a table, for notebooks."""
        shown = []
        for record in self:
            shown.append(record)
            if len(shown) > SHOWN_ROWS:
                break
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._names)
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(str(r[name]))}</td>" for name in self._names)
            + "</tr>"
            for r in shown[:SHOWN_ROWS]
        )
        more = "<p>… and more</p>" if len(shown) > SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def unique_names(
    wanted: Iterable[str], same: Callable[[str], str] = lambda name: name
) -> list[str]:
    """The names in order; one that is taken already gets a number behind it.

    Two names are one if `same` gives one for them.
    """
    names: list[str] = []
    taken: set[str] = set()
    for name in wanted:
        number, free = 2, name
        while same(free) in taken:
            free, number = f"{name}_{number}", number + 1
        names.append(free)
        taken.add(same(free))
    return names


def to_values(array: pa.Array) -> list[Any]:
    """A column as Python values."""
    try:
        values: list[Any] = array.to_pylist()
    except ValueError:  # Nanoseconds that datetime cannot hold, where pandas is not installed.
        values = list(array.to_numpy(zero_copy_only=False))
    return values
