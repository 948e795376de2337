"""The value of an expression that speaks of no event, by the rules of predicates.

None stands for null and for unknown: integers that overflow 64 bits, division by zero, and all that
is computed from those.
"""

from __future__ import annotations

import math
import operator
import re
from typing import Any, Final

from catena.query import ast

_INT64: Final = range(-(2**63), 2**63)
_COMPARE: Final = {
    ast.CompareOp.EQ: operator.eq,
    ast.CompareOp.NE: operator.ne,
    ast.CompareOp.LT: operator.lt,
    ast.CompareOp.LE: operator.le,
    ast.CompareOp.GT: operator.gt,
    ast.CompareOp.GE: operator.ge,
}


def constant(expression: ast.Expression) -> Any:
    """The value of an expression over literals."""
    match expression:
        case ast.Literal():
            return expression.value
        case ast.Negate():
            return _arithmetic("-", 0, constant(expression.operand))
        case ast.Arithmetic():
            left, right = constant(expression.left), constant(expression.right)
            return _arithmetic(expression.op, left, right)
        case ast.Comparison():
            left, right = constant(expression.left), constant(expression.right)
            return _compared(expression.op, left, right)
        case ast.LogicalAnd():
            return _conjunction(constant(expression.left), constant(expression.right))
        case ast.LogicalOr():
            left, right = _not(constant(expression.left)), _not(constant(expression.right))
            return _not(_conjunction(left, right))
        case ast.LogicalNot():
            return _not(constant(expression.operand))
        case ast.IsTrue():
            return (constant(expression.operand) is True) != expression.negated
        case ast.IsNull():
            return (constant(expression.operand) is None) != expression.negated
        case ast.InSet() | ast.InRange() | ast.Like():
            truth = _member(expression)
            return _not(truth) if expression.negated else truth
        case _:
            raise AssertionError(f"{type(expression).__name__} is no constant")


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _conjunction(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _compared(op: ast.CompareOp, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return bool(_COMPARE[op](left, right))


def _arithmetic(op: ast.ArithmeticOp, left: Any, right: Any) -> int | float | None:
    if left is None or right is None or (op in ("/", "%") and right == 0):
        return None
    match op:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "/":
            return float(left) / float(right)
        case "%":
            is_float = isinstance(left, float) or isinstance(right, float)
            value = math.fmod(left, right) if is_float else abs(left) % abs(right)
            value = -value if left < 0 and not is_float else value
    return None if isinstance(value, int) and value not in _INT64 else value


def _member(expression: ast.InSet | ast.InRange | ast.Like) -> bool | None:
    value = constant(expression.operand)
    if value is None:
        return None
    match expression:
        case ast.Like():
            return _pattern(expression.pattern).fullmatch(value) is not None
        case ast.InSet():
            members = (constant(member) for member in expression.values)
            return any(_compared(ast.CompareOp.EQ, value, member) for member in members)
    result: bool | None = True
    ends = ((ast.CompareOp.GE, expression.low), (ast.CompareOp.LE, expression.high))
    for op, end in ends:
        if end is not None:
            result = _conjunction(result, _compared(op, value, constant(end)))
    return result


def _pattern(pattern: str) -> re.Pattern[str]:
    """The regular expression of a LIKE pattern; a backslash takes the next character as it is."""
    parts = re.findall(r"\\.|.|\\", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(p) or re.escape(p[-1]) for p in parts), re.DOTALL)
