"""catena: recognises complex events in streams.

>>> import catena
>>> q = catena.Query("SELECT x, y WHERE (T AS x ; H AS y) FILTER x[value > 40] WITHIN 4 EVENTS")
>>> rows = {"type": ["T", "C", "H", "H"], "value": [45, 0, 20, 25]}
>>> for m in q.run(rows):
...     print(m.start, m.end, m["x"], m["y"])
0 2 (0,) (2,)
0 3 (0,) (3,)
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any

from catena.algebra import Algebra, Detector, Instance, Instances
from catena.engine import Limits
from catena.errors import (
    CatenaDataError,
    CatenaError,
    CatenaLimitError,
    CatenaSnapshotError,
    CatenaSyntaxError,
)
from catena.gaps import swg
from catena.matches import Match, Matches
from catena.queries import Query, Stream

__version__ = version("catena")

__all__ = [
    "Algebra",
    "CatenaDataError",
    "CatenaError",
    "CatenaLimitError",
    "CatenaSnapshotError",
    "CatenaSyntaxError",
    "Detector",
    "Instance",
    "Instances",
    "Limits",
    "Match",
    "Matches",
    "Query",
    "Stream",
    "__version__",
    "swg",
]


def __getattr__(name: str) -> Any:
    """`catena.spark` and `catena.tsa` are imported when they are first asked for."""
    if name in ("spark", "tsa"):
        return import_module(f"catena.{name}")
    raise AttributeError(f"module 'catena' has no attribute {name!r}")
