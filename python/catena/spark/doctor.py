"""A check of where queries will run: what executors have, told in plain words.

Executors need the package itself, compiled: installed there, or sent as a packed environment. One
small task for every executor imports what is needed and reports; nothing of the package is needed
for that task to run, so it can tell that the package is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from catena.errors import CatenaError
from catena.spark.requirements import ROCKSDB, STORE_SETTING, check_batch, check_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES: Final = ("catena", "pyarrow", "pandas", "google.protobuf", "pyspark")
_MANY_ROWS: Final = 100_000
"""More rows than a session runs tasks at once: it then makes as many partitions as that."""

_REPORT: Final = "place string, python string, package string, version string, error string"


@dataclass(frozen=True)
class Finding:
    """A package in one place: its version, or why it cannot be imported."""

    place: str
    python: str
    package: str
    version: str | None
    error: str | None


@dataclass(frozen=True)
class Diagnosis:
    """What `doctor` found; `problems` is empty if queries can run."""

    spark_version: str | None
    """None if there was no session to ask."""
    findings: tuple[Finding, ...]
    problems: tuple[str, ...] = field(default=())

    @property
    def is_well(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        lines = [f"Spark {self.spark_version or 'not started'}"]
        for place in dict.fromkeys(f.place for f in self.findings):
            found = [f for f in self.findings if f.place == place]
            versions = ", ".join(f"{f.package} {f.version or 'missing'}" for f in found)
            lines.append(f"{place}: Python {found[0].python}, {versions}")
        lines += [f"problem: {problem}" for problem in self.problems] or ["all is well"]
        return "\n".join(lines)

    __repr__ = __str__


def doctor(spark: SparkSession | None = None, tasks: int | None = None) -> Diagnosis:
    """Runs a task on every executor and reports versions and import errors.

    `tasks`: how many are started; by default as many as Spark runs at once, so that each executor
    that is there gets some. Without a session: only what is here, and if a local session could
    start.

    >>> print(catena.spark.doctor(spark))                             # doctest: +SKIP
    """
    here = _findings("driver")
    if spark is None:
        return Diagnosis(None, tuple(here), (*_import_problems(here), *_java_problems()))
    check_batch()
    rows = spark.range(0, _MANY_ROWS, 1, tasks).mapInArrow(_examination(), _REPORT).collect()
    there = [Finding(**row.asDict()) for row in rows]
    findings = tuple(dict.fromkeys([*here, *there]))
    problems = (*_import_problems(findings), *_store_problems(spark))
    return Diagnosis(spark.version, findings, problems)


def _findings(place: str) -> list[Finding]:
    return [Finding(place, *found) for found in _examine(PACKAGES)]


def _examine(packages: tuple[str, ...]) -> list[tuple[str, str, str | None, str | None]]:
    """Of every package its version or the error of importing it."""
    import importlib
    import platform

    found: list[tuple[str, str, str | None, str | None]] = []
    for name in packages:
        try:
            module = importlib.import_module(name)
            version, error = str(getattr(module, "__version__", "?")), None
        except Exception as problem:
            version, error = None, f"{type(problem).__name__}: {problem}"
        found.append((platform.python_version(), name, version, error))
    return found


def _examination() -> Any:
    """`_examine` as a function that is sent whole, since the package may be missing there."""
    packages = PACKAGES
    code = _examine.__code__

    def examine(batches: Iterator[Any]) -> Iterator[Any]:
        import socket
        import types

        import pyarrow

        for _ in batches:
            pass
        place = f"executor on {socket.gethostname()}"
        found = types.FunctionType(code, {"__builtins__": __builtins__})(packages)
        names = ["place", "python", "package", "version", "error"]
        columns = zip(*((place, *row) for row in found), strict=True)
        arrays = [pyarrow.array(values, pyarrow.string()) for values in columns]
        yield pyarrow.RecordBatch.from_arrays(arrays, names=names)

    return examine


def _import_problems(findings: Sequence[Finding]) -> Iterator[str]:
    own = {f.package: f.version for f in findings if f.place == "driver"}
    for f in findings:
        if f.error is not None:
            yield f"{f.place}: {f.package} cannot be imported: {f.error}. {_remedy(f.package)}"
        elif f.package in ("catena", "pyspark") and f.version != own[f.package]:
            yield f"{f.place}: {f.package} is {f.version}, but the driver's is {own[f.package]}"


def _java_problems() -> Iterator[str]:
    try:
        check_java()
    except CatenaError as error:
        yield str(error)


def _store_problems(spark: SparkSession) -> Iterator[str]:
    if "RocksDB" not in str(spark.conf.get(STORE_SETTING, "")):
        yield (
            "streams need the RocksDB state store: "
            f"spark.conf.set({STORE_SETTING!r}, {ROCKSDB!r}). Batch queries do without"
        )


def _remedy(package: str) -> str:
    if package == "catena":
        return (
            "Install its wheel there, or send a packed environment with spark.archives; a wheel or "
            "zip sent with addPyFile cannot carry its compiled module"
        )
    needed_by = {"google.protobuf": "streams", "pandas": "streams and pandas functions"}
    return f"It is needed by {needed_by.get(package, 'every query')}"
