"""`explain` of an algebra: what it means to the detector, and what it guarantees, in words."""

from __future__ import annotations

from catena.algebra.bounds import MemoryBound
from catena.algebra.plan import AlgebraPlan
from catena.algebra.text import format
from catena.compile.plan_text import guard_text
from catena.explain import section


def explain(plan: AlgebraPlan, memory: MemoryBound, steps: int) -> str:
    """A page about an event expression."""
    sections = [
        ("expression", format(plan.expression)),
        ("primitives", _primitives(plan)),
        ("ticks", _ticks(plan)),
        ("partition", _partition(plan)),
        ("instances", _instances(plan)),
        ("memory", _memory(plan, memory)),
        ("time", f"at most {steps} steps a tick; only operators that a tick touches are visited"),
        ("columns read", ", ".join(plan.columns) or "none"),
    ]
    return "\n".join(section(title, body) for title, body in sections) + "\n"


def _primitives(plan: AlgebraPlan) -> str:
    named = zip(plan.primitives, plan.guards, strict=True)
    return "\n".join(f"{name}: {guard_text(guard)}" for name, (guard, _) in named) or "none"


def _ticks(plan: AlgebraPlan) -> str:
    if plan.settings.time is None:
        return "every row is a tick of its own; its time is its position"
    return (
        f"rows of equal {plan.settings.time} are one tick\n"
        "a tick is reported when a row of a later time has been read, or at the end"
    )


def _partition(plan: AlgebraPlan) -> str:
    return ", ".join(plan.keys) or "none: the stream is one part"


def _instances(plan: AlgebraPlan) -> str:
    shown = "start, end and rows" if plan.with_rows else "start and end"
    return f"{shown}; one for each tick at which the expression occurs, one with the latest start"


def _memory(plan: AlgebraPlan, memory: MemoryBound) -> str:
    each = " for each part" if plan.keys else ""
    return (
        f"{int(memory):,} bytes{each}, taken before the first event\n"
        f"at most {memory.instances} instances and {memory.times} times are stored"
    )
