"""Events one by one, gathered into columns."""

from collections.abc import Iterable, Mapping
from typing import Any

def gather(rows: Iterable[Mapping[str, Any]], columns: list[str]) -> list[list[Any]]: ...
