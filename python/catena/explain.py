"""`explain`: what a query means to the engine, and what it guarantees, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from typing import Final

from catena.compile.clocks import clock_text
from catena.compile.outputs import AttributeOutput, MeasureOutput, Output
from catena.compile.plan import Plan
from catena.compile.plan_text import absence_lines, counted, scope_names, transition_lines
from catena.compile.registers import index_kind
from catena.compile.selection import COMPARING
from catena.compile.tracks import is_held
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
        ("partition", _partition(plan)),
        ("consume", _consume(plan)),
        ("normal form", format_formula(plan.normal_form)),
        *_selections(plan),
        *_absences(plan),
        *_clocks(plan),
        *_registers(plan),
        ("automaton", _automaton(plan)),
        ("columns read", ", ".join(plan.columns) or "none"),
        ("output", "\n".join(["start, end", *map(_output, plan.outputs)])),
    ]
    return "\n".join(section(title, body) for title, body in sections) + "\n"


def section(title: str, body: str) -> str:
    """A title with what there is to say about it beside it."""
    first, *rest = body.split("\n")
    return "\n".join([f"{title:<14}{first}", *(" " * 14 + line for line in rest)])


def _partition(plan: Plan) -> str:
    lines = [f"{name}: all events of a match are equal in it" for name in plan.ties]
    if plan.keys:
        lines.insert(0, ", ".join(plan.keys))
    return "\n".join(lines) or "none: the stream is one part"


def _class(plan: Plan) -> str:
    if plan.compares_runs:
        return _compared_class(plan)
    if plan.conditions:
        return _valued_class(plan)
    if plan.clocks:
        return _timed_class(plan)
    reasons = ["unary conditions and key equalities" if plan.ties else "unary conditions"]
    if plan.query.window is not None:
        reasons.append("a window")
    if plan.keys:
        reasons.append("a partition key")
    return (
        f"constant ({', '.join(reasons)})\n"
        "per row: time independent of the rows seen and of the matches open\n"
        "between two results: time linear in the next result"
    )


def _counted(things: Sized, name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _valued_class(plan: Plan) -> str:
    per_row = (
        "per row: time linear in the distinct live values of registers and clocks, not in the "
        "matches open"
    )
    if plan.absences:
        per_row += "\n  " + _IN_ABSENCES
    held = _held(plan)
    is_synchronous = plan.has_synchronous_updates and (
        not plan.clocks or plan.has_synchronous_resets
    )
    if is_synchronous:
        return (
            f"per valuation ({', '.join(held)})\n{per_row}\n"
            "between two results: time linear in the next result"
        )
    return (
        f"merged ({', '.join(held)}: runs that hold different values can give one result)\n"
        f"{per_row}\n"
        "between two results: time linear in the next result, amortised; duplicates are removed"
    )


_IN_ABSENCES: Final = "and in the open matches of absences, those of each distinct set once"


def _held(plan: Plan) -> list[str]:
    """What runs remember beside their states."""
    held = [_counted(plan.events_held, "register")] if plan.events_held else []
    if plan.absences:
        held.append(f"open matches of {_counted(plan.absences, 'absence')}")
    if plan.clocks:
        held.append(_counted(plan.clocks, "clock"))
    return held


def _registers(plan: Plan) -> list[tuple[str, str]]:
    """A line for each register, and how each comparison with them is answered."""
    sections = []
    if plan.registers:
        lines = [f"${i}: {held.text}" for i, held in enumerate(plan.registers)]
        sections.append(("registers", "\n".join(lines)))
    lines = [f"{format_expression(c)}: {answer}" for c, answer in _answers(plan)]
    if lines:
        sections.append(("conditions", "\n".join(lines)))
    if plan.history:
        kept = f"{', '.join(plan.history)} of every row that may matter to a strategy inside"
        sections.append(("history", f"{kept},\nwhich is lent values that come later"))
    return sections


def _answers(plan: Plan) -> Iterator[tuple[ast.Expression, str]]:
    """The conditions on events, and how they are answered: in absences only match by match."""
    transitions = (t for machine in plan.automaton.machines for t in machine.transitions)
    of_runs = frozenset(c for t in transitions for c in t.conditions.union(*t.forbids))
    for condition in plan.conditions:
        if isinstance(condition, ast.Ends):
            continue
        if condition in of_runs:
            yield condition, _ANSWERS[None if plan.compares_runs else index_kind(condition)]
        else:
            yield condition, "asked of each open match of an absence"


_ANSWERS: Final = {
    "hash": "indexed by hash",
    "order": "indexed in order",
    None: "asked of each live value",
}


def _timed_class(plan: Plan) -> str:
    per_row = "per row: time linear in the distinct times that clocks show, not in the matches open"
    count = _counted(plan.clocks, "clock")
    linear = "between two results: time linear in the next result"
    if plan.is_monotonic:
        return f"{_monotonic_class(plan)}\n{linear}"
    if plan.has_synchronous_resets:
        return f"per valuation ({count}, synchronous resets)\n{per_row}\n{linear}"
    return (
        f"merged ({count}: runs with different clocks can give one result)\n{per_row}\n"
        "between two results: time linear in the next result, amortised; duplicates are removed"
    )


def _compared_class(plan: Plan) -> str:
    strategies = {scope.strategy for scope in scope_names(plan.automaton)}
    what = ["states"]
    if plan.clocks:
        what.append("clock times")
    if plan.registers:
        what.append("values of registers")
    if plan.query.strategy in COMPARING:
        strategies.add(plan.query.strategy)
        if plan.query.window is not None:
            what.append("starts")
    rivals = "; under MAX in the rivals of each" if ast.Strategy.MAX in strategies else ""
    again = "\n  and, for values that are lent a scope for the first time, in the history"
    more = f"\n  {_IN_ABSENCES}" if plan.absences else ""
    return (
        f"per valuation ({', '.join([*_held(plan), 'compared while rows are read'])})\n"
        f"per row: time linear in the distinct {_listed(what)} of runs that can still win{rivals}"
        f"{again if plan.history else ''}{more}\n"
        "between two results: time linear in the next result"
    )


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _monotonic_class(plan: Plan) -> str:
    """Bounds from above only: chains of open matches, one for each state unless they are apart."""
    if len(plan.clocks) > 1:
        return (
            f"per valuation ({len(plan.clocks)} monotonic clocks, synchronous resets)\n"
            "per row: time linear in the chains of open matches that are in order by all clocks,\n"
            "  usually one for each state, at most the distinct times that clocks show"
        )
    if plan.query.window is None:
        return (
            "constant (one monotonic clock)\n"
            "per row: time independent of the rows seen and of the matches open"
        )
    return (
        "constant (one monotonic clock, a window)\n"
        "per row: time independent of the rows seen and of the matches open, where later resets\n"
        "  come with later starts; else linear in the chains in which they do"
    )


def _clocks(plan: Plan) -> list[tuple[str, str]]:
    """A line for each thing that a clock measures."""
    machines = {"": plan.automaton}
    machines |= {f" of absence {i}": machine for i, machine in enumerate(plan.absences)}
    for scope, name in scope_names(plan.automaton).items():
        machines[f" of scope {name}"] = scope.operand
    lines = [
        f"{clock_text(clock)}{where}: {counted(clock)} {words}"
        for where, machine in machines.items()
        for clock in machine.clocks
        for words in clock.measures
    ]
    return [("clocks", "\n".join(lines))] if lines else []


def _strategy(plan: Plan) -> str:
    strategy, limit = plan.query.strategy, plan.query.limit
    first, *how = _STRATEGIES[strategy]
    if limit is not None and strategy is not ast.Strategy.ANY:
        first += f", at most {limit} for each row that ends some"
    if plan.compares_runs and strategy in COMPARING:
        how = [_CONFIGURATIONS[strategy]]
    elif plan.query.window is not None:
        how.extend(_IN_WINDOWS.get(strategy, ()))
    return "\n".join([f"{strategy.value}: {first}", *how])


_TWICE: Final = ("window: its rows in a front and a back, each row read twice: amortised",)
_IN_WINDOWS: Final = {
    ast.Strategy.NEXT: _TWICE,
    ast.Strategy.LAST: _TWICE,
    ast.Strategy.MAX: ("window: then linear in the starts inside it that can hide one another",),
}
_RANKED: Final = "by a preorder of the states and values that runs are in; the best ways go on"
_CONFIGURATIONS: Final = {
    ast.Strategy.NEXT: _RANKED,
    ast.Strategy.LAST: _RANKED,
    ast.Strategy.MAX: "by the states and values of runs that mark as much or more",
}
"""How a strategy is evaluated over clocks and registers."""

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
            has_clocks = any(machine.clocks for machine in plan.automaton.machines)
            kept = "while their clocks allow" if has_clocks else "for ever"
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
    constructions = _CONSTRUCTIONS
    if plan.automaton.scopes:
        constructions = {**_CONSTRUCTIONS, **_CONFIGURATIONS}
    found = dict.fromkeys(
        f"{format_formula(formula)}: {constructions[formula.strategy]}"
        for formula in subformulas(plan.normal_form)
        if isinstance(formula, ast.Select) and formula.strategy in _CONSTRUCTIONS
    )
    return [("selection", "\n".join(reversed(found)))] if found else []


def _absences(plan: Plan) -> list[tuple[str, str]]:
    """A line for each negation, innermost first; then how the run is stopped."""
    lines: dict[str, None] = {}
    kinds: set[str] = set()
    for formula in subformulas(plan.normal_form):
        match formula:
            case ast.AbsentBetween(absent=absent):
                what, run, since = f"NOT ({format_formula(absent)})", "a waiting run", ""
            case ast.Unless(absent=absent):
                what, run, since = f"UNLESS {format_formula(absent)}", "a run", " its start"
            case _:
                continue
        kind = _kind_of_absence(plan, absent)
        kinds.add(kind)
        lines[f"{what}: {run} {_CARRIES[kind]}{since if kind != 'row' else ''}"] = None
    if not lines:
        return []
    if not plan.conditions:  # All that a row would be compared with is the key.
        kinds -= {"row"}
    how = [_STOPS[kind] for kind in _STOPS if kind in kinds]
    return [("absence", "\n".join([*reversed(lines), *how]))]


def _kind_of_absence(plan: Plan, absent: ast.Formula) -> str:
    """How it is known whether a match of something absent ends: by open matches, by the row and
    what the run has bound, or by states."""
    text = format_formula(absent)
    if any(held.what == "begun" and held.track.endswith(f": {text}") for held in plan.registers):
        return "open"
    conditions = (f.condition for f in subformulas(absent) if isinstance(f, ast.Filter))
    return "row" if any(map(is_held, conditions)) else "states"


_CARRIES: Final = {
    "states": "carries the states of those begun since",
    "row": "may not pass over a row that is one",
    "open": "holds the open matches of those begun since",
}
_STOPS: Final = {
    "states": "the run stops where one ends; their marks do not matter, so sets of states tell all",
    "row": "a row is compared with what runs have bound",
    "open": "open matches: a set of states, clocks and registers, without marks; "
    "the run stops where one ends\n"
    "  held while their own bounds can be met, and no longer than the run waits; "
    "Limits.valuation_count_max\n"
    "  bounds them",
}


def _automaton(plan: Plan) -> str:
    automaton = plan.automaton
    head = (
        f"{automaton.state_count} states, {len(automaton.transitions)} transitions, "
        f"{len(plan.guards)} predicates; state 0 is initial, state 1 final"
    )
    watching = (
        [f"observers, where runs start: {plan.observers_text}"] if automaton.observers else []
    )
    lines = [*transition_lines(automaton), *absence_lines(plan.absences)]
    return "\n".join([head, *watching, *lines])


def _output(output: Output) -> str:
    match output:
        case AttributeOutput():
            return f"{output.name}: {output.attribute} at the positions of {output.variable}"
        case MeasureOutput():
            return f"{output.name}: {format_expression(output.expression)}"
        case _:
            return f"{output.name}: positions"
