"""Programs: queries that feed each other, in the order in which they are evaluated.

Streams that depend on each other form a component; components are evaluated inputs first. Within a
component a query recurses, which is safe if it does so *into the future*: around every cycle of
propagation functions progress grows, so that from what is known up to t follows what comes a little
after t. That is checked here, by Bellman and Ford's argument: with all limits from outside lifted,
progress must have a least assignment that does not fall, and grow from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from catena.errors import CatenaError
from catena.tsa.bounds import GREATEST, ZERO, Bound
from catena.tsa.increments import Increment
from catena.tsa.patterns import PatternStream
from catena.tsa.progress import Function, Progress, least_of
from catena.tsa.queries import Query
from catena.tsa.relations import Stream, leaves_of

if TYPE_CHECKING:
    from catena.tsa.running import Run


@dataclass(frozen=True)
class Component:
    """Streams that depend on each other, or one that does not depend on itself."""

    increments: tuple[Increment, ...]
    is_recursive: bool
    pattern: PatternStream | None = None

    @cached_property
    def propagation(self) -> Mapping[str, Function]:
        """The progress functions of all its streams."""
        return {b: f for increment in self.increments for b, f in increment.propagation.items()}

    def next(self, progress: Progress) -> dict[str, Bound]:
        """The progress after one more step."""
        return {bound: function.at(progress) for bound, function in self.propagation.items()}

    def settled(self, progress: dict[str, Bound], start: Progress) -> dict[str, Bound] | None:
        """The greatest progress that does not exceed `start` and that a step does not lower; None
        if there is none. `progress` is that of everything else.
        """
        now = dict(start)
        for _ in range(len(now) + 2):
            stepped = self.next(progress | now)
            lower = {bound: min(now[bound], stepped[bound]) for bound in now}
            if lower == now:
                return now
            now = lower
        return None


class Program:
    """Queries, checked together.

    `push` rows with progress into what `run()` gives. `explain()` says how progress is passed on,
    and what is kept of each input.
    """

    def __init__(self, *queries: Query) -> None:
        found: dict[str, tuple[Stream, list[Query]]] = {}
        self._patterns: dict[str, PatternStream] = {}
        self._streams: dict[str, Stream] = {}
        for query in queries:
            self._add(query, found)
        self._queries = {name: (stream, tuple(of)) for name, (stream, of) in found.items()}
        self._check_definitions()
        self.components = self._ordered()
        for component in self.components:
            if component.is_recursive:
                _check_recursion(component)

    def _add(self, query: Query, found: dict[str, tuple[Stream, list[Query]]]) -> None:
        self._know(query.stream)
        found.setdefault(query.stream.name, (query.stream, []))[1].append(query)
        for leaf in leaves_of(query.relation):
            self._know(leaf)
            if isinstance(leaf, PatternStream) and leaf.name not in self._patterns:
                self._patterns[leaf.name] = leaf
                self._add(leaf.source, found)

    def _know(self, stream: Stream) -> None:
        known = self._streams.setdefault(stream.name, stream)
        if known is not stream and (
            known.kinds != stream.kinds
            or known.relations != stream.relations
            or known.progressing != stream.progressing
        ):
            raise CatenaError(
                f"there are two streams named {stream.name}", hint="give one another name"
            )

    def _check_definitions(self) -> None:
        for name, (stream, _) in self._queries.items():
            if stream.is_static:
                raise CatenaError(
                    f"{name} is static, so no query contributes to it",
                    hint="declare it with tsa.stream, or compute it beforehand",
                )
            if name in self._patterns:
                raise CatenaError(f"{name} is what a pattern finds, so no query contributes to it")

    @property
    def inputs(self) -> tuple[Stream, ...]:
        """The streams whose rows are pushed, and static relations."""
        return tuple(
            stream
            for name, stream in self._streams.items()
            if name not in self._queries and name not in self._patterns
        )

    @property
    def streams(self) -> Mapping[str, Stream]:
        """All streams by name."""
        return self._streams

    @property
    def outputs(self) -> tuple[Stream, ...]:
        """The streams that queries contribute to, but for what patterns read."""
        hidden = {pattern.source.stream.name for pattern in self._patterns.values()}
        return tuple(s for name, (s, _) in self._queries.items() if name not in hidden)

    @cached_property
    def consumed(self) -> frozenset[str]:
        """The streams that some query reads."""
        return frozenset(
            leaf.name
            for _, queries in self._queries.values()
            for query in queries
            for leaf in leaves_of(query.relation)
        )

    def keep(self, stream: Stream) -> Mapping[str, Function]:
        """For each time of a stream: up to where its rows are needed by no query any more."""
        found: dict[str, list[Function]] = {}
        for component in self.components:
            for increment in component.increments:
                for leaf, name, function in increment.keeps():
                    if leaf.name == stream.name:
                        found.setdefault(name, []).append(function)
        return {name: least_of(functions) for name, functions in found.items()}

    def _reads(self, name: str) -> set[str]:
        if name in self._patterns:
            return {self._patterns[name].source.stream.name}
        if name not in self._queries:
            return set()
        return {s.name for query in self._queries[name][1] for s in leaves_of(query.relation)}

    def _ordered(self) -> tuple[Component, ...]:
        """Components, inputs first."""
        derived = [*self._queries, *self._patterns]
        reachable = {name: self._reads(name) for name in derived}
        for middle in derived:
            for name in derived:
                if middle in reachable[name]:
                    reachable[name] = reachable[name] | reachable[middle]
        left, done, components = list(derived), set[str](), []
        while left:
            first = next(
                n for n in left
                if all(o in done or n in reachable[o] for o in reachable[n] if o in reachable)
            )  # fmt: skip
            names = [first, *(o for o in left if o != first and o in reachable[first]
                              and first in reachable[o])]  # fmt: skip
            components.append(self._component(names, first in reachable[first]))
            done.update(names)
            left = [name for name in left if name not in done]
        return tuple(components)

    def _component(self, names: list[str], is_recursive: bool) -> Component:
        if names[0] in self._patterns and not is_recursive:
            return Component((), False, self._patterns[names[0]])
        for name in names:
            if name in self._patterns:
                raise CatenaError(
                    f"the pattern of {name} reads what is computed from its own matches",
                    hint="only queries may recurse",
                )
        return Component(tuple(Increment(*self._queries[name]) for name in names), is_recursive)

    def run(self, engine: Any = None, *, static: Mapping[str, Any] | None = None) -> Run[Any]:
        """Begin: on DuckDB in memory, or on a given engine, with the rows of static relations."""
        from catena.tsa.running import Run

        if engine is None:
            engine = import_engine("catena.tsa.on_duckdb").DuckDB()
        return Run(self, engine, static or {})

    def evaluate(
        self,
        rows: Mapping[str, Any],
        engine: Any = None,
        *,
        static: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """All at once: what comes out of whole streams, by stream."""
        return self.run(engine, static=static).finish(rows)

    def explain(self) -> str:
        """What each stream passes on and when, and what is kept of each input, in words."""
        from catena.tsa.explain import explain

        return explain(self)

    def __repr__(self) -> str:
        return "\n".join(str(query) for _, queries in self._queries.values() for query in queries)


class _Unlimited(dict[str, Bound]):
    """The progress of everything else, as if it were known for ever."""

    def __missing__(self, bound: str) -> Bound:
        return GREATEST

    def __or__(self, other: Progress) -> _Unlimited:  # type: ignore[override]
        return _Unlimited({**self, **other})


def import_engine(module: str) -> Any:
    """A module that needs what comes with an extra; raises with what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        extra = "tsa,spark" if "spark" in module else "tsa"
        raise CatenaError(
            f"{error.name} is not installed", hint=f"pip install 'catena[{extra}]'"
        ) from error


def _check_recursion(component: Component) -> None:
    """Around every cycle progress must grow."""
    outside = _Unlimited()
    start = component.settled(outside, dict.fromkeys(component.propagation, ZERO))
    now = start
    for _ in component.propagation:
        now = component.next(outside | now) if now is not None else None
    if start is None or now is None or any(now[bound] <= start[bound] for bound in start):
        names = ", ".join(increment.stream.name for increment in component.increments)
        functions = "; ".join(f"{b} = {f}" for b, f in component.propagation.items())
        raise CatenaError(
            f"the recursion of {names} does not go into the future: {functions}",
            hint="what a row is computed from must be earlier by a constant: add … + c to its time",
        )
