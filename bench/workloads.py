"""Workloads: what is measured, on which rows, and the answers without which a time is no result.

A file of `workloads/` is a family: query texts, streams, sizes, and a table of expected answers.
`load` gives one `Workload` for each query, window and stream, named `family.query.stream`. Streams
are made by `streams.py`; the file has a checksum of each, which is compared when it is made.
"""

from __future__ import annotations

import fnmatch
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import streams
from streams import Column, StreamError, Words

FOLDER = Path(__file__).parent / "workloads"
STRATEGIES = ("ALL", "ANY", "NEXT", "LAST", "MAX", "STRICT")
DISTANCES = ".distances"
NOT_RUN = "-"


class WorkloadError(Exception):
    """A workload file, or the choice of workloads, is wrong."""


@dataclass(frozen=True)
class Answer:
    """What a query must give: the number of matches, and how far back their marked rows lie."""

    count: int
    distances: int | None = None


@dataclass(frozen=True)
class Stream:
    """Rows made by rule. A stream with times has a column `ts` beside them, the rows' numbers."""

    name: str
    generator: str
    parameters: dict[str, Any]
    seed: int
    crc32: dict[int, int]
    """By number of rows."""
    has_times: bool = False

    def columns(self, row_count: int) -> dict[str, Column]:
        """The rows; raises WorkloadError if they are not those of the checksum."""
        made = streams.columns(self.made(), self.seed, row_count)
        found = 0
        for column in made.values():
            values = column.codes if isinstance(column, Words) else column
            found = zlib.crc32(values.tobytes(), found)
        if self.crc32.get(row_count, found) != found:
            raise WorkloadError(f"stream {self.name}: {row_count} rows have checksum {found}")
        return made

    def made(self) -> streams.Generator:
        try:
            return streams.generator(self.generator, self.parameters)
        except StreamError as error:
            raise WorkloadError(f"stream {self.name}: {error}") from None

    def values(self, row_count: int) -> dict[str, np.ndarray]:
        """The columns, texts as texts."""
        return {
            name: column.values() if isinstance(column, Words) else column
            for name, column in self.columns(row_count).items()
        }

    def type_names(self, row_count: int) -> np.ndarray:
        """The rows' types."""
        return self.values(row_count)["type"]

    def table(self, row_count: int) -> pa.Table:
        """The rows as a table: texts are dictionaries."""
        arrays = {
            name: column.arrow() if isinstance(column, Words) else pa.array(column)
            for name, column in self.columns(row_count).items()
        }
        if self.has_times:
            arrays["ts"] = pa.array(np.arange(row_count))
        return pa.table(arrays)


@dataclass(frozen=True)
class Workload:
    """One query, in one window, over one stream."""

    family: str
    query: str
    text: str
    """With `{strategy}` in it."""
    stream: Stream
    sizes: dict[str, int]
    answers: dict[tuple[str, str], Answer]
    """By size and strategy; one that is not there is not run."""
    over: dict[str, float]
    """By the name of another query of the file: at most so many times its time per row."""
    series: str = ""
    """The name of the query without its window, where the file has it in several."""
    window: int = 0
    """In rows, where the file gives the query's window; else 0."""

    @property
    def name(self) -> str:
        return f"{self.family}.{self.query}.{self.stream.name}"

    def is_called(self, name: str) -> bool:
        """Whether a user's name means this: the whole, one of its parts, or a pattern with `*`."""
        parts = (self.family, self.query, self.series, self.stream.name)
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
    made = [_stream(name, given, sizes, check) for name, given in content["streams"].items()]
    for query, (formula, series, window) in _queries(content).items():
        full = text.replace("{query}", formula).replace("{window}", str(window))
        over = content.get("ratios", {}).get(query, {})
        for stream in made:
            own = answers.pop((query, stream.name), {})
            if check and {size for size, _ in own} != set(sizes):
                raise WorkloadError(f"{query} over {stream.name}: some answers are missing")
            yield Workload(family, query, full, stream, sizes, own, over, series, window)
    if answers:
        raise WorkloadError(f"answers for what is not there: {', '.join(map(str, answers))}")


def _queries(content: dict[str, Any]) -> dict[str, tuple[str, str, int]]:
    """By name: the formula, the series and the window. A window of a list is part of the name."""
    formulas, windows = content["queries"], content.get("windows", {})
    if "{window}" not in content["text"]:
        return {name: (formula, "", 0) for name, formula in formulas.items()}
    found = {}
    for name, formula in formulas.items():
        if isinstance(windows[name], int):
            found[name] = (formula, "", windows[name])
        else:
            found |= {f"{name}_{window}": (formula, name, window) for window in windows[name]}
    return found


def _stream(name: str, given: dict[str, Any], sizes: dict[str, int], check: bool) -> Stream:
    parameters = dict(given)
    generator, seed = parameters.pop("generator"), parameters.pop("seed")
    has_times, sums = parameters.pop("times", False), parameters.pop("crc32", {})
    crc32 = {count: sums[size] for size, count in sizes.items()} if check else {}
    stream = Stream(name, generator, parameters, seed, crc32, has_times)
    stream.made()
    return stream


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
