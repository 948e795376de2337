"""Workloads: what is measured, on which rows, and the answers without which a time is no result.

A file of `workloads/` is a family: query texts, streams, sizes, and a table of expected answers.
`load` gives one `Workload` for each query and stream, named `family.query.stream`.

Streams are the same everywhere and for ever: numpy promises that the raw output of PCG64 for a
seed never changes, but not what `Generator` makes of it, so rows are made from the raw output by
integer arithmetic here. The file has a checksum of each stream, which is compared when it is made.
"""

from __future__ import annotations

import fnmatch
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

FOLDER = Path(__file__).parent / "workloads"
STRATEGIES = ("ALL", "ANY", "NEXT", "LAST", "MAX", "STRICT")
DISTANCES = ".distances"
NOT_RUN = "-"
ROWS_AT_ONCE = 4_096


class WorkloadError(Exception):
    """A workload file, or the choice of workloads, is wrong."""


@dataclass(frozen=True)
class Answer:
    """What a query must give: the number of matches, and how far back their marked rows lie."""

    count: int
    distances: int | None = None


@dataclass(frozen=True)
class Stream:
    """Rows made by rule: `typed_rows` draws a type for each row, with the given weights."""

    name: str
    seed: int
    types: tuple[str, ...]
    weights: tuple[int, ...]
    crc32: dict[int, int]
    """By number of rows."""

    def codes(self, row_count: int) -> np.ndarray:
        """The rows' types as positions in `types`; raises WorkloadError if they are not those."""
        codes = typed_rows(self.seed, self.weights, row_count)
        found = zlib.crc32(codes.tobytes())
        if self.crc32.get(row_count, found) != found:
            raise WorkloadError(f"stream {self.name}: {row_count} rows have checksum {found}")
        return codes

    def type_names(self, row_count: int) -> np.ndarray:
        """The rows' types."""
        return np.array(self.types)[self.codes(row_count)]

    def table(self, row_count: int) -> pa.Table:
        """The rows as a table with one column, `type`, a dictionary."""
        codes = pa.array(self.codes(row_count))
        return pa.table({"type": pa.DictionaryArray.from_arrays(codes, list(self.types))})


def typed_rows(seed: int, weights: Sequence[int], row_count: int) -> np.ndarray:
    """For each row the number of a type, int8, drawn with integer weights.

    The upper 32 bits of a raw number, times the sum of the weights, over 2^32, is a number below
    that sum: as good as uniform, as the sum is small. Rows are made a few at a time, so that what
    this needs for a moment does not hide what is measured after it.
    """
    owner = np.repeat(np.arange(len(weights), dtype=np.int8), weights)
    source, total = np.random.PCG64(seed), np.uint64(len(owner))
    codes = np.empty(row_count, dtype=np.int8)
    for begin in range(0, row_count, ROWS_AT_ONCE):
        part = codes[begin : begin + ROWS_AT_ONCE]
        upper = source.random_raw(len(part)) >> np.uint64(32)
        part[:] = owner[(upper * total) >> np.uint64(32)]
    return codes


@dataclass(frozen=True)
class Workload:
    """One query over one stream."""

    family: str
    query: str
    text: str
    """With `{strategy}` in it."""
    stream: Stream
    sizes: dict[str, int]
    answers: dict[tuple[str, str], Answer]
    """By size and strategy; one that is not there is not run."""

    @property
    def name(self) -> str:
        return f"{self.family}.{self.query}.{self.stream.name}"

    def is_called(self, name: str) -> bool:
        """Whether a user's name means this: the whole, one of its parts, or a pattern with `*`."""
        parts = (self.family, self.query, self.stream.name)
        return name in parts or fnmatch.fnmatchcase(self.name, name)


# ---------------------------------------------------------------------------------------------
# Files


def load(folder: Path = FOLDER) -> list[Workload]:
    """The workloads of all files of a folder; raises WorkloadError if one is wrong."""
    return [workload for path in sorted(folder.glob("*.toml")) for workload in load_file(path)]


def choose(workloads: list[Workload], names: Iterable[str]) -> list[Workload]:
    """Those that any of the names means; all if there are no names."""
    names = list(names)
    for name in names:
        if not any(workload.is_called(name) for workload in workloads):
            known = ", ".join(workload.name for workload in workloads)
            raise WorkloadError(f"no workload is called {name}; there are {known}")
    return [w for w in workloads if not names or any(w.is_called(name) for name in names)]


def load_file(path: Path, *, check: bool = True) -> list[Workload]:
    """The workloads of a file. Without `check`, answers may be missing and checksums wrong."""
    try:
        return list(_workloads(path.stem, tomllib.loads(path.read_text("utf-8")), check))
    except (WorkloadError, tomllib.TOMLDecodeError) as error:
        raise WorkloadError(f"{path}: {error}") from None
    except KeyError as error:
        raise WorkloadError(f"{path}: {error} is missing") from None


def _workloads(family: str, content: dict[str, Any], check: bool) -> Iterator[Workload]:
    sizes, text = content["sizes"], content["text"]
    if "{strategy}" not in text or "{query}" not in text:
        raise WorkloadError("text needs {strategy} and {query}")
    answers = _answers(content["answers"]["table"])
    for query, formula in content["queries"].items():
        for stream, parameters in content["streams"].items():
            own = answers.pop((query, stream), {})
            wanted = {(size, strategy) for size in sizes for _, strategy in own}
            if check and (not own or wanted != set(own)):
                raise WorkloadError(f"{query} over {stream}: some answers are missing")
            made = _stream(stream, parameters, sizes, check)
            yield Workload(family, query, text.replace("{query}", formula), made, sizes, own)
    if answers:
        raise WorkloadError(f"answers for what is not there: {', '.join(map(str, answers))}")


def _stream(name: str, parameters: dict[str, Any], sizes: dict[str, int], check: bool) -> Stream:
    if parameters["generator"] != "typed_rows":
        raise WorkloadError(f"stream {name}: no generator {parameters['generator']}")
    types, weights = tuple(parameters["types"]), tuple(parameters["weights"])
    if len(types) != len(weights):
        raise WorkloadError(f"stream {name}: {len(types)} types, {len(weights)} weights")
    crc32 = {count: parameters["crc32"][size] for size, count in sizes.items()} if check else {}
    return Stream(name, parameters["seed"], types, weights, crc32)


def _answers(table: str) -> dict[tuple[str, str], dict[tuple[str, str], Answer]]:
    """The table by query and stream, then by size and strategy."""
    lines = [line.split() for line in table.splitlines() if line.strip()]
    if not lines:
        return {}
    head, *rows = lines
    strategies = [name for name in head[3:] if not name.endswith(DISTANCES)]
    unknown = set(strategies) - set(STRATEGIES)
    if head[:3] != ["query", "stream", "size"] or unknown:
        raise WorkloadError(f"the head of the answers is {' '.join(head)}")
    found: dict[tuple[str, str], dict[tuple[str, str], Answer]] = {}
    for row in rows:
        if len(row) != len(head):
            raise WorkloadError(f"{len(head)} columns, but {' '.join(row)}")
        cells = {name: cell for name, cell in zip(head, row, strict=True) if cell != NOT_RUN}
        own = found.setdefault((cells["query"], cells["stream"]), {})
        for strategy in strategies:
            if strategy not in cells:
                continue
            if (cells["size"], strategy) in own:
                raise WorkloadError(f"twice: {' '.join(row[:3])}")
            distances = cells.get(strategy + DISTANCES)
            own[cells["size"], strategy] = Answer(
                int(cells[strategy]), None if distances is None else int(distances)
            )
    return found
