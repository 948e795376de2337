"""The rows of workloads: made by rule from a seed, the same everywhere and for ever.

numpy promises that the raw output of PCG64 for a seed never changes, but not what `Generator` makes
of it, so rows are made from the raw output by integer arithmetic here. A generator turns a few raw
numbers per row into columns, part by part, so the first rows of a long stream are a short one, and
what is needed for a moment does not hide what is measured afterwards.

| generator | rows are | columns |
| --- | --- | --- |
| `typed_rows` | of types drawn by weight | `type` |
| `stock_ticks` | BUY or SELL of companies whose prices wander | `type`, `name`, `price`, `volume` |
| `plug_loads` | loads that the plugs of households measure | `type`, `household`, `plug`, `value` |
| `taxi_trips` | trips between zones | `type`, `pickup`, `dropoff`, `distance`, `fare` |
| `keyed_rows` | of types drawn by weight, of each key in turn | `type`, `id` |
| `relevant_rows` | one in so many relevant, by its type and by its value | `type`, `value` |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

ROWS_AT_ONCE = 4_096
LOT = 100
"""Volumes are multiples of it."""


class StreamError(Exception):
    """The parameters of a generator are wrong."""


@dataclass(frozen=True)
class Words:
    """A column of texts: for each row the number of a name."""

    codes: np.ndarray
    names: tuple[str, ...]

    def values(self) -> np.ndarray:
        return np.array(self.names)[self.codes]

    def arrow(self) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(self.codes), list(self.names))


Column: TypeAlias = Words | np.ndarray


class Generator(Protocol):
    """Makes rows, part by part; what it remembers of the rows before is its own."""

    draws: int
    """Raw numbers for each row."""
    names: dict[str, tuple[str, ...]]
    """Of each column of texts. In `part` such a column is the numbers of names."""

    def part(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        """The next rows, from an array with a row of raw numbers for each."""


def columns(generator: Generator, seed: int, row_count: int) -> dict[str, Column]:
    """The first rows of a stream; the generator must be new."""
    source = np.random.PCG64(seed)
    made: dict[str, np.ndarray] = {}
    for begin in range(0, max(row_count, 1), ROWS_AT_ONCE):
        size = min(ROWS_AT_ONCE, row_count - begin)
        raw = source.random_raw(size * generator.draws).reshape(size, generator.draws)
        for name, values in generator.part(raw).items():
            if name not in made:
                made[name] = np.empty(row_count, dtype=values.dtype)
            made[name][begin : begin + size] = values
    words = generator.names
    return {
        name: Words(values, words[name]) if name in words else values
        for name, values in made.items()
    }


def below(limit: int, raw: np.ndarray) -> np.ndarray:
    """Numbers from 0 up to the limit, which is excluded and small, as good as uniform.

    The upper 32 bits of a raw number, times the limit, over 2^32.
    """
    return ((raw >> np.uint64(32)) * np.uint64(limit) >> np.uint64(32)).astype(np.int64)


class Choice:
    """Draws numbers of names by integer weights."""

    def __init__(self, names: Sequence[str], weights: Sequence[int], what: str) -> None:
        if len(names) != len(weights):
            raise StreamError(f"{len(names)} {what}, {len(weights)} weights")
        self.owner = np.repeat(np.arange(len(weights), dtype=np.int8), weights)

    def of(self, raw: np.ndarray) -> np.ndarray:
        return self.owner[below(len(self.owner), raw)]


class Walks:
    """Numbers that wander in [low, low + spread], one for each of `count` things."""

    def __init__(self, count: int, low: int, spread: int, step: int) -> None:
        self.low, self.spread, self.step = low, spread, step
        self.at = np.arange(count, dtype=np.int64) * (spread // count)

    def of(self, which: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The things move one after the other, each by at most a step; where they are then."""
        steps = below(2 * self.step + 1, raw) - self.step
        walked = np.empty(len(which), dtype=np.int64)
        for thing in np.unique(which):
            own = which == thing
            walked[own] = self.at[thing] + np.cumsum(steps[own])
            self.at[thing] = walked[own][-1]
        # Beyond an end of the range a walk comes back as from a mirror.
        return self.low + np.abs(walked % (2 * self.spread) - self.spread)


# ---------------------------------------------------------------------------------------------
# Generators


class TypedRows:
    """Types drawn by weight, and nothing else."""

    draws = 1

    def __init__(self, types: Sequence[str], weights: Sequence[int]) -> None:
        self.names = {"type": tuple(types)}
        self.choice = Choice(types, weights, "types")

    def part(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        return {"type": self.choice.of(raw[:, 0])}


class StockTicks:
    """Transactions: as often BUY as SELL, companies by weight, volumes of 1 to 50 lots.

    The price of a company moves by up to 50 cents a tick between `low` and `low + spread` cents.
    """

    draws = 4

    def __init__(
        self, companies: Sequence[str], weights: Sequence[int], low: int, spread: int
    ) -> None:
        self.names = {"type": ("BUY", "SELL"), "name": tuple(companies)}
        self.choice = Choice(companies, weights, "companies")
        self.prices = Walks(len(companies), low, spread, 50)

    def part(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        company = self.choice.of(raw[:, 1])
        return {
            "type": below(2, raw[:, 0]).astype(np.int8),
            "name": company,
            "price": self.prices.of(company, raw[:, 2]) / 100,
            "volume": (1 + below(50, raw[:, 3])) * LOT,
        }


class PlugLoads:
    """Measurements in Watts: a plug's load wanders up to 2 kW; every fourth time it is off."""

    draws = 4

    def __init__(self, plugs: int, households: int) -> None:
        self.names = {"type": ("LOAD",)}
        self.plugs, self.households = plugs, households
        self.loads = Walks(plugs, 0, 20_000, 500)

    def part(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        plug = below(self.plugs, raw[:, 1])
        load = self.loads.of(plug, raw[:, 2])
        return {
            "type": np.zeros(len(raw), dtype=np.int8),
            "household": below(self.households, raw[:, 0]),
            "plug": plug,
            "value": np.where(below(4, raw[:, 3]) == 0, 0, load) / 10,
        }


class TaxiTrips:
    """Trips from zone to zone, both drawn by weight, of 0.1 to 20 miles.

    The fare is 3 dollars, 2.50 for each mile, and up to 5 for the time in traffic.
    """

    draws = 4

    def __init__(self, zones: Sequence[str], weights: Sequence[int]) -> None:
        self.names = {"type": ("TRIP",), "pickup": tuple(zones), "dropoff": tuple(zones)}
        self.choice = Choice(zones, weights, "zones")

    def part(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        tenths = 1 + below(200, raw[:, 2])
        return {
            "type": np.zeros(len(raw), dtype=np.int8),
            "pickup": self.choice.of(raw[:, 0]),
            "dropoff": self.choice.of(raw[:, 1]),
            "distance": tenths / 10,
            "fare": (300 + 25 * tenths + below(501, raw[:, 3])) / 100,
        }


class KeyedRows:
    """Types drawn by weight; the key 0 comes first, then 1, and after the last one 0 again."""

    draws = 1

    def __init__(self, keys: int, types: Sequence[str], weights: Sequence[int]) -> None:
        self.names = {"type": tuple(types)}
        self.choice = Choice(types, weights, "types")
        self.keys, self.row = keys, 0

    def part(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        rows = np.arange(self.row, self.row + len(raw))
        self.row += len(raw)
        return {"type": self.choice.of(raw[:, 0]), "id": rows % self.keys}


class RelevantRows:
    """`relevant` of every `among` rows are an A, a B, a C or a D, the others an X.

    The value says the same again: its tens are 0 for an A, 1, 2, 3, and more than that for an X.
    """

    draws = 3

    def __init__(self, relevant: int, among: int) -> None:
        self.names = {"type": ("A", "B", "C", "D", "X")}
        self.relevant, self.among = relevant, among

    def part(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        is_relevant = below(self.among, raw[:, 0]) < self.relevant
        letter = np.where(is_relevant, below(4, raw[:, 1]), 4)
        rest = np.where(is_relevant, below(10, raw[:, 2]), below(1_000_000, raw[:, 2]))
        return {"type": letter.astype(np.int8), "value": letter * 10 + rest}


GENERATORS: dict[str, type[Any]] = {
    "typed_rows": TypedRows,
    "stock_ticks": StockTicks,
    "plug_loads": PlugLoads,
    "taxi_trips": TaxiTrips,
    "keyed_rows": KeyedRows,
    "relevant_rows": RelevantRows,
}


def generator(name: str, parameters: dict[str, Any]) -> Generator:
    """A new generator; raises StreamError if there is none or the parameters are not its own."""
    if name not in GENERATORS:
        raise StreamError(f"no generator {name}; there are {', '.join(GENERATORS)}")
    try:
        made: Generator = GENERATORS[name](**parameters)
    except TypeError as error:
        raise StreamError(f"{name}: {error}".replace(".__init__()", "")) from None
    return made
