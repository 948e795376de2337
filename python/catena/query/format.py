"""Queries as canonical text, with as few parentheses as possible: `parse(format(q)) == q`.

Every construct has the level of the grammar rule it comes from; an operand is put into parentheses
when its level is looser than the place where it stands.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from catena.query import ast

# The words that grammar.lark's NAME leaves out, and ANY, which is read as the variable ANY.
# As a regular expression without regard to case, like there: it takes the letter ſ for an s.
_RESERVED: Final = re.compile(
    "select|from|where|partition|within|consume|limit|filter|unless|or|and|not|as|in|like|between"
    "|is|null|true|false|none|any",
    re.IGNORECASE,
)
_STRATEGY_FIRST: Final = re.compile(r"(?:all|any|next|last|max|strict)\b(?!\()", re.IGNORECASE)

# Levels of formulas, loosest first.
_FILTER, _UNLESS, _OR, _AND, _SEQUENCE, _POSTFIX = range(6)
# Levels of expressions, loosest first.
_DISJUNCTION, _CONJUNCTION, _NEGATION, _COMPARISON, _SUM, _PRODUCT, _UNARY = range(7)


def format_query(query: ast.Query) -> str:
    """A whole query on one line."""
    items = _items(query.items)
    # A first item that begins with the name of a strategy would be taken for one.
    is_plain = query.strategy is ast.Strategy.ALL and not _STRATEGY_FIRST.match(items)
    parts = ["SELECT", items] if is_plain else ["SELECT", query.strategy.value, items]
    if query.streams:
        parts.append("FROM " + ", ".join(map(format_name, query.streams)))
    parts.append("WHERE " + format_formula(query.formula))
    if query.partition:
        groups = ("[" + ", ".join(map(format_name, group)) + "]" for group in query.partition)
        parts.append("PARTITION BY " + ", ".join(groups))
    if query.window is not None:
        parts.append("WITHIN " + format_window(query.window))
    if query.consume is not ast.Consume.NONE:
        parts.append("CONSUME BY " + query.consume.value)
    if query.limit is not None:
        parts.append(f"LIMIT {query.limit}")
    return " ".join(parts)


def format_name(name: str) -> str:
    """A name, in backquotes if it would not be read as one."""
    if re.fullmatch(r"[^\W\d]\w*", name) and not _RESERVED.fullmatch(name):
        return name
    return "`" + name.replace("`", "``") + "`"


def _variable(name: str) -> str:
    return "ANY" if name == "ANY" else format_name(name)


def _items(items: tuple[ast.Item, ...] | None) -> str:
    if items is None:
        return "*"
    return ", ".join(map(_item, items)) or "NONE"


def _item(item: ast.Item) -> str:
    if isinstance(item, ast.VariableItem):
        attributes = ", ".join(map(format_name, item.attributes))
        return _variable(item.variable) + (f"[{attributes}]" if attributes else "")
    name = f" AS {format_name(item.name)}" if item.name is not None else ""
    return format_expression(item.expression) + name


# ---------------------------------------------------------------------------------------------
# Time


def format_window(window: ast.Window) -> str:
    """What follows WITHIN."""
    match window:
        case ast.EventsWindow():
            return f"{window.count} EVENTS"
        case ast.TimeWindow():
            return format_bound(window.bound)
        case ast.AttributeWindow():
            return f"{_decimal(window.amount)} [{format_name(window.attribute)}]"


def _decimal(amount: Fraction) -> str:
    """An amount in decimal digits; amounts come from decimals, so they end."""
    digits, scaled = 0, amount
    while scaled.denominator != 1:
        scaled, digits = scaled * 10, digits + 1
    text = str(scaled.numerator).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}" if digits else text


def format_bound(bound: ast.Bound) -> str:
    """An amount of time, with its unit if it has one."""
    unit = f" {bound.unit.value}" if bound.unit is not None else ""
    return _decimal(bound.amount) + unit


def format_interval(interval: ast.Interval) -> str:
    """`[<= 5 s]`, `[1, 2)`."""
    low, high = interval.low, interval.high
    if low is None and high is not None:
        return f"[{'<' if interval.high_open else '<='} {format_bound(high)}]"
    if high is None and low is not None:
        return f"[{'>' if interval.low_open else '>='} {format_bound(low)}]"
    assert low is not None and high is not None, "an interval has at least one end"
    if low == high and not interval.low_open and not interval.high_open:
        return f"[= {format_bound(low)}]"
    opening = "(" if interval.low_open else "["
    closing = ")" if interval.high_open else "]"
    return f"{opening}{format_bound(low)}, {format_bound(high)}{closing}"


def _suffix(interval: ast.Interval | None) -> str:
    return format_interval(interval) if interval is not None else ""


# ---------------------------------------------------------------------------------------------
# Formulas


def format_formula(formula: ast.Formula) -> str:
    """A formula, without parentheses around it."""
    return _formula(formula, _FILTER)


def _formula(formula: ast.Formula, level: int) -> str:
    text, own = _formula_text(formula)
    return text if own >= level else f"({text})"


def _formula_text(formula: ast.Formula) -> tuple[str, int]:
    match formula:
        case ast.Filter():
            condition = format_expression(formula.condition)
            return f"{_formula(formula.body, _FILTER)} FILTER {condition}", _FILTER
        case ast.Unless():
            return _infix(formula.body, " UNLESS ", formula.absent, _UNLESS)
        case ast.Or():
            return _infix(formula.left, " OR ", formula.right, _OR)
        case ast.And():
            return _infix(formula.left, " AND ", formula.right, _AND)
        case ast.Sequence():
            link = " :" if formula.contiguous else " ;"
            link += _suffix(formula.interval) + " "
            return _infix(formula.left, link, formula.right, _SEQUENCE)
        case ast.AbsentBetween():
            link = f" ; NOT ({format_formula(formula.absent)}) ;{_suffix(formula.interval)} "
            return _infix(formula.left, link, formula.right, _SEQUENCE)
        case ast.FollowedBy():
            return _infix(formula.left, " -> ", formula.right, _SEQUENCE)
        case _:
            return _postfix_text(formula), _POSTFIX


def _infix(left: ast.Formula, link: str, right: ast.Formula, level: int) -> tuple[str, int]:
    return f"{_formula(left, level)}{link}{_formula(right, level + 1)}", level


def _postfix_text(formula: ast.Formula) -> str:
    match formula:
        case ast.Iteration():
            sign = ":+" if formula.contiguous else "+"
            return f"{_formula(formula.body, _POSTFIX)} {sign}{_suffix(formula.interval)}"
        case ast.As():
            return f"{_formula(formula.body, _POSTFIX)} AS {format_name(formula.variable)}"
        case ast.Atom():
            stream = f"{format_name(formula.stream)} > " if formula.stream is not None else ""
            return stream + format_name(formula.type)
        case ast.AnyEvent():
            return "ANY"
        case ast.Within():
            limit = formula.limit
            within = (
                format_interval(limit) if isinstance(limit, ast.Interval) else format_window(limit)
            )
            return f"({format_formula(formula.body)} WITHIN {within})"
        case ast.Select():
            return f"{formula.strategy.value}({format_formula(formula.body)})"
        case ast.Project():
            names = ", ".join(map(_variable, formula.variables))
            return f"PROJECT[{names}]({format_formula(formula.body)})"
        case ast.Nothing():
            return "NOTHING"
        case _:
            raise AssertionError(f"no text for {formula!r}")


# ---------------------------------------------------------------------------------------------
# Expressions


def format_expression(expression: ast.Expression) -> str:
    """An expression, without parentheses around it."""
    return _expression(expression, _DISJUNCTION)


def _expression(expression: ast.Expression, level: int) -> str:
    text, own = _expression_text(expression)
    return text if own >= level else f"({text})"


def _expression_text(expression: ast.Expression) -> tuple[str, int]:
    match expression:
        case ast.LogicalOr():
            return _binary(expression.left, " OR ", expression.right, _DISJUNCTION)
        case ast.LogicalAnd():
            return _binary(expression.left, " AND ", expression.right, _CONJUNCTION)
        case ast.LogicalNot():
            return f"NOT {_expression(expression.operand, _NEGATION)}", _NEGATION
        case ast.VariablePredicate():
            predicate = format_expression(expression.predicate)
            return f"{_variable(expression.variable)}[{predicate}]", _NEGATION
        case ast.LastPredicate():
            name = "*" if expression.variable is None else _variable(expression.variable)
            unbound = f" OR NOT bound({name})" if expression.if_unbound else ""
            return f"last({name})[{format_expression(expression.predicate)}]{unbound}", _NEGATION
        case ast.Arithmetic():
            level = _SUM if expression.op in "+-" else _PRODUCT
            return _binary(expression.left, f" {expression.op} ", expression.right, level)
        case ast.Negate():
            operand = _expression(expression.operand, _UNARY)
            # Two minus signs without a space would begin a comment.
            return f"- {operand}" if operand.startswith("-") else f"-{operand}", _UNARY
        case ast.Comparison() | ast.InSet() | ast.InRange() | ast.Like() | ast.IsNull():
            return _comparison_text(expression), _COMPARISON
        case ast.IsTrue():
            negated = "NOT " if expression.negated else ""
            return f"({format_expression(expression.operand)}) IS {negated}TRUE", _COMPARISON
        case _:
            return _value_text(expression), _UNARY


def _binary(left: ast.Expression, link: str, right: ast.Expression, level: int) -> tuple[str, int]:
    return f"{_expression(left, level)}{link}{_expression(right, level + 1)}", level


def _comparison_text(
    expression: ast.Comparison | ast.InSet | ast.InRange | ast.Like | ast.IsNull,
) -> str:
    if isinstance(expression, ast.Comparison):
        left, right = _expression(expression.left, _SUM), _expression(expression.right, _SUM)
        return f"{left} {expression.op.value} {right}"
    operand = _expression(expression.operand, _SUM)
    negated = "NOT " if expression.negated else ""
    match expression:
        case ast.InSet():
            return f"{operand} {negated}IN {{{', '.join(map(_literal, expression.values))}}}"
        case ast.InRange():
            return f"{operand} {negated}{_range(expression)}"
        case ast.Like():
            return f"{operand} {negated}LIKE {_string(expression.pattern)}"
        case ast.IsNull():
            return f"{operand} IS {negated}NULL"


def _range(expression: ast.InRange) -> str:
    low = "" if expression.low is None else _expression(expression.low, _SUM)
    high = "" if expression.high is None else _expression(expression.high, _SUM)
    return f"IN RANGE({low}, {high})" if low and high else f"IN {{{low}..{high}}}"


def _value_text(expression: ast.Expression) -> str:
    match expression:
        case ast.Literal():
            return _literal(expression)
        case ast.Attribute():
            return format_name(expression.name)
        case ast.VariableAttribute():
            variable = _variable(expression.variable)
            if expression.binding != "current":
                variable = f"{expression.binding}({variable})"
            return f"{variable}.{format_name(expression.attribute)}"
        case ast.Aggregate():
            attribute = expression.attribute
            of = "" if attribute is None else f".{format_name(attribute)}"
            return f"{expression.function}({_variable(expression.variable)}{of})"
        case _:
            return _remembered_text(expression)


def _remembered_text(expression: ast.Expression) -> str:
    """What rewriting makes of conditions over several events."""
    match expression:
        case ast.Recall():
            value = "" if expression.value is None else format_expression(expression.value)
            row = ", row" if expression.with_row else ""
            return f"{expression.what}({expression.variable}{row})[{value}]"
        case ast.Register():
            return f"${expression.number}"
        case ast.Unbound():
            return "UNBOUND"
        case ast.IsBound():
            return f"bound({format_expression(expression.operand)})"
        case ast.IfBound():
            operand = format_expression(expression.operand)
            return f"if_bound({operand}, {format_expression(expression.otherwise)})"
        case ast.Accumulate():
            operand, value = map(format_expression, (expression.operand, expression.value))
            return f"{expression.function}({operand}, {value})"
        case ast.Narrow():
            return f"narrow({format_expression(expression.operand)})"
        case ast.Begun():
            start = "" if expression.entry is None else f" from {expression.entry}"
            reads = "".join(f", {format_expression(read)}" for read in expression.reads)
            before = format_expression(expression.before)
            return f"begun(absence {expression.absence}{start}, {before}{reads})"
        case ast.Ends():
            return f"ends({format_expression(expression.operand)})"
        case _:
            raise AssertionError(f"no text for {expression!r}")


def _literal(literal: ast.Literal) -> str:
    value = literal.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _string(value) if isinstance(value, str) else repr(value)


def _string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
