"""From text to the abstract syntax tree.

lark does the parsing by `grammar.lark`; this file builds our nodes, with their places in the text,
and turns what went wrong into errors that say where, what was expected, and what to try.

Invariant: whatever the text, the only exceptions are CatenaErrors. Cost: linear in the text;
building the parser takes a third of a second, once per process, when first needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any, Final, Literal, TypeAlias, cast

import lark
from lark import Token, Tree

from catena.errors import CatenaError, CatenaLimitError, nearest
from catena.query import ast
from catena.query.syntax_errors import syntax_error
from catena.query.trees import DIGITS_MAX, Child, TreeBuilder, check_depth, check_size

Context: TypeAlias = Literal["predicate", "condition", "measure"]
Start: TypeAlias = Literal["query", "formula", "expression"]

_INT64_MAX: Final = 2**63 - 1
_UINT64_MAX: Final = 2**64 - 1

_AGGREGATES: Final = ("first", "last", "min", "max", "sum", "avg", "count")
_OPERATORS: Final = {"==": "=", "<>": "!="}
_PUNCTUATION: Final = frozenset({
    "LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE", "COMMA", "SEMICOLON", "COLON", "DOT",
    "MORETHAN", "STAR",
})  # fmt: skip
_KEYWORDS: Final = frozenset({
    "SELECT", "FROM", "WHERE", "PARTITION", "BY", "WITHIN", "CONSUME", "LIMIT", "FILTER", "UNLESS",
    "OR", "AND", "AS", "IN", "LIKE", "BETWEEN", "IS", "RANGE", "COLON_PLUS",
})  # fmt: skip
_DROPPED: Final = _PUNCTUATION | _KEYWORDS


def parse(text: str) -> ast.Query:
    """A whole query."""
    return cast(ast.Query, _parse(text, "query"))


def parse_formula(text: str) -> ast.Formula:
    """A formula by itself."""
    return cast(ast.Formula, _parse(text, "formula"))


def parse_predicate(text: str) -> ast.Expression:
    """A predicate of one row by itself."""
    return cast(ast.Expression, _parse(text, "expression"))


@cache
def _grammar() -> lark.Lark:
    text = (resources.files("catena.query") / "grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(
        text,
        parser="lalr",
        start=["query", "formula", "expression"],
        propagate_positions=True,
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def _parse(text: str, start: Start) -> ast.Query | ast.Formula | ast.Expression:
    if not isinstance(text, str):
        raise CatenaError(f"a query is a string, not {type(text).__name__}")
    check_size(text)
    try:
        tree = _grammar().parse(text, start=start)
    except lark.exceptions.UnexpectedInput as error:
        raise syntax_error(text, error) from None
    check_depth(tree)
    try:
        return _Builder(text).build(tree, start)
    except RecursionError:
        raise CatenaLimitError(
            "the query has too many operators in a row", hint="split it into several queries"
        ) from None


class _Builder(TreeBuilder):
    """Builds nodes from a parse tree; one method per rule of the grammar, found by its name."""

    def build(self, tree: Child, start: Start) -> ast.Query | ast.Formula | ast.Expression:
        if start == "query":
            assert isinstance(tree, Tree)
            return self._query(tree)
        if start == "formula":
            return self._formula(tree)
        return self._expression(tree, "predicate")

    # Places, names and errors

    def _parts(self, tree: Tree[Token]) -> list[Child]:
        """The children that carry meaning: no punctuation and no keywords."""
        return [c for c in tree.children if not (isinstance(c, Token) and c.type in _DROPPED)]

    def _tokens(self, tree: Tree[Token]) -> list[str]:
        return [child.type for child in tree.children if isinstance(child, Token)]

    def _names(self, tree: Child) -> tuple[str, ...]:
        if isinstance(tree, Token):
            return (self._name(tree),)
        return tuple(self._name(part) for part in self._parts(tree))

    # The query

    def _query(self, tree: Tree[Token]) -> ast.Query:
        clauses: dict[str, Any] = {"strategy": ast.Strategy.ALL, "streams": ()}
        for part in tree.children:
            if isinstance(part, Tree) and part.data in self._CLAUSES:
                name, build = self._CLAUSES[str(part.data)]
                clauses[name] = build(self, part)
            elif not (isinstance(part, Token) and part.type in _KEYWORDS):
                clauses["formula"] = self._formula(part)
        return ast.Query(**clauses, span=self._span(tree))

    def _strategy(self, tree: Tree[Token]) -> ast.Strategy:
        return ast.Strategy(str(tree.children[0]).upper())

    def _items(self, tree: Tree[Token]) -> tuple[ast.Item, ...] | None:
        tokens = self._tokens(tree)
        if "STAR" in tokens:
            return None
        return tuple(self._item(part) for part in tree.children if isinstance(part, Tree))

    def _item(self, tree: Tree[Token]) -> ast.Item:
        span = self._span(tree)
        parts = self._parts(tree)
        if tree.data == "attributes_item":
            return ast.VariableItem(self._name(parts[0]), self._names(parts[1]), span=span)
        value = parts[0]
        if isinstance(value, Tree) and value.data == "bare_name" and len(parts) == 1:
            return ast.VariableItem(self._name(value.children[0]), span=span)
        if isinstance(value, Tree) and value.data == "bare_name":
            raise self._error(
                tree, "AS in SELECT names a measure, not a variable",
                f"name the variable in the formula: ... AS {self._name(parts[1])}",
            )  # fmt: skip
        name = self._name(parts[1]) if len(parts) == 2 else None
        return ast.MeasureItem(self._expression(value, "measure"), name, span=span)

    def _streams(self, tree: Tree[Token]) -> tuple[str, ...]:
        return self._names(self._parts(tree)[0])

    def _partition(self, tree: Tree[Token]) -> tuple[tuple[str, ...], ...]:
        return tuple(self._names(part) for part in self._parts(tree))

    def _window_clause(self, tree: Tree[Token]) -> ast.Window:
        return self._window(self._parts(tree)[0])

    def _consume(self, tree: Tree[Token]) -> ast.Consume:
        return ast.Consume(str(tree.children[-1]).upper())

    def _limit(self, tree: Tree[Token]) -> int:
        number = self._count(tree.children[-1])
        if "MINUS" in self._tokens(tree) or number is None:
            raise self._error(
                tree, "LIMIT needs a whole number above zero", "leave LIMIT out to get all matches"
            )
        return number

    def _count(self, number: Child) -> int | None:
        """A whole number above zero, or None."""
        text = str(number)
        if not text.isdecimal() or not text.strip("0"):
            return None
        if len(text) > DIGITS_MAX or int(text) > _INT64_MAX:
            raise self._error(number, "the integer does not fit 64 bits")
        return int(text)

    _CLAUSES: Final[dict[str, tuple[str, Callable[[Any, Tree[Token]], Any]]]] = {
        "strategy": ("strategy", _strategy),
        "items": ("items", _items),
        "streams": ("streams", _streams),
        "partition": ("partition", _partition),
        "window_clause": ("window", _window_clause),
        "consume": ("consume", _consume),
        "limit": ("limit", _limit),
    }

    # Time

    def _window(self, child: Child) -> ast.Window:
        assert isinstance(child, Tree)
        span = self._span(child)
        if child.data == "attribute_window":
            number, name = self._parts(child)
            return ast.AttributeWindow(self._amount(number), self._name(name), span=span)
        duration = self._parts(child)[0]
        assert isinstance(duration, Tree)
        words = [str(part) for part in duration.children]
        if len(words) == 2 and words[1].lower() in ("event", "events"):
            return self._events_window(duration)
        return ast.TimeWindow(self._bound(duration), span=span)

    def _events_window(self, duration: Tree[Token]) -> ast.EventsWindow:
        count = self._count(duration.children[0])
        if count is None:
            raise self._error(
                duration, "a window of EVENTS needs a whole number above zero",
                "a match that is one row spans 1 EVENTS",
            )  # fmt: skip
        return ast.EventsWindow(count, span=self._span(duration))

    def _interval(self, tree: Tree[Token]) -> ast.Interval:
        span = self._span(tree)
        bounds = [self._bound(part) for part in tree.children if isinstance(part, Tree)]
        if tree.data == "comparison_interval":
            (bound,) = bounds
            op = str(self._parts(tree)[0])
            low = None if op in ("<", "<=") else bound
            high = None if op in (">", ">=") else bound
            if op == "<" and bound.amount == 0:
                raise self._error(tree, "the interval is empty", "no time difference is below zero")
            return ast.Interval(low, high, op == ">", op == "<", span=span)
        tokens = self._tokens(tree)
        low, high = self._same_unit(*bounds)
        interval = ast.Interval(low, high, tokens[0] == "LPAR", tokens[-1] == "RPAR", span=span)
        self._check_interval(tree, interval)
        return interval

    def _same_unit(self, low: ast.Bound, high: ast.Bound) -> tuple[ast.Bound, ast.Bound]:
        """Zero needs no unit of its own: `[0, 5 s]` means `[0 s, 5 s]`."""
        if low.unit is None and low.amount == 0:
            low = ast.Bound(low.amount, high.unit, span=low.span)
        return low, high

    def _check_interval(self, tree: Tree[Token], interval: ast.Interval) -> None:
        low, high = interval.low, interval.high
        assert low is not None and high is not None
        if (low.unit is None) != (high.unit is None):
            raise self._error(tree, "one end of the interval has a unit and the other has none")
        low_ns = low.amount * (low.unit.nanoseconds if low.unit else 1)
        high_ns = high.amount * (high.unit.nanoseconds if high.unit else 1)
        is_open = interval.low_open or interval.high_open
        if low_ns > high_ns or (low_ns == high_ns and is_open):
            raise self._error(tree, "the interval is empty", "the smaller bound comes first")

    # Formulas

    def _formula(self, child: Child) -> ast.Formula:
        assert isinstance(child, Tree)
        rule, span = str(child.data), self._span(child)
        parts = self._parts(child)
        match rule:
            case "group":
                return self._formula(parts[0])
            case "event":
                return ast.Atom(self._name(parts[0]), span=span)
            case "stream_event":
                return ast.Atom(self._name(parts[-1]), self._name(parts[0]), span=span)
            case "any_event":
                return ast.AnyEvent(span=span)
            case "as_formula":
                return ast.As(self._formula(parts[0]), self._name(parts[1]), span=span)
            case "filter":
                condition = self._expression(parts[1], "condition")
                return ast.Filter(self._formula(parts[0]), condition, span=span)
            case "or_formula":
                return ast.Or(self._formula(parts[0]), self._formula(parts[1]), span=span)
            case "and_formula":
                return ast.And(self._formula(parts[0]), self._formula(parts[1]), span=span)
            case "unless":
                return ast.Unless(self._formula(parts[0]), self._formula(parts[1]), span=span)
            case "iteration" | "contiguous_iteration":
                interval = self._interval_among(parts)
                contiguous = rule == "contiguous_iteration"
                return ast.Iteration(self._formula(parts[0]), contiguous, interval, span=span)
            case "within" | "select" | "project":
                return self._operator(rule, parts, span)
            case _:
                return self._link(rule, parts, span)

    def _interval_among(self, parts: list[Child]) -> ast.Interval | None:
        for part in parts:
            if isinstance(part, Tree) and str(part.data).endswith("_interval"):
                return self._interval(part)
        return None

    def _link(self, rule: str, parts: list[Child], span: ast.Span) -> ast.Formula:
        left, right = self._formula(parts[0]), self._formula(parts[-1])
        if rule == "followed_by":
            return ast.FollowedBy(left, right, span=span)
        interval = self._interval_among(parts)
        if rule == "absent_between":
            absent = self._formula(next(p for p in parts[1:] if isinstance(p, Tree)))
            return ast.AbsentBetween(left, absent, right, interval, span=span)
        return ast.Sequence(left, right, rule == "contiguous_sequence", interval, span=span)

    def _operator(self, rule: str, parts: list[Child], span: ast.Span) -> ast.Formula:
        if rule == "select":
            strategy = ast.Strategy(str(parts[0]).upper())
            return ast.Select(strategy, self._formula(parts[1]), span=span)
        if rule == "project":
            names = parts[1:-1]
            variables = self._names(names[0]) if names else ()
            return ast.Project(variables, self._formula(parts[-1]), span=span)
        limit = parts[1]
        assert isinstance(limit, Tree)
        is_interval = str(limit.data).endswith("_interval")
        within = self._interval(limit) if is_interval else self._window(limit)
        return ast.Within(self._formula(parts[0]), within, span=span)

    # Expressions

    def _expression(self, child: Child, context: Context) -> ast.Expression:
        assert isinstance(child, Tree)
        rule, span = str(child.data), self._span(child)
        parts = self._parts(child)
        match rule:
            case "group":
                return self._expression(parts[0], context)
            case "logical_or" | "logical_and":
                if context == "measure":
                    raise self._error(child, "a measure is a value, not a condition")
                left, right = (self._expression(part, context) for part in parts)
                node = ast.LogicalOr if rule == "logical_or" else ast.LogicalAnd
                return node(left, right, span=span)
            case "logical_not":
                return ast.LogicalNot(self._expression(parts[-1], context), span=span)
            case "variable_predicate":
                return self._variable_predicate(child, parts, context)
            case "arithmetic":
                return self._arithmetic(child, context)
            case "negate":
                return self._negate(child, context)
            case "compare" | "in_set" | "in_braces" | "in_range" | "between" | "like" | "is_null":
                if context == "measure":
                    raise self._error(child, "a measure is a value, not a condition")
                return self._comparison(child, context)
            case _:
                return self._value(child, parts, context)

    def _variable_predicate(
        self, tree: Tree[Token], parts: list[Child], context: Context
    ) -> ast.Expression:
        if context != "condition":
            raise self._error(
                tree, "x[...] can stand only in a FILTER", "write the attribute alone"
            )
        predicate = self._expression(parts[1], "predicate")
        return ast.VariablePredicate(self._name(parts[0]), predicate, span=self._span(tree))

    def _arithmetic(self, tree: Tree[Token], context: Context) -> ast.Expression:
        left, op, right = tree.children
        return ast.Arithmetic(
            cast(ast.ArithmeticOp, str(op)),
            self._expression(left, context),
            self._expression(right, context),
            span=self._span(tree),
        )

    def _negate(self, tree: Tree[Token], context: Context) -> ast.Expression:
        operand = self._expression(tree.children[1], context)
        span = self._span(tree)
        if isinstance(operand, ast.Literal) and type(operand.value) in (int, float):
            if operand.value > _INT64_MAX + 1:  # type: ignore[operator]
                self._refuse_large_integer(tree, operand.value)
            return ast.Literal(-operand.value, span=span)  # type: ignore[operator]
        return ast.Negate(operand, span=span)

    def _comparison(self, tree: Tree[Token], context: Context) -> ast.Expression:
        span, rule = self._span(tree), str(tree.data)
        parts = self._parts(tree)
        negated = "NOT" in self._tokens(tree)
        values = [self._expression(p, context) for p in parts if isinstance(p, Tree)]
        match rule:
            case "compare":
                return self._compare(tree, values)
            case "in_set":
                members = tuple(self._member(tree, value) for value in values[1:])
                return ast.InSet(values[0], members, negated, span=span)
            case "in_range" | "between":
                return ast.InRange(values[0], values[1], values[2], negated, span=span)
            case "in_braces":
                return self._braces(tree, values, negated)
            case "like":
                pattern = self._string(parts[-1])
                return ast.Like(values[0], pattern, negated, span=span)
            case _:
                return ast.IsNull(values[0], negated, span=span)

    def _compare(self, tree: Tree[Token], values: list[ast.Expression]) -> ast.Expression:
        for value in values:
            if isinstance(value, ast.Literal) and value.value is None:
                raise self._error(
                    tree, "a comparison with NULL is never true", "write IS NULL or IS NOT NULL"
                )
        symbol = str(next(c for c in tree.children if isinstance(c, Token)))
        op = ast.CompareOp(_OPERATORS.get(symbol, symbol))
        return ast.Comparison(op, values[0], values[1], span=self._span(tree))

    def _member(self, tree: Tree[Token], value: ast.Expression) -> ast.Literal:
        if not isinstance(value, ast.Literal) or value.value is None:
            raise self._error(
                tree, "the members of IN {...} are numbers, strings or booleans",
                "combine comparisons with OR for anything else",
            )  # fmt: skip
        return value

    def _braces(
        self, tree: Tree[Token], values: list[ast.Expression], negated: bool
    ) -> ast.Expression:
        kinds = [c.type if isinstance(c, Token) else "value" for c in tree.children]
        dots = kinds.index("DOTS")
        opening = kinds.index("LBRACE")
        rest = values[1:]
        low = rest.pop(0) if dots > opening + 1 else None
        high = rest.pop(0) if rest else None
        if low is None and high is None:
            raise self._error(tree, "a range needs at least one end")
        return ast.InRange(values[0], low, high, negated, span=self._span(tree))

    def _string(self, token: Child) -> str:
        return str(token)[1:-1].replace("''", "'")

    def _value(self, tree: Tree[Token], parts: list[Child], context: Context) -> ast.Expression:
        span = self._span(tree)
        match str(tree.data):
            case "number":
                return ast.Literal(self._number(tree), span=span)
            case "string":
                return ast.Literal(self._string(parts[0]), span=span)
            case "boolean":
                return ast.Literal(str(parts[0]).lower() == "true", span=span)
            case "null":
                return ast.Literal(None, span=span)
            case "bare_name":
                return self._bare_name(tree, context)
            case "variable_attribute":
                return self._variable_attribute(tree, parts, context)
            case "call":
                return self._call(tree, parts, context)
            case "call_attribute":
                return self._call_attribute(tree, parts, context)
            case rule:
                raise AssertionError(f"no node for the rule {rule}")

    def _number(self, tree: Tree[Token]) -> int | float:
        text = str(tree.children[0])
        if text.isdecimal():
            whole = int(text) if len(text) <= DIGITS_MAX else _UINT64_MAX + 1
            if whole > _UINT64_MAX:
                self._refuse_large_integer(tree, whole)
            return whole
        value = float(text)
        if math.isinf(value):
            raise self._error(tree, f"{text} is too large for a number")
        return value

    def _refuse_large_integer(self, tree: Tree[Token], value: ast.LiteralValue) -> None:
        if isinstance(value, int):
            raise self._error(
                tree, "the integer does not fit 64 bits", "write it as a float, with .0 at its end"
            )

    def _bare_name(self, tree: Tree[Token], context: Context) -> ast.Expression:
        name = self._name(tree.children[0])
        if context == "predicate":
            return ast.Attribute(name, span=self._span(tree))
        raise self._error(
            tree, f"{name} stands alone here",
            f"write x.{name} for an attribute of x, or {name}.attr for an attribute of {name}",
        )  # fmt: skip

    def _variable_attribute(
        self, tree: Tree[Token], parts: list[Child], context: Context
    ) -> ast.Expression:
        variable, attribute = self._name(parts[0]), self._name(parts[1])
        if context == "predicate":
            raise self._error(
                tree, f"{variable}.{attribute} cannot stand inside brackets",
                f"inside x[...] write {attribute} alone; compare events with x.a = y.b outside",
            )  # fmt: skip
        return ast.VariableAttribute(variable, attribute, span=self._span(tree))

    def _call(self, tree: Tree[Token], parts: list[Child], context: Context) -> ast.Expression:
        function, argument = str(parts[0]).lower(), parts[1]
        if function not in _AGGREGATES or context == "predicate":
            raise self._unknown_call(tree, function, context)
        assert isinstance(argument, Tree)
        span, rule = self._span(tree), str(argument.data)
        if function == "count" and rule == "bare_name":
            return ast.Aggregate("count", self._name(argument.children[0]), None, span=span)
        if rule != "variable_attribute":
            raise self._error(
                argument, f"{function}(...) takes a variable and an attribute",
                f"write {function}(x.attr)",
            )  # fmt: skip
        variable, attribute = (self._name(part) for part in self._parts(argument))
        if context == "condition" and function in ("first", "last"):
            binding = cast(ast.Binding, function)
            return ast.VariableAttribute(variable, attribute, binding, span=span)
        return ast.Aggregate(cast(ast.AggregateFunction, function), variable, attribute, span=span)

    def _unknown_call(self, tree: Tree[Token], function: str, context: Context) -> CatenaError:
        if context == "predicate":
            return self._error(tree, f"{function}(...) cannot stand inside brackets")
        if function == "prev":
            return self._error(tree, "prev(...) takes a variable", "write prev(x).attr")
        close = nearest(function, _AGGREGATES)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(_AGGREGATES)}"
        return self._error(tree, f"there is no function {function}", hint)

    def _call_attribute(
        self, tree: Tree[Token], parts: list[Child], context: Context
    ) -> ast.Expression:
        function, argument, attribute = str(parts[0]).lower(), parts[1], self._name(parts[2])
        assert isinstance(argument, Tree)
        if function not in ("prev", "first", "last") or argument.data != "bare_name":
            raise self._error(
                tree, f"{function}(...).{attribute} has no meaning",
                "prev(x).attr, first(x).attr and last(x).attr have",
            )  # fmt: skip
        variable, span = self._name(argument.children[0]), self._span(tree)
        if context == "predicate":
            raise self._unknown_call(tree, function, context)
        if context == "measure":
            if function == "prev":
                raise self._error(tree, "prev(x) has no meaning in SELECT", "use first or last")
            aggregate = cast(ast.AggregateFunction, function)
            return ast.Aggregate(aggregate, variable, attribute, span=span)
        binding = cast(ast.Binding, function)
        return ast.VariableAttribute(variable, attribute, binding, span=span)
