"""A program in words: schemas, how progress is passed on, what is kept of each input."""

from __future__ import annotations

from collections.abc import Iterator

from catena.tsa.formulas import TOP
from catena.tsa.programs import Component, Program
from catena.tsa.progress import NEVER, UNLIMITED, Function
from catena.tsa.relations import Stream


def explain(program: Program) -> str:
    """The text of `Program.explain`."""
    lines = [line for component in program.components for line in _component(component)]
    return "\n".join([*lines, *_kept(program)])


def _component(component: Component) -> Iterator[str]:
    if component.pattern is not None:
        pattern = component.pattern
        yield f"{_schema(pattern)}"
        yield f"  matches of {' '.join(pattern.pattern.text.split())}"
        yield f"  complete up to end = {pattern.source.stream.bound(pattern.time)}"
        return
    if component.is_recursive:
        names = ", ".join(increment.stream.name for increment in component.increments)
        yield f"recursive, into the future: {names}"
    for increment in component.increments:
        yield _schema(increment.stream)
        for query in increment.queries:
            yield f"  ← {query.relation}"
        for bound, function in increment.propagation.items():
            yield f"  complete up to {bound.partition(':')[2]} = {_until(function)}"


def _schema(stream: Stream) -> str:
    attributes = ", ".join(f"{name}: {kind}" for name, kind in stream.kinds.items())
    known = "" if stream.relations == TOP else f", {stream.relations}"
    return f"{stream.name} = {{{attributes}}}{known}, {stream.schema.bounds}"


def _until(function: Function) -> str:
    return "the end: static relations only" if function == UNLIMITED else str(function)


def _kept(program: Program) -> Iterator[str]:
    """What is kept of each stream that is read."""
    for name, stream in program.streams.items():
        if name not in program.consumed:
            continue
        if stream.is_static:
            yield f"keeps {name}: it is static"
            continue
        limits = [
            f"{attribute} > {function}"
            for attribute, function in program.keep(stream).items()
            if function != NEVER
        ]
        lacks = "nothing bounds results from above by its times"
        yield f"keeps {name} where {' and '.join(limits)}" if limits else f"keeps {name}: {lacks}"
