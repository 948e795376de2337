"""The command line: `catena run`, `catena explain`, `catena demo`.

Bad input of any kind ends with exit code 2 and one line on standard error that says what is wrong,
where, and what to do; matches already written stay written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import pyarrow as pa

import catena
from catena.errors import CatenaError
from catena.files import FileBatches
from catena.progress import Progress
from catena.report import FORMATS, open_writer

BAD_INPUT = 2

DEMO_QUERY = """\
SELECT t, h, max(t.value) AS temperature, min(h.value) AS humidity
WHERE (T AS t ; H AS h) FILTER t[value > 40] AND h[value < 25]
PARTITION BY [place]
WITHIN 5 seconds"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; gives the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except CatenaError as error:
        return _complain(error.one_line())
    except BrokenPipeError:  # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, pa.ArrowException) as error:
        return _complain(" ".join(str(error).split()))
    except KeyboardInterrupt:
        return 130


def _complain(line: str) -> int:
    print(f"catena: {line}", file=sys.stderr)
    return BAD_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="catena", description="Recognises complex events in streams."
    )
    parser.add_argument("--version", action="version", version=f"catena {catena.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands)
    _add_explain(commands)
    demo = commands.add_parser("demo", help="run a query on data that comes with the package")
    demo.set_defaults(command=_demo)
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="find the matches of a query in files",
        description="Finds the matches of a query in files, which are read one after the other as "
        "one stream: CSV, JSON lines or Parquet, by their ending (.csv, .jsonl, .parquet, also "
        ".csv.gz and .jsonl.gz).",
    )
    _add_query(run)
    run.add_argument("files", nargs="+", metavar="FILE", help="a file of events")
    run.add_argument("--format", choices=FORMATS, help="how to write matches (default: by the "
                     "ending of --output, else table)")  # fmt: skip
    run.add_argument("-o", "--output", metavar="FILE", help="where to write (default: the screen)")
    run.add_argument("--on-late", choices=("error", "drop"), default="error",
                     help="what to do with a row whose time goes back")  # fmt: skip
    run.add_argument("--count", action="store_true", help="print the number of matches only")
    run.add_argument("--no-progress", action="store_true", help="show no progress bar")
    run.set_defaults(command=_run)


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = commands.add_parser("explain", help="say what a query means and what it guarantees")
    _add_query(explain)
    explain.add_argument("--dot", action="store_true", help="print the automaton for Graphviz")
    explain.set_defaults(command=_explain)


def _add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="a query, or a file that holds one")
    parser.add_argument("--time", metavar="COLUMN", help="the column with a row's time")
    parser.add_argument("--type", metavar="COLUMN", default="type",
                        help="the column with a row's type (default: type)")  # fmt: skip
    parser.add_argument("--stream", metavar="COLUMN", help="the column with a row's stream")
    parser.add_argument("--time-unit", metavar="UNIT", help="the unit of a numeric time column")


def _query(options: argparse.Namespace) -> catena.Query:
    return catena.Query(
        _query_text(options.query),
        time=options.time,
        type=options.type,
        stream=options.stream,
        time_unit=options.time_unit,
    )


def _query_text(given: str) -> str:
    """The query itself, or what the file of that name holds."""
    if "\n" not in given and len(given) < 1000 and not given.lstrip().lower().startswith("select"):
        path = Path(given)
        if path.is_file():
            try:
                return path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                raise CatenaError(f"{given} is not a text file in UTF-8") from None
        if path.suffix and " " not in given:
            raise CatenaError(f"there is no file {given}")
    return given


def _run(options: argparse.Namespace) -> int:
    query = _query(options)
    with Progress(shown=sys.stderr.isatty() and not options.no_progress) as progress:
        batches = progress.watch(FileBatches(options.files, query.plan.columns))
        matches = query.run(batches, on_late=options.on_late)
        if options.count:
            print(matches.count())
            return 0
        with open_writer(options.output, options.format) as writer:
            for batch in matches.batches():
                writer.write(batch)
    return 0


def _explain(options: argparse.Namespace) -> int:
    query = _query(options)
    print(query.automaton.to_dot() if options.dot else query.explain().rstrip())
    return 0


def _demo(options: argparse.Namespace) -> int:
    query = catena.Query(DEMO_QUERY, time="ts")
    print("A temperature above 40 and, within five seconds at the same place, a humidity below 25:")
    print(f"\n{DEMO_QUERY}\n")
    with resources.as_file(resources.files("catena") / "data" / "sensors.csv") as path:
        batches = list(FileBatches([str(path)], query.plan.columns))
        with open_writer(None, "table") as writer:
            for batch in query.run(batches).batches():
                writer.write(batch)
    rows = sum(batch.num_rows for batch in batches)
    print(f"\n{query.count(batches):,} matches in {rows:,} rows.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
