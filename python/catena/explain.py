"""`explain`: what a query means to the engine, and what it guarantees, in words."""

from __future__ import annotations

from typing import Final

from catena.compile.clocks import clock_text
from catena.compile.outputs import AttributeOutput, MeasureOutput, Output
from catena.compile.plan import Plan, counted
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
        *_clocks(plan),
        ("automaton", _automaton(plan)),
        ("columns read", ", ".join(plan.columns) or "none"),
        ("output", "\n".join(["start, end", *map(_output, plan.outputs)])),
    ]
    return "\n".join(_section(title, body) for title, body in sections) + "\n"


def _section(title: str, body: str) -> str:
    first, *rest = body.split("\n")
    return "\n".join([f"{title:<14}{first}", *(" " * 14 + line for line in rest)])


def _class(plan: Plan) -> str:
    if plan.clocks:
        return _timed_class(plan)
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


def _timed_class(plan: Plan) -> str:
    per_row = "per row: time linear in the distinct times that clocks show, not in the matches open"
    count = f"{len(plan.clocks)} clock{'s' if len(plan.clocks) > 1 else ''}"
    if plan.has_synchronous_resets:
        return (
            f"per valuation ({count}, synchronous resets)\n{per_row}\n"
            "between two results: time linear in the next result"
        )
    return (
        f"merged ({count}: runs with different clocks can give one result)\n{per_row}\n"
        "between two results: time linear in the next result, amortised; duplicates are removed"
    )


def _clocks(plan: Plan) -> list[tuple[str, str]]:
    """A line for each thing that a clock measures."""
    lines = [
        f"{clock_text(clock)}: {counted(clock)} {words}"
        for clock in plan.clocks
        for words in clock.measures
    ]
    return [("clocks", "\n".join(lines))] if lines else []


def _strategy(plan: Plan) -> str:
    strategy, limit = plan.query.strategy, plan.query.limit
    first, *how = _STRATEGIES[strategy]
    if limit is not None and strategy is not ast.Strategy.ANY:
        first += f", at most {limit} for each row that ends some"
    if plan.query.window is not None:
        how.extend(_IN_WINDOWS.get(strategy, ()))
    return "\n".join([f"{strategy.value}: {first}", *how])


_TWICE: Final = ("window: its rows in a front and a back, each row read twice: amortised",)
_IN_WINDOWS: Final = {
    ast.Strategy.NEXT: _TWICE,
    ast.Strategy.LAST: _TWICE,
    ast.Strategy.MAX: ("window: then linear in the starts inside it that can hide one another",),
}
_PREORDERS: Final = (
    "by a preorder of the automaton's states, which need not be determinized",
    "per row: at most linear in the automaton; one set of rows is selected per ending row",
)
_STRATEGIES: Final = {
    ast.Strategy.ALL: ("every match",),
    ast.Strategy.ANY: ("one match for each row that ends some",),
    ast.Strategy.STRICT: ("every match whose marked rows have no gap",),
    ast.Strategy.NEXT: ("the match whose marked rows come first, of each end", *_PREORDERS),
    ast.Strategy.LAST: ("the match whose marked rows come last, of each end", *_PREORDERS),
    ast.Strategy.MAX: (
        "the matches whose marked rows are not part of another's, of each end",
        "by the states of runs that mark as much or more, determinized on the fly",
        "per row: independent of the rows seen, unless a match that marks more may start earlier",
    ),
}
"""What a strategy leaves, then how it is evaluated and what that costs."""


def _window(plan: Plan) -> str:
    window = plan.query.window
    match window:
        case None:
            kept = "while their clocks allow" if plan.clocks else "for ever"
            return f"none: open matches are kept {kept}"
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
