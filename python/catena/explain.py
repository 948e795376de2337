"""`explain`: what a query means to the engine, and what it guarantees, in words."""

from __future__ import annotations

from typing import Final

from catena.compile.outputs import AttributeOutput, MeasureOutput, Output
from catena.compile.plan import Plan
from catena.query import ast
from catena.query.format import format_expression, format_formula, format_query, format_window
from catena.query.normalize import subformulas


def explain(plan: Plan) -> str:
    """A page about a plan."""
    sections = [
        ("query", format_query(plan.query)),
        ("class", _class(plan)),
        ("strategy", _strategy(plan)),
        ("window", _window(plan)),
        ("partition", ", ".join(plan.keys) or "none: the stream is one part"),
        ("consume", _consume(plan)),
        ("normal form", format_formula(plan.normal_form)),
        *_selections(plan),
        ("automaton", _automaton(plan)),
        ("columns read", ", ".join(plan.columns) or "none"),
        ("output", "\n".join(["start, end", *map(_output, plan.outputs)])),
    ]
    return "\n".join(_section(title, body) for title, body in sections) + "\n"


def _section(title: str, body: str) -> str:
    first, *rest = body.split("\n")
    return "\n".join([f"{title:<14}{first}", *(" " * 14 + line for line in rest)])


def _class(plan: Plan) -> str:
    reasons = ["unary conditions"]
    if plan.query.window is not None:
        reasons.append("a window")
    if plan.keys:
        reasons.append("a partition key")
    return (
        f"constant ({', '.join(reasons)})\n"
        "per row: time independent of the rows seen and of the matches open\n"
        "between two results: time linear in the next result"
    )


def _strategy(plan: Plan) -> str:
    if plan.query.strategy is ast.Strategy.ANY:
        return "ANY: one match for each row that ends some"
    strict = plan.query.strategy is ast.Strategy.STRICT
    what = "STRICT: every match whose marked rows have no gap" if strict else "ALL: every match"
    if plan.query.limit is not None:
        return f"{what}, at most {plan.query.limit} for each row that ends some"
    return what


def _window(plan: Plan) -> str:
    window = plan.query.window
    match window:
        case None:
            return "none: open matches are kept for ever"
        case ast.EventsWindow():
            counted = "rows of its part" if plan.keys else "rows"
            return f"{format_window(window)}: from start to end at most {window.count} {counted}"
        case ast.TimeWindow():
            return f"{format_window(window)}, by column {plan.settings.time}"
        case ast.AttributeWindow():
            return f"{format_window(window)}: the attribute is the clock"


def _consume(plan: Plan) -> str:
    return {
        ast.Consume.NONE: "none: a row may be part of any number of matches",
        ast.Consume.PARTITION: "by partition: a row that ends matches clears its part",
        ast.Consume.ANY: "by any: a row that ends matches clears all parts",
    }[plan.query.consume]


_CONSTRUCTIONS: Final = {
    ast.Strategy.STRICT: "a run remembers whether its first mark is to come, or a gap has begun",
    ast.Strategy.NEXT: "observers rank open matches, earliest marks first; the best ways go on",
    ast.Strategy.LAST: "observers rank open matches, latest marks first; the best ways go on",
    ast.Strategy.MAX: "a run carries the states of matches that mark the same rows, or more",
}


def _selections(plan: Plan) -> list[tuple[str, str]]:
    """A line for each strategy inside the formula, innermost first."""
    found = dict.fromkeys(
        f"{format_formula(formula)}: {_CONSTRUCTIONS[formula.strategy]}"
        for formula in subformulas(plan.normal_form)
        if isinstance(formula, ast.Select) and formula.strategy in _CONSTRUCTIONS
    )
    return [("selection", "\n".join(reversed(found)))] if found else []


def _automaton(plan: Plan) -> str:
    automaton = plan.automaton
    head = (
        f"{automaton.state_count} states, {len(automaton.transitions)} transitions, "
        f"{len(plan.guards)} predicates; state 0 is initial, state 1 final"
    )
    watching = (
        [f"observers, where runs start: {plan.observers_text}"] if automaton.observers else []
    )
    return "\n".join([head, *watching, *plan.transition_lines()])


def _output(output: Output) -> str:
    match output:
        case AttributeOutput():
            return f"{output.name}: {output.attribute} at the positions of {output.variable}"
        case MeasureOutput():
            return f"{output.name}: {format_expression(output.expression)}"
        case _:
            return f"{output.name}: positions"
