"""Temporal relation formulas as SQL, to check rows that are pushed; the same in both dialects."""

from __future__ import annotations

from fractions import Fraction

from catena.tsa.formulas import And, Bottom, Comparison, Formula, Not, Or, Top
from catena.tsa.terms import Ceil, Floor, Greatest, Least, Name, Shift, Term


def formula_sql(formula: Formula, ticks: int, quote: str) -> str:
    """A formula over attributes of one time line as a condition; constants become ticks."""
    match formula:
        case Top():
            return "TRUE"
        case Bottom():
            return "FALSE"
        case Not(inner):
            return f"NOT ({formula_sql(inner, ticks, quote)})"
        case And(parts) | Or(parts):
            word = " AND " if isinstance(formula, And) else " OR "
            return word.join(f"({formula_sql(part, ticks, quote)})" for part in parts)
        case Comparison(left, operator, right):
            sign = "<>" if operator == "!=" else operator
            return f"{_term(left, ticks, quote)} {sign} {_term(right, ticks, quote)}"
    raise AssertionError(f"{formula} is no relation of attributes")


def _term(term: Term, ticks: int, quote: str) -> str:
    match term:
        case Name(name):
            return f"{quote}{name}{quote}"
        case Shift(inner, by):
            return f"({_term(inner, ticks, quote)} + {_ticks(by, ticks)})"
        case Floor(width, inner):
            text, step = _term(inner, ticks, quote), _ticks(width, ticks)
            return f"({text} - (({text} % {step} + {step}) % {step}))"
        case Ceil(width, inner):
            text, step = _term(inner, ticks, quote), _ticks(width, ticks)
            return f"({text} + (({step} - ({text} % {step} + {step}) % {step}) % {step}))"
        case Least(terms) | Greatest(terms):
            word = "least" if isinstance(term, Least) else "greatest"
            return f"{word}({', '.join(_term(each, ticks, quote) for each in terms)})"


def _ticks(amount: Fraction | int, ticks: int) -> str:
    return f"({int(Fraction(amount) * ticks)})"
