"""Queries: what contributes to which stream, and whether it can be evaluated (Definition 19).

A query (D, E) is valid if E's schema is at least D's: its relations imply those of D, and every
attribute on which D progresses is one on which E does. It is enough to look at the attributes in
H_D: a progressing set of D bounds one of them in every case of G_D.

What is not valid is refused here, with the output attribute that cannot progress, the input that it
would wait for, and the relation that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from catena.errors import CatenaError
from catena.tsa.bounds import GREATEST, ZERO, Bound
from catena.tsa.distances import Distances
from catena.tsa.formulas import And, Comparison, Formula, conjunction, names_of
from catena.tsa.progress import Function, keep, propagation, reach
from catena.tsa.relations import Named, Relation, Stream, check_name
from catena.tsa.schema import Schema
from catena.tsa.temporal import relations_of
from catena.tsa.terms import Name, Shift, visible
from catena.tsa.values import TEMPORAL, Attribute, Value, type_of


class Query:
    """A stream and an expression that contributes to it; valid, or it raises.

    >>> from catena.tsa import _, query, stream
    >>> a = stream("A", {"t": "time"}, progressing="t")
    >>> later = query("Later", a.mutate(u=_.t + 5).select("u"))
    >>> print(later.propagation["u"])
    A:t + 5
    """

    def __init__(self, stream: Stream, relation: Relation) -> None:
        self.stream = stream
        self.relation = relation
        _check_attributes(stream, relation.schema)
        _check_progress(stream, relation.schema)
        _check_relations(stream, relation.schema)

    @property
    def outputs(self) -> dict[str, str]:
        """The output's progressing attributes with their stream bound identifiers."""
        return {name: self.stream.bound(name) for name in self.stream.progressing}

    @cached_property
    def propagation(self) -> Mapping[str, Function]:
        """For each progressing attribute, up to where its rows are known."""
        return {name: propagation(self.relation.schema, name) for name in self.outputs}

    @cached_property
    def keep(self) -> tuple[Mapping[str, Function], ...]:
        """For each occurrence of an input, by its times: rows up to there are not needed again."""
        return tuple(self._bounds(keep, leaf) for leaf in self.relation.schema.leaves)

    @cached_property
    def reach(self) -> tuple[Mapping[str, Function], ...]:
        """For each occurrence of an input, by its times: rows beyond are not needed yet."""
        return tuple(self._bounds(reach, leaf) for leaf in self.relation.schema.leaves)

    def _bounds(self, rule, leaf) -> Mapping[str, Function]:  # type: ignore[no-untyped-def]
        if leaf.stream.is_static:
            return {}
        return {name: rule(self.relation.schema, leaf, name, self.outputs) for name in leaf.names}

    def __repr__(self) -> str:
        return f"{self.stream.name} ← {self.relation}"


def query(
    name: str,
    relation: Relation,
    *,
    progressing: Named | Iterable[Named] | None = None,
    where: Iterable[Value] | None = None,
) -> Query:
    """A query for a stream of its own. What holds between its times, and on which of them it
    progresses, is what the expression says, unless it is given; `query(...).stream` is the stream.
    """
    schema = relation.schema
    if where is None:
        relations = known_relations(schema)
    else:
        relations = conjunction(relations_of(each, schema.attributes) for each in where)
    if progressing is None:
        names = _progressing(name, schema)
    else:
        given = [progressing] if isinstance(progressing, str | Attribute) else progressing
        names = tuple(each.name if isinstance(each, Attribute) else each for each in given)
        for each in names:
            if type_of(Attribute(each), schema.attributes) not in TEMPORAL:
                raise CatenaError(
                    f"{name} cannot progress on '{each}', which is no time",
                    hint="times are attributes of input streams, and temporal terms over them",
                )
    check_name(name)
    return Query(Stream(name, dict(schema.attributes), relations, names), relation)


def _progressing(name: str, schema: Schema) -> tuple[str, ...]:
    found = tuple(each for each in schema.times if schema.is_progressing([each]))
    if found:
        return found
    if not schema.times:
        raise CatenaError(
            f"{name} has no time among its attributes, so it cannot progress",
            hint="keep a time in select and group_by",
        )
    blame = _blame(schema, schema.times[-1])
    raise CatenaError(f"{name} cannot progress on any attribute: {blame[0]}", hint=blame[1])


def known_relations(schema: Schema) -> Formula:
    """What a schema says of the attributes that are there, as a conjunction."""
    dist = schema.analysis.dist
    found: list[Formula] = []
    for i, first in enumerate(schema.times):
        for second in schema.times[i + 1 :]:
            above, below = dist(first, second), dist(second, first)
            if above.is_finite and below.is_finite and above + below == ZERO:
                found.append(Comparison(Name(second), "=", _shifted(first, above)))
                continue
            found += [_limit(second, first, above)] if above.is_finite else []
            found += [_limit(first, second, below)] if below.is_finite else []
    return conjunction(found)


def _shifted(name: str, by: Bound) -> Name | Shift:
    assert not isinstance(by.value, float)
    return Shift(Name(name), by.value) if by.value else Name(name)


def _limit(upper: str, lower: str, by: Bound) -> Comparison:
    return Comparison(Name(upper), "<=" if by.closed else "<", _shifted(lower, by))


def _check_attributes(stream: Stream, schema: Schema) -> None:
    if dict(schema.attributes) == dict(stream.kinds):
        return
    missing = [f"{n}: {k}" for n, k in stream.kinds.items() if schema.attributes.get(n) != k]
    extra = [f"{n}: {k}" for n, k in schema.attributes.items() if stream.kinds.get(n) != k]
    raise CatenaError(
        f"{stream.name}: the expression has other attributes than the stream; "
        f"it lacks {{{', '.join(missing)}}} and has {{{', '.join(extra)}}}",
        hint="select and rename until they are the same; aggregated times are plain values",
    )


def _check_progress(stream: Stream, schema: Schema) -> None:
    for name in stream.progressing:
        if not schema.is_progressing([name]):
            problem, hint = _blame(schema, name)
            raise CatenaError(f"{stream.name}: {problem}", hint=hint)


def _blame(schema: Schema, attribute: str) -> tuple[str, str]:
    """Why an attribute cannot progress, and what would help."""
    for case in schema.analysis.cases:
        for leaf in schema.leaves:
            if leaf.bounds and not _is_bounded(case, attribute, leaf.bounds):
                waits = " or ".join(f"'{visible(name)}'" for name in leaf.bounds)
                missing = " or ".join(f"`{visible(n)} <= {attribute} + …`" for n in leaf.bounds)
                return (
                    f"'{attribute}' cannot progress: it would wait for {leaf.stream.name}, since "
                    f"nothing bounds {waits} from above by '{attribute}'",
                    f"add {missing}",
                )
    raise AssertionError(f"{attribute} can progress")


def _is_bounded(case: Distances, attribute: str, names: Iterable[str]) -> bool:
    return any(name in case.ignored or case.dist(attribute, name) != GREATEST for name in names)


def _check_relations(stream: Stream, schema: Schema) -> None:
    relations = stream.relations
    parts = relations.parts if isinstance(relations, And) else (relations,)
    for part in parts:
        if not schema.analysis.implies(part):
            names = ", ".join(sorted(set(names_of(part))))
            raise CatenaError(
                f"{stream.name}: its definition says {part}, but the expression does not imply it",
                hint=f"filter on it, or weaken the definition; known of {names}: "
                f"{known_relations(schema)}",
            )
