"""Workloads: what is measured, on which rows, and the answers without which a time is no result.

A file of `workloads/` is a family: query texts, streams, sizes, and a table of expected answers.
`load` gives one `Workload` for each query, window and stream, named `family.query.stream`. Streams
are made by `streams.py`, or read from a data file that is given by its path (`data_files.py`); the
workload file has a checksum of each, which is compared when it is made.
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

import data_files
import streams
from streams import Column, StreamError, Words

FOLDER = Path(__file__).parent / "workloads"
STRATEGIES = ("ALL", "ANY", "NEXT", "LAST", "MAX", "STRICT")
DISTANCES = ".distances"
NOT_RUN = "-"
RESIDUE = "%"
"""Before a number in a table of answers: the remainder of a count that is too long for a table."""
RESIDUE_OF = 2**31 - 1
FILE = "csv"
"""The generator of streams that are read from a data file."""
FEEDS = ("batches", "events")
"""How rows reach the engine: in batches of a table, or as one mapping after the other."""


class WorkloadError(Exception):
    """A workload file, or the choice of workloads, is wrong."""


@dataclass(frozen=True)
class Answer:
    """What a query must give: the number of matches, and how far back their marked rows lie."""

    count: int
    distances: int | None = None
    is_residue: bool = False
    """Whether `count` is the remainder of the number of matches by RESIDUE_OF."""

    def difference(self, found: Answer) -> str:
        """What is wrong with an answer that was found, in words; empty when nothing is."""
        count = found.count % RESIDUE_OF if self.is_residue else found.count
        if count != self.count:
            by = f", by a remainder modulo {RESIDUE_OF}" if self.is_residue else ""
            return f"{count} matches, but there are {self.count}{by}"
        if found.distances != self.distances:
            return f"marked rows lie {found.distances} before the ends, not {self.distances}"
        return ""


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
    last: str = ""
    """The type of the last row, whatever was drawn for it; empty if that stays."""
    plain: tuple[str, ...] = ()
    """Columns of texts that are no dictionaries in the table."""
    file: Path | None = None
    """The data file, where rows are not made but read, and the file is at hand."""

    @property
    def is_at_hand(self) -> bool:
        return self.generator != FILE or self.file is not None

    def columns(self, row_count: int) -> dict[str, Column]:
        """The rows; raises WorkloadError if they are not those of the checksum."""
        try:
            made = self._columns(row_count)
        except StreamError as error:
            raise WorkloadError(f"stream {self.name}: {error}") from None
        found = 0
        for column in made.values():
            values = column.codes if isinstance(column, Words) else column
            found = zlib.crc32(values.tobytes(), found)
        if self.crc32.get(row_count, found) != found:
            raise WorkloadError(f"stream {self.name}: {row_count} rows have checksum {found}")
        return made

    def _columns(self, row_count: int) -> dict[str, Column]:
        if self.generator == FILE:
            if self.file is None:
                raise StreamError("the data file is not given")
            return data_files.columns(self.file, self.parameters["columns"], row_count)
        made = streams.columns(self.made(), self.seed, row_count)
        types = made["type"]
        if self.last and isinstance(types, Words):
            types.codes[-1] = types.names.index(self.last)
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
        """The rows as a table: texts are dictionaries, but for the plain ones."""
        arrays = {
            name: column.arrow() if isinstance(column, Words) else pa.array(column)
            for name, column in self.columns(row_count).items()
        }
        arrays |= {name: arrays[name].dictionary_decode() for name in self.plain}
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
    feed: str = FEEDS[0]
    scan: str = "type"
    """The column that a plain scan reads, to compare with."""

    @property
    def name(self) -> str:
        return f"{self.family}.{self.query}.{self.stream.name}"

    def is_called(self, name: str) -> bool:
        """Whether a user's name means this: the whole, one of its parts, or a pattern with `*`."""
        parts = (self.family, self.query, self.series, self.stream.name)
        return name in parts or fnmatch.fnmatchcase(self.name, name)


# ---------------------------------------------------------------------------------------------
# Files


def load(folder: Path = FOLDER, data: Path | None = None) -> list[Workload]:
    """The workloads of all files of a folder; raises WorkloadError if one is wrong.

    `data`: the data file for the workloads that read one.
    """
    paths = sorted(folder.glob("*.toml"))
    return [workload for path in paths for workload in load_file(path, data=data)]


def choose(workloads: list[Workload], names: Iterable[str]) -> list[Workload]:
    """Those that any of the names means; all if there are no names."""
    names = list(names)
    for name in names:
        if not any(workload.is_called(name) for workload in workloads):
            known = ", ".join(workload.name for workload in workloads)
            raise WorkloadError(f"no workload is called {name}; there are {known}")
    return [w for w in workloads if not names or any(w.is_called(name) for name in names)]


def load_file(path: Path, *, data: Path | None = None, check: bool = True) -> list[Workload]:
    """The workloads of a file. Without `check`, answers may be missing and checksums wrong."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
        return list(_workloads(path.stem, content, data, check))
    except (WorkloadError, tomllib.TOMLDecodeError) as error:
        raise WorkloadError(f"{path}: {error}") from None
    except KeyError as error:
        raise WorkloadError(f"{path}: {error} is missing") from None


def _workloads(
    family: str, content: dict[str, Any], data: Path | None, check: bool
) -> Iterator[Workload]:
    text = content["text"]
    feed, scan = content.get("feed", FEEDS[0]), content.get("scan", "type")
    if "{strategy}" not in text or "{query}" not in text:
        raise WorkloadError("text needs {strategy} and {query}")
    if feed not in FEEDS:
        raise WorkloadError(f"feed is {feed!r}; there are {', '.join(FEEDS)}")
    answers = _answers(content["answers"]["table"])
    made = [
        _stream(name, given, content["sizes"], data, check)
        for name, given in content["streams"].items()
    ]
    for query, (formula, series, window) in _queries(content).items():
        full = text.replace("{query}", formula).replace("{window}", str(window))
        over = content.get("ratios", {}).get(query, {})
        for stream, sizes in made:
            own = answers.pop((query, stream.name), {})
            if check and {size for size, _ in own} != set(sizes):
                raise WorkloadError(f"{query} over {stream.name}: some answers are missing")
            yield Workload(
                family, query, full, stream, sizes, own, over, series, window, feed, scan
            )
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


def _stream(
    name: str, given: dict[str, Any], sizes: dict[str, int], data: Path | None, check: bool
) -> tuple[Stream, dict[str, int]]:
    """A stream, and how many rows it has by size: its own numbers, or those of the file."""
    parameters = dict(given)
    sizes = parameters.pop("sizes", sizes)
    generator, sums = parameters.pop("generator"), parameters.pop("crc32", {})
    is_file = generator == FILE
    stream = Stream(
        name,
        generator,
        has_times=parameters.pop("times", False),
        last=parameters.pop("last", ""),
        plain=tuple(parameters.pop("plain", ())),
        seed=0 if is_file else parameters.pop("seed"),
        crc32={count: sums[size] for size, count in sizes.items()} if check else {},
        file=data if is_file else None,
        parameters=parameters,
    )
    if not is_file:
        stream.made()
    return stream, sizes


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
            own[cells["size"], strategy] = _answer(cells[strategy], cells.get(strategy + DISTANCES))
    return found


def _answer(count: str, distances: str | None) -> Answer:
    return Answer(
        int(count.removeprefix(RESIDUE)),
        None if distances is None else int(distances),
        is_residue=count.startswith(RESIDUE),
    )


def aligned(rows: list[list[str]]) -> str:
    """A table of answers as it stands in a file: the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < 3 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
