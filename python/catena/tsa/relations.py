"""Expressions of Temporal Stream Algebra: immutable trees of operators over streams.

Each node knows its schema, worked out when it is made, so a wrong name or kind is an error where it
is written. Method names are those of ibis; nodes are called as in the paper (section 4). Semi-join
and anti-semi-join are nodes of their own, so that engines may evaluate them as such; `composed`
gives the basic operators that they stand for.

An expression is a set of rows, as in the paper: equal rows are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias

from catena.errors import CatenaError
from catena.tsa import schema as rules
from catena.tsa.formulas import (
    TOP,
    Bounded,
    Comparison,
    Formula,
    disjunction,
)
from catena.tsa.schema import Leaf, Schema
from catena.tsa.temporal import relations_of, term_of
from catena.tsa.terms import Name
from catena.tsa.values import (
    PLAIN,
    TEMPORAL,
    Aggregate,
    Attribute,
    Call,
    Kind,
    Value,
    checked_kind,
    kind_of_aggregate,
    type_of,
    value_of,
)

Named: TypeAlias = str | Attribute


class Relation:
    """An expression. Its attributes are `relation.name`, `relation["name"]`, or `_.name`."""

    @property
    def schema(self) -> Schema:
        """Attributes, temporal relations, stream bounds."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Relation, ...]:
        """The expressions that the operator is applied to."""
        return ()

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Attribute:
        known = self.schema.attributes
        if name not in known and not any(other.startswith(f"{name}.") for other in known):
            type_of(Attribute(name), known)
        return Attribute(name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(self.schema.attributes)

    def filter(self, *conditions: object) -> Relation:
        """Rows that satisfy all conditions: σ."""
        return Selection(self, _all_of(conditions))

    def mutate(self, values: Mapping[str, object] | None = None, **more: object) -> Relation:
        """More attributes, computed from those that are there: ι, one after the other."""
        named = {**(values or {}), **more}
        return reduce(lambda e, item: Imbed(e, item[0], value_of(item[1])), named.items(), self)

    def select(self, *names: Named, **renamed: Named) -> Relation:
        """Some attributes: π; `new="old"` also renames: δ."""
        kept = [_name(each) for each in names]
        new = {_name(old): name for name, old in renamed.items()}
        relation: Relation = Projection(self, tuple(kept + list(new)))
        return Renaming(relation, tuple(new.items())) if new else relation

    def group_by(self, *names: Named) -> Groups:
        """Rows with equal attributes, to be aggregated: γ."""
        return Groups(self, tuple(_name(each) for each in names))

    def rename(self, names: Mapping[str, Named] | None = None, **more: Named) -> Relation:
        """Other names, `new="old"`: δ."""
        given = {**(names or {}), **more}
        return Renaming(self, tuple((_name(old), new) for new, old in given.items()))

    def prefix(self, prefix: str) -> Relation:
        """Names that begin with a prefix, `s.time`: δ[* → s.*]."""
        return Renaming(self, tuple((name, f"{prefix}.{name}") for name in self.columns))

    def drop_prefix(self, prefix: str) -> Relation:
        """Names without a prefix: δ[s.* → *]."""
        start = f"{prefix}."
        found = [name for name in self.columns if name.startswith(start)]
        return Renaming(self, tuple((name, name.removeprefix(start)) for name in found))

    def cross_join(self, *others: Relation) -> Relation:
        """All combinations of rows: ×."""
        return reduce(Product, others, self)

    __mul__ = cross_join

    def join(self, other: Relation, *conditions: object) -> Relation:
        """Combinations of rows that satisfy all conditions: ⋈, a selection of the product."""
        return Product(self, other).filter(*conditions)

    def semi_join(self, other: Relation, *conditions: object) -> Relation:
        """Rows for which the other has a row such that the conditions hold: ⋉."""
        return SemiJoin(self, other, _all_of(conditions))

    def anti_join(self, other: Relation, *conditions: object) -> Relation:
        """Rows for which the other has no row such that the conditions hold."""
        return AntiJoin(self, other, _all_of(conditions))

    def union(self, *others: Relation) -> Relation:
        """Rows of any: ∪."""
        return reduce(Union, others, self)

    __or__ = union

    def difference(self, other: Relation) -> Relation:
        """Rows that the other has not: \\."""
        return Difference(self, other)

    __sub__ = difference

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        printer.text(str(self))  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return str(self)


def _name(given: Named) -> str:
    return given.name if isinstance(given, Attribute) else given


def _all_of(conditions: Iterable[object]) -> Value:
    values = [value_of(each) for each in conditions]
    return reduce(lambda a, b: Call("and", (a, b)), values) if values else value_of(True)


@dataclass(frozen=True, eq=False, repr=False)
class Stream(Relation):
    """A stream of data or a static relation, by name: a temporal stream definition.

    `relations` hold in each of its rows; an upper limit of one of the `progressing` attributes is
    one of the stream (Definition 11). Static relations have none.
    """

    name: str
    kinds: Mapping[str, Kind]
    relations: Formula
    progressing: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        bounds = disjunction(Bounded(name, self.bound(name)) for name in self.progressing)
        times = {name: name for name, kind in self.kinds.items() if kind in TEMPORAL}
        is_static = not self.progressing
        leaf = Leaf(self, times)
        return Schema(self.kinds, self.relations, TOP if is_static else bounds, (leaf,))

    @property
    def is_static(self) -> bool:
        return not self.progressing

    def bound(self, attribute: str) -> str:
        """The stream bound identifier of an attribute."""
        return f"{self.name}:{attribute}"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Relation):
    """σ[C](E) (Definition 12)."""

    input: Relation
    condition: Value

    def __post_init__(self) -> None:
        _check_condition(self.condition, self.input.schema)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        schema = self.input.schema
        return schema.where(relations_of(self.condition, schema.attributes))

    def __str__(self) -> str:
        return f"σ[{self.condition}]({self.input})"


@dataclass(frozen=True, eq=False, repr=False)
class Imbed(Relation):
    """ι[a' = t](E) (Definition 13)."""

    input: Relation
    name: str
    value: Value

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.name in self.input.schema.attributes:
            raise CatenaError(f"there is an attribute '{self.name}' already", hint="rename first")
        type_of(self.value, self.input.schema.attributes)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        schema = self.input.schema
        kind = type_of(self.value, schema.attributes)
        term = term_of(self.value, schema.attributes)
        if term is None:
            kind = PLAIN.get(kind, kind)
        wider = schema.with_attributes({**schema.attributes, self.name: kind})
        return wider if term is None else wider.where(Comparison(Name(self.name), "=", term))

    def __str__(self) -> str:
        return f"ι[{self.name} = {self.value}]({self.input})"


@dataclass(frozen=True, eq=False, repr=False)
class Projection(Relation):
    """π[A₁](E) (Definition 14)."""

    input: Relation
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_names(self.names, self.input.schema)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        schema = self.input.schema
        return schema.only({name: schema.attributes[name] for name in self.names})

    def __str__(self) -> str:
        return f"π[{', '.join(self.names)}]({self.input})"


@dataclass(frozen=True, eq=False, repr=False)
class Grouping(Relation):
    """γ[A₁][a'₁ = F₁(a₁), …](E) (Definition 15)."""

    input: Relation
    names: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]

    def __post_init__(self) -> None:
        _check_names(self.names, self.input.schema)
        for name, aggregate in self.aggregates:
            check_name(name)
            if name in self.names:
                raise CatenaError(f"there is an attribute '{name}' already", hint="rename first")
            kind_of_aggregate(aggregate, self.input.schema.attributes)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        schema = self.input.schema
        grouped = schema.only({name: schema.attributes[name] for name in self.names})
        kinds = {n: kind_of_aggregate(a, schema.attributes) for n, a in self.aggregates}
        return grouped.with_attributes({**grouped.attributes, **kinds})

    def __str__(self) -> str:
        aggregates = ", ".join(f"{name} = {value}" for name, value in self.aggregates)
        return f"γ[{', '.join(self.names)}][{aggregates}]({self.input})"


@dataclass(frozen=True)
class Groups:
    """Rows with equal attributes, waiting for `aggregate`."""

    input: Relation
    names: tuple[str, ...]

    def aggregate(
        self, aggregates: Mapping[str, Aggregate] | None = None, **more: Aggregate
    ) -> Relation:
        """One row for each group, with aggregated attributes."""
        return Grouping(self.input, self.names, tuple({**(aggregates or {}), **more}.items()))


@dataclass(frozen=True, eq=False, repr=False)
class Renaming(Relation):
    """δ[a → b, …](E); with `names` as pairs (old, new)."""

    input: Relation
    names: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        _check_names([old for old, _ in self.names], self.input.schema)
        for _, new in self.names:
            check_name(new)
        renamed = [self.new_name(name) for name in self.input.columns]
        if len(set(renamed)) < len(renamed):
            raise CatenaError(f"two attributes would have one name: {', '.join(sorted(renamed))}")

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def new_name(self, name: str) -> str:
        return dict(self.names).get(name, name)

    @cached_property
    def schema(self) -> Schema:
        schema = self.input.schema
        attributes = {self.new_name(name): kind for name, kind in schema.attributes.items()}
        return schema.renamed(self.new_name, attributes)

    def __str__(self) -> str:
        return f"δ[{', '.join(f'{old} → {new}' for old, new in self.names)}]({self.input})"


@dataclass(frozen=True, eq=False, repr=False)
class _Binary(Relation):
    left: Relation
    right: Relation

    def __post_init__(self) -> None:
        self._check()

    def _check(self) -> None:
        """Raises if the operator cannot be applied to the two."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)


class Product(_Binary):
    """E₁ × E₂ (Definition 16)."""

    def _check(self) -> None:
        _check_disjoint(self.left.schema, self.right.schema)

    @cached_property
    def schema(self) -> Schema:
        return rules.product(self.left.schema, self.right.schema)

    def __str__(self) -> str:
        return f"{self.left} × {self.right}"


class Union(_Binary):
    """E₁ ∪ E₂ (Definition 17)."""

    def _check(self) -> None:
        _check_alike(self.left.schema, self.right.schema)

    @cached_property
    def schema(self) -> Schema:
        return rules.union(self.left.schema, self.right.schema)

    def __str__(self) -> str:
        return f"({self.left} ∪ {self.right})"


class Difference(_Binary):
    """E₁ \\ E₂ (Definition 18)."""

    def _check(self) -> None:
        _check_alike(self.left.schema, self.right.schema)

    @cached_property
    def schema(self) -> Schema:
        return rules.difference(self.left.schema, self.right.schema)

    def __str__(self) -> str:
        return f"({self.left} \\ {self.right})"


@dataclass(frozen=True, eq=False, repr=False)
class _Conditional(_Binary):
    condition: Value

    def _check(self) -> None:
        both = Product(self.left, self.right).schema
        _check_condition(self.condition, both)

    @property
    def relation(self) -> Formula:
        """What the condition says about times."""
        both = {**self.left.schema.attributes, **self.right.schema.attributes}
        return relations_of(self.condition, both)

    def _matching(self) -> Relation:
        both = Selection(Product(self.left, self.right), self.condition)
        return Projection(both, self.left.columns)


class SemiJoin(_Conditional):
    """E₁ ⋉[C] E₂."""

    @cached_property
    def schema(self) -> Schema:
        return rules.semi_join(self.left.schema, self.right.schema, self.relation)

    def composed(self) -> Relation:
        """π[A₁](σ[C](E₁ × E₂))."""
        return self._matching()

    def __str__(self) -> str:
        return f"⋉[{self.condition}]({self.left}, {self.right})"


class AntiJoin(_Conditional):
    """The rows of E₁ that E₁ ⋉[C] E₂ has not."""

    @cached_property
    def schema(self) -> Schema:
        return rules.anti_join(self.left.schema, self.right.schema, self.relation)

    def composed(self) -> Relation:
        """E₁ \\ π[A₁](σ[C](E₁ × E₂))."""
        return Difference(self.left, self._matching())

    def __str__(self) -> str:
        return f"⋉̄[{self.condition}]({self.left}, {self.right})"


def check_name(name: str) -> None:
    """Attributes are words, joined by dots."""
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise CatenaError(f"'{name}' is no name of an attribute", hint="words joined by dots")


def _check_names(names: Iterable[str], schema: Schema) -> None:
    seen: set[str] = set()
    for name in names:
        type_of(Attribute(name), schema.attributes)
        if name in seen:
            raise CatenaError(f"the attribute '{name}' is named twice")
        seen.add(name)


def _check_condition(condition: Value, schema: Schema) -> None:
    if type_of(condition, schema.attributes) != "boolean":
        raise CatenaError(f"'{condition}' is no condition", hint="compare it with something")


def _check_disjoint(left: Schema, right: Schema) -> None:
    both = [name for name in left.attributes if name in right.attributes]
    if both:
        raise CatenaError(
            f"both sides have attributes named {', '.join(both)}",
            hint='give a side a prefix: relation.prefix("s")',
        )


def _check_alike(left: Schema, right: Schema) -> None:
    if dict(left.attributes) != dict(right.attributes):
        raise CatenaError(
            f"the two sides have different attributes: {_listed(left)} and {_listed(right)}",
            hint="select and rename until they are the same",
        )


def _listed(schema: Schema) -> str:
    return "{" + ", ".join(f"{name}: {kind}" for name, kind in schema.attributes.items()) + "}"


def _defined(
    name: str, attributes: Mapping[str, str], where: Iterable[Value], progressing: Iterable[Named]
) -> Stream:
    if not name.isidentifier():
        raise CatenaError(f"'{name}' is no name of a stream", hint="letters, digits and _")
    for each in attributes:
        check_name(each)
    kinds = {each: checked_kind(kind) for each, kind in attributes.items()}
    bare = Schema(kinds, TOP, TOP)
    condition = _all_of(where)
    _check_condition(condition, bare)
    names = tuple(map(_name, progressing))
    _check_names(names, bare)
    for each in names:
        if kinds[each] not in TEMPORAL:
            raise CatenaError(
                f"stream {name} cannot progress on '{each}', which is no time but {kinds[each]}",
                hint='times are of kind "time" (whole numbers) or "timestamp"',
            )
    return Stream(name, kinds, relations_of(condition, kinds), names)


def stream(
    name: str,
    attributes: Mapping[str, str],
    *,
    progressing: Named | Iterable[Named],
    where: Iterable[Value] = (),
) -> Stream:
    """A stream: its attributes and their kinds, what holds between its times, and on which of them
    it progresses, that is which of them exceed any limit in the end.

    >>> smoke = stream("Smoke", {"time": "time", "konz": "float64"}, progressing="time")
    >>> print(smoke.schema.bounds)
    bounded(time, Smoke:time)
    """
    given = [progressing] if isinstance(progressing, str | Attribute) else list(progressing)
    if not given:
        raise CatenaError(
            f"stream {name} progresses on no attribute",
            hint="name one in progressing=, or declare a static relation with tsa.static",
        )
    return _defined(name, attributes, where, given)


def static(name: str, attributes: Mapping[str, str], *, where: Iterable[Value] = ()) -> Stream:
    """A relation all rows of which are known from the beginning."""
    return _defined(name, attributes, where, ())


def leaves_of(relation: Relation) -> list[Stream]:
    """The streams of an expression, from left to right, as often as they occur."""
    if isinstance(relation, Stream):
        return [relation]
    return [leaf for each in relation.inputs for leaf in leaves_of(each)]
