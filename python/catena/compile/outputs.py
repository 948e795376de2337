"""What a match shows: the items of SELECT, resolved.

Items of SELECT give three kinds of output column: the positions of a variable, an attribute at each
of those positions, and a measure, one value per match. Beside them stand the edges of a match,
which are its first and last row, and, for those who ask, whole rows. All read the match's positions
and the kept columns and nothing else, so they are computed when somebody looks, column by column
(match_table.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from catena.compile.cea import Automaton
from catena.errors import error_at
from catena.query import ast
from catena.query.check import output_variables
from catena.query.format import format_expression
from catena.query.normalize import subexpressions


@dataclass(frozen=True, slots=True)
class PositionsOutput:
    """The positions marked with a variable."""

    name: str
    variable: str

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class AttributeOutput:
    """An attribute at every position marked with a variable."""

    name: str
    variable: str
    attribute: str

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class MeasureOutput:
    """A value per match."""

    name: str
    expression: ast.Expression

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                e.variable
                for e in subexpressions(self.expression)
                if isinstance(e, ast.VariableAttribute | ast.Aggregate)
            )
        )


@dataclass(frozen=True, slots=True)
class EdgeOutput:
    """The position of a match's first or last row, or an attribute of that row."""

    name: str
    edge: Literal["start", "end"]
    attribute: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class RowsOutput:
    """The rows marked with a variable, as structs of these attributes."""

    name: str
    variable: str
    attributes: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable,)


Output: TypeAlias = PositionsOutput | AttributeOutput | MeasureOutput | EdgeOutput | RowsOutput


def outputs_of(query: ast.Query, automaton: Automaton, text: str) -> tuple[Output, ...]:
    """The outputs of a query whose whole automaton is given."""
    if query.items is None:
        return tuple(PositionsOutput(name, name) for name in output_variables(query))
    outputs: list[Output] = []
    for item in query.items:
        match item:
            case ast.VariableItem():
                outputs.append(PositionsOutput(item.variable, item.variable))
                outputs.extend(
                    AttributeOutput(f"{item.variable}.{name}", item.variable, name)
                    for name in item.attributes
                )
            case ast.MeasureItem():
                _check_single_values(item.expression, automaton, text)
                name = item.name or format_expression(item.expression)
                outputs.append(MeasureOutput(name, item.expression))
    return tuple(dict.fromkeys(outputs))


def _check_single_values(expression: ast.Expression, automaton: Automaton, text: str) -> None:
    for term in subexpressions(expression):
        if not isinstance(term, ast.VariableAttribute):
            continue
        if not automaton.marks_at_most_once(term.variable):
            name = f"{term.variable}.{term.attribute}"
            raise error_at(
                text,
                term.span,
                f"{name} is not one value: a match may have several events {term.variable}",
                hint=f"write first({name}), last({name}) or an aggregate such as avg({name})",
            )


def output_columns(outputs: tuple[Output, ...]) -> tuple[str, ...]:
    """The columns of the data that outputs show values of."""
    names: list[str] = []
    for output in outputs:
        match output:
            case AttributeOutput():
                names.append(output.attribute)
            case EdgeOutput(attribute=str(name)):
                names.append(name)
            case RowsOutput():
                names.extend(output.attributes)
            case MeasureOutput():
                names.extend(_measured_attributes(output.expression))
    return tuple(dict.fromkeys(names))


def _measured_attributes(expression: ast.Expression) -> list[str]:
    terms = (ast.VariableAttribute, ast.Aggregate)
    found = [e.attribute for e in subexpressions(expression) if isinstance(e, terms)]
    return [name for name in found if name is not None]
