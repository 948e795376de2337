"""What Spark needs and says unreadably if it is missing, checked before anything is started."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from catena.errors import CatenaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_VERSIONS: Final = (17, 21, 25)
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORE_SETTING: Final = "spark.sql.streaming.stateStore.providerClass"

_MINIMUM: Final = {"pyspark": (4, 0), "pyarrow": (18, 0), "pandas": (2, 2)}
_INSTALL: Final = "pip install 'catena[spark]'"


def check_batch() -> None:
    """Raises CatenaError if the packages that `match` needs are missing or too old."""
    check_packages("pyspark", "pyarrow")


def check_frame(df: object, *, is_stream: bool) -> None:
    """Raises CatenaError unless it is a DataFrame of the kind that is meant: Spark takes the other
    kind without a word and finds nothing, or evaluates each micro-batch alone."""
    from pyspark.sql import DataFrame

    if not isinstance(df, DataFrame):
        raise CatenaError(
            f"the events are a {type(df).__name__}", hint="pass a DataFrame of PySpark"
        )
    if df.isStreaming and not is_stream:
        raise CatenaError(
            "the DataFrame is a stream, and match and detect want all rows at once",
            hint="use catena.spark.match_stream",
        )
    if is_stream and not df.isStreaming:
        raise CatenaError(
            "the DataFrame is no stream",
            hint="use catena.spark.match, or read it with spark.readStream",
        )


def check_packages(*names: str) -> None:
    """Raises CatenaError if one of these packages is missing or too old."""
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise CatenaError(f"{name} is not installed: {error}", hint=_INSTALL) from None
        found = version_of(str(module.__version__))
        wanted = _MINIMUM.get(name, (0, 0))
        if found < wanted:
            raise CatenaError(
                f"{name} is {module.__version__}, and Spark needs {wanted[0]}.{wanted[1]} or later",
                hint=_INSTALL,
            )


def check_streaming(spark: SparkSession) -> None:
    """Raises CatenaError if something that stateful streaming in Python needs is missing."""
    check_packages("pyspark", "pyarrow", "pandas")
    try:
        importlib.import_module("google.protobuf")
    except ImportError:
        raise CatenaError(
            "protobuf is not installed, and stateful operators in Python need it",
            hint=f"{_INSTALL}, here and where the executors run",
        ) from None
    store = spark.conf.get(STORE_SETTING, "")
    if "RocksDB" not in str(store):
        raise CatenaError(
            "stateful operators in Python need the RocksDB state store, and the session uses "
            f"{str(store).rpartition('.')[2] or 'another one'}",
            hint=f"spark.conf.set({STORE_SETTING!r}, {ROCKSDB!r}) before the query starts",
        )


def check_java() -> None:
    """Raises CatenaError unless a Java that Spark runs on is found; for local sessions."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None or not os.path.exists(java):
        where = f"JAVA_HOME is {home}, where there is none" if home else "there is none on the PATH"
        raise CatenaError(
            f"Spark needs Java, and {where}", hint="install Java 17, for instance openjdk-17"
        )
    asked = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', asked.stderr + asked.stdout)
    version = int(found.group(1)) if found else 0
    if version not in JAVA_VERSIONS and version < max(JAVA_VERSIONS):
        raise CatenaError(
            f"{java} is Java {version or '?'}, and Spark 4 needs 17 or later",
            hint="install Java 17, and set JAVA_HOME to it",
        )


def version_of(text: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
