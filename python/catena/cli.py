"""The command line: `catena run`, `catena explain`, `catena algebra`, `catena demo`,
`catena bench`.

Bad input of any kind ends with exit code 2 and one line on standard error that says what is wrong,
where, and what to do; matches already written stay written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
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
    _add_algebra(commands)
    demo = commands.add_parser("demo", help="run a query on data that comes with the package")
    demo.set_defaults(command=_demo)
    _add_bench(commands)
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
    _add_files(run, "matches")
    run.set_defaults(command=_run)


def _add_files(run: argparse.ArgumentParser, found: str) -> None:
    """What is read, and how what is found is written."""
    run.add_argument("files", nargs="+", metavar="FILE", help="a file of events")
    run.add_argument("--format", choices=FORMATS, help=f"how to write {found} (default: by the "
                     "ending of --output, else table)")  # fmt: skip
    run.add_argument("-o", "--output", metavar="FILE", help="where to write (default: the screen)")
    run.add_argument("--on-late", choices=("error", "drop"), default="error",
                     help="what to do with a row whose time goes back")  # fmt: skip
    run.add_argument("--count", action="store_true", help=f"print the number of {found} only")
    run.add_argument("--no-progress", action="store_true", help="show no progress bar")


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = commands.add_parser("explain", help="say what a query means and what it guarantees")
    _add_query(explain)
    explain.add_argument("--dot", action="store_true", help="print the automaton for Graphviz")
    explain.set_defaults(command=_explain)


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure how fast queries run on this machine",
        description="Runs a few queries over generated rows: speed, memory, and whether the number "
        "of matches is right. Ends with 1 if it is not.",
    )
    bench.add_argument("--rows", choices=("small", "full"), default="full",
                       help="20,000 or a million rows (default: full)")  # fmt: skip
    bench.add_argument("--json", metavar="FILE", help="write every figure there")
    bench.set_defaults(command=_bench)


def _add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="a query, or a file that holds one")
    _add_columns(parser)
    parser.add_argument("--stream", metavar="COLUMN", help="the column with a row's stream")


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--time", metavar="COLUMN", help="the column with a row's time")
    parser.add_argument("--type", metavar="COLUMN", default="type",
                        help="the column with a row's type (default: type)")  # fmt: skip
    parser.add_argument("--time-unit", metavar="UNIT", help="the unit of a numeric time column")


def _add_algebra(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    algebra = commands.add_parser(
        "algebra", help="detect event expressions with bounded memory"
    ).add_subparsers(metavar="COMMAND", required=True)
    run = algebra.add_parser("run", help="detect an expression in files")
    _add_expression(run)
    _add_files(run, "instances")
    run.set_defaults(command=_run_algebra)
    explain = algebra.add_parser("explain", help="say what an expression means and guarantees")
    _add_expression(explain)
    explain.set_defaults(command=lambda options: _show(_algebra(options).explain().rstrip()))
    bounds = algebra.add_parser(
        "bounds", help="the memory and time that detection takes at most, simplified and not"
    )
    _add_expression(bounds)
    bounds.set_defaults(command=_bounds)
    simplify = algebra.add_parser("simplify", help="print a simpler expression that means the same")
    _add_expression(simplify)
    simplify.set_defaults(command=lambda options: _show(_algebra(options).simplify().text))


def _add_expression(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", metavar="EXPR", help="an event expression, as (A ; B)[2 s]")
    _add_columns(parser)
    parser.add_argument("--define", metavar="NAME=PREDICATE", action="append", default=[],
                        help="a primitive by a predicate; may be repeated")  # fmt: skip
    parser.add_argument("--values", action="store_true", help="show the rows of each instance")
    parser.add_argument("--by", metavar="COLUMN", action="append", default=[],
                        help="detect for each value of the column; may be repeated")  # fmt: skip


def _algebra(options: argparse.Namespace) -> catena.Algebra:
    define = {}
    for given in options.define:
        name, sign, predicate = given.partition("=")
        if not sign or not name.strip():
            raise CatenaError(f"--define is {given!r}", hint="write --define 'hot=value > 40'")
        define[name.strip()] = predicate
    return catena.Algebra(
        options.expression,
        time=options.time,
        type=options.type,
        time_unit=options.time_unit,
        define=define,
        values=options.values,
        by=options.by,
    )


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
    return _write(options, query.plan.columns, partial(query.run, on_late=options.on_late))


def _run_algebra(options: argparse.Namespace) -> int:
    algebra = _algebra(options)
    return _write(options, algebra.plan.columns, partial(algebra.run, on_late=options.on_late))


def _write(
    options: argparse.Namespace,
    columns: Sequence[str],
    run: Callable[[Iterable[pa.RecordBatch]], catena.Matches | catena.Instances],
) -> int:
    """Runs over the files and writes what is found."""
    with Progress(shown=sys.stderr.isatty() and not options.no_progress) as progress:
        found = run(progress.watch(FileBatches(options.files, columns)))
        if options.count:
            print(found.count())
            return 0
        with open_writer(options.output, options.format) as writer:
            for batch in found.batches():
                writer.write(batch)
    return 0


def _bounds(options: argparse.Namespace) -> int:
    given = _algebra(options)
    lines: list[tuple[str, ...]] = [("", "bytes", "instances", "times", "units", "steps")]
    for algebra in (given, given.simplify()):
        bound = algebra.memory_bound()
        numbers = (int(bound), bound.instances, bound.times, bound.units, algebra.time_bound())
        lines.append((algebra.text, *map(str, numbers)))
        if algebra.simplify().text == algebra.text:
            break
    width = max(len(text) for text, *_ in lines)
    for text, *cells in lines:
        print(f"{text:<{width}}  " + "".join(f"{cell:>10}" for cell in cells))
    return 0


def _show(text: str) -> int:
    print(text)
    return 0


def _explain(options: argparse.Namespace) -> int:
    query = _query(options)
    print(query.automaton.to_dot() if options.dot else query.explain().rstrip())
    return 0


def _bench(options: argparse.Namespace) -> int:
    from catena import bench_report  # What it draws with is not installed everywhere.

    results = bench_report.show(options.rows)
    if options.json:
        figures = [result.as_dict() for result in results]
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if all(result.is_right for result in results) else 1


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
