"""The oracle of Temporal Stream Algebra: Definitions 12 to 18 on lists of rows.

It shares no code with the package: it reads expressions by the names of their nodes and fields. A
row is a dict; a relation is a list of rows without repetitions. Times are whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = dict[str, Any]
Rows = list[Row]


def distinct(rows: Iterable[Row]) -> Rows:
    """Rows as a set, in order of their first occurrence."""
    return list({tuple(sorted(row.items())): row for row in rows}.values())


def evaluate(relation: Any, streams: Mapping[str, Rows]) -> Rows:
    """An expression over whole streams."""
    return evaluate_with(relation, lambda _, stream: streams[stream.name])


def evaluate_with(relation: Any, leaf: Callable[[int, Any], Rows]) -> Rows:
    """An expression; `leaf` gives the rows of its i-th occurrence of a stream."""
    count = 0

    def of(node: Any) -> Rows:
        nonlocal count
        kind = type(node).__name__
        if kind in ("Stream", "PatternStream"):
            count += 1
            return distinct(leaf(count - 1, node))
        return distinct(OPERATORS[kind](node, *[of(part) for part in node.inputs]))

    return of(relation)


def selection(node: Any, rows: Rows) -> Rows:
    return [row for row in rows if value(node.condition, row) is True]


def imbed(node: Any, rows: Rows) -> Rows:
    return [{**row, node.name: value(node.value, row)} for row in rows]


def projection(node: Any, rows: Rows) -> Rows:
    return [{name: row[name] for name in node.names} for row in rows]


def renaming(node: Any, rows: Rows) -> Rows:
    new = dict(node.names)
    return [{new.get(name, name): each for name, each in row.items()} for row in rows]


def product(node: Any, left: Rows, right: Rows) -> Rows:
    return [{**a, **b} for a in left for b in right]


def union(node: Any, left: Rows, right: Rows) -> Rows:
    return left + right


def difference(node: Any, left: Rows, right: Rows) -> Rows:
    return [row for row in left if row not in right]


def semi_join(node: Any, left: Rows, right: Rows) -> Rows:
    return [a for a in left if any(value(node.condition, {**a, **b}) is True for b in right)]


def anti_join(node: Any, left: Rows, right: Rows) -> Rows:
    return [a for a in left if not any(value(node.condition, {**a, **b}) is True for b in right)]


def grouping(node: Any, rows: Rows) -> Rows:
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in node.names), []).append(row)
    return [
        {
            **dict(zip(node.names, key, strict=True)),
            **{name: aggregate(each, members) for name, each in node.aggregates},
        }
        for key, members in groups.items()
    ]


OPERATORS: dict[str, Callable[..., Rows]] = {
    "Selection": selection,
    "Imbed": imbed,
    "Projection": projection,
    "Renaming": renaming,
    "Product": product,
    "Union": union,
    "Difference": difference,
    "SemiJoin": semi_join,
    "AntiJoin": anti_join,
    "Grouping": grouping,
}


def aggregate(node: Any, rows: Rows) -> Any:
    if node.argument is None:
        return len(rows)
    values = [each for row in rows if (each := value(node.argument, row)) is not None]
    if node.function == "count":
        return len(values)
    if not values:
        return None
    if node.function == "mean":
        return math.fsum(values) / len(values)
    return {"min": min, "max": max, "sum": sum}[node.function](values)


def value(node: Any, row: Row) -> Any:
    """A value over a row, with SQL's three truth values."""
    kind = type(node).__name__
    if kind == "Attribute":
        return row[node.name]
    if kind == "Given":
        return node.value
    return apply(node.function, [value(each, row) for each in node.arguments])


def apply(function: str, values: list[Any]) -> Any:
    if function == "is null":
        return values[0] is None
    if function == "and":
        return False if False in values else None if None in values else True
    if function == "or":
        return True if True in values else None if None in values else False
    if function in ("least", "greatest"):
        known = [each for each in values if each is not None]
        return (min if function == "least" else max)(known) if known else None
    if None in values:
        return None
    return FUNCTIONS[function](*values)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "not": lambda a: not a,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "!=": lambda a, b: a != b,
    "floor": lambda a, b: a // b * b,
    "ceil": lambda a, b: -(-a // b) * b,
}


def fixpoint(queries: Iterable[Any], streams: Mapping[str, Rows], until: int) -> dict[str, Rows]:
    """A program over whole streams, recursive into the future: its rows up to a time.

    Every derived stream begins empty; all queries are evaluated until nothing changes. Rows with a
    time beyond the limit are dropped, so that recursions without end stop; what is computed from
    them only is later still.
    """
    queries = list(queries)
    found: dict[str, Rows] = {query.stream.name: [] for query in queries}
    while True:
        known = {**streams, **found}
        new: dict[str, Rows] = {name: [] for name in found}
        for query in queries:
            rows = evaluate(query.relation, known)
            new[query.stream.name] += [
                row for row in rows if any(row[name] <= until for name in query.stream.progressing)
            ]
        new = {name: distinct(rows) for name, rows in new.items()}
        if all(_alike(new[name], found[name]) for name in found):
            return found
        found = new


def _alike(left: Rows, right: Rows) -> bool:
    return len(left) == len(right) and all(row in right for row in left)
