"""From a checked query to an immutable plan: automaton, predicates, clauses, outputs."""
