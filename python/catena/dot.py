"""Automata as pictures: Graphviz text, and a drawing in notebooks where graphviz is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.compile.cea import FINAL, INITIAL, Automaton, Scope
from catena.compile.clocks import action_text
from catena.compile.plan_text import ask_text, guard_text, scope_names


class AutomatonView:
    """A query's automaton, to look at."""

    def __init__(self, automaton: Automaton, absences: Sequence[Automaton] = ()) -> None:
        self._automaton = automaton
        self._absences = absences

    @property
    def state_count(self) -> int:
        """The number of states."""
        return self._automaton.state_count

    @property
    def transition_count(self) -> int:
        """The number of transitions."""
        return len(self._automaton.transitions)

    def to_dot(self) -> str:
        """The automaton in Graphviz's language.

        >>> import catena
        >>> print(catena.Query("SELECT * WHERE A").automaton.to_dot())
        digraph automaton {
          rankdir=LR;
          node [shape=circle];
          start [shape=point];
          start -> 0;
          1 [shape=doublecircle];
          0 -> 1 [label="type = 'A'\\n{A}"];
        }
        """
        lines = [
            "digraph automaton {",
            "  rankdir=LR;",
            "  node [shape=circle];",
            "  start [shape=point];",
            f"  start -> {INITIAL};",
            f"  {FINAL} [shape=doublecircle];",
        ]
        for observer in sorted(self._automaton.observers):
            lines.append(f"  {observer} [style=dashed];")
        names = scope_names(self._automaton)
        lines += _arrows(self._automaton, names)
        for scope, name in names.items():
            lines += [f'  subgraph "cluster {name}" {{']
            lines += [f'  label="scope {name}: {scope.strategy.value}";']
            lines += [*_arrows(scope.operand, names, f"{name}: "), "  }"]
        for number, absence in enumerate(self._absences):
            lines += [f'  subgraph "cluster absence {number}" {{', f'  label="absence {number}";']
            lines += [*_arrows(absence, names, f"absence {number}: "), "  }"]
        return "\n".join([*lines, "}"])

    def __repr__(self) -> str:
        return f"<automaton with {self.state_count} states, {self.transition_count} transitions>"

    def _repr_svg_(self) -> str | None:
        """A drawing, if the package graphviz and its program are there."""
        try:
            import graphviz
        except ImportError:
            return None
        try:
            return str(graphviz.Source(self.to_dot()).pipe(format="svg", encoding="utf-8"))
        except graphviz.ExecutableNotFound:
            return None


def _arrows(automaton: Automaton, names: Mapping[Scope, str], prefix: str = "") -> list[str]:
    """The transitions; a prefix keeps the states of scopes apart."""
    lines = []
    for t in automaton.transitions:
        marks = "{" + ", ".join(sorted(t.marks)) + "}" if t.marks else ""
        asked = [f"by {ask_text(ask, names)}" for ask in t.asks]
        parts = [guard_text(t.guard), marks, action_text(t).strip(), *asked]
        label = r"\n".join(_quoted(part) for part in parts if part)
        style = " style=dashed" if t.target in automaton.observers else ""
        ends = [f'"{prefix}{state}"' if prefix else str(state) for state in (t.source, t.target)]
        lines.append(f'  {ends[0]} -> {ends[1]} [label="{label}"{style}];')
    return lines


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"")
