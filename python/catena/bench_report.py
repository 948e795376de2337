"""The results of `catena bench` on the screen, by rich: a progress bar, then a table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from catena.benchmarks import BENCHMARKS, SIZES, Result, results
from catena.errors import CatenaError

FILE_WIDTH: Final = 120
COLUMNS: Final = ("", "matches", "Mrows/s", "x scan", "Mresults/s", "B/row", "peak MB")


def show(size: str) -> list[Result]:
    """Runs the benchmarks and shows what they gave."""
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        raise CatenaError(
            "catena bench needs rich, which is not installed",
            hint="pip install 'catena[cli]'",
        ) from None
    table = Table(
        title=f"{SIZES[size]:,} rows", box=box.SIMPLE_HEAD, padding=(0, 0, 0, 2), show_edge=False
    )
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    found = []
    for result in _watched(size):
        found.append(result)
        table.add_row(*_cells(result), style=None if result.is_right else "bold red")
    # A file has no width of its own, and no line of it should be broken.
    Console(width=None if sys.stdout.isatty() else FILE_WIDTH).print(table)
    return found


def _watched(size: str) -> Iterator[Result]:
    """The results, with a bar on the terminal while the next one is measured."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(BENCHMARKS[0].name, total=len(BENCHMARKS))
        for number, result in enumerate(results(size), 1):
            name = BENCHMARKS[min(number, len(BENCHMARKS) - 1)].name
            progress.update(task, advance=1, description=name)
            yield result


def _cells(result: Result) -> list[str]:
    right = "" if result.is_right else f" (WRONG: there are {result.expected})"
    return [
        result.name,
        f"{result.found}{right}",
        f"{result.rows_per_second / 1e6:.1f}",
        f"{result.scans:.0f}",
        f"{result.results_per_second / 1e6:.1f}",
        f"{result.graph_bytes_per_row:.0f}",
        f"{result.peak_bytes / 1e6:.0f}",
    ]
