"""The laws 1 to 38 and what `simplify` makes of them, by the declarative semantics.

A law must not change the meaning in any interpretation, so each is tried on random expressions in
random interpretations, in both frameworks. What `simplify` gives must occur at the same times with
the same starts, and need no more.
"""

from __future__ import annotations

import random

import pytest

import catena
from algebra_generators import random_term, random_world, rows_of
from catena.algebra import Empty, Expression, Primitive, Restriction, event, format, parse, simplify
from catena.algebra.bounds import Bounds
from catena.algebra.expressions import Binary
from catena.algebra.laws import LAWS, RULES, Law, Rule, apply
from oracle.algebra import TIMES, VALUES, Both, Event, Never, Term, Within, meaning, text_of


def as_term(expression: Expression) -> Term:
    """The expression in the oracle's form."""
    match expression:
        case Primitive():
            return Event(expression.name)
        case Restriction():
            return Within(as_term(expression.operand), int(expression.limit.amount))
        case Binary():
            return Both(expression.symbol, as_term(expression.left), as_term(expression.right))
    return Never()


def filled(pattern: Expression, parts: dict[str, Term], limits: dict[int, int]) -> Term:
    """A side of a law, with expressions and lengths in place of what it leaves open."""
    match pattern:
        case Primitive():
            return parts[pattern.name]
        case Restriction():
            length = limits[int(pattern.limit.amount)]
            return Within(filled(pattern.operand, parts, limits), length)
        case Binary():
            left = filled(pattern.left, parts, limits)
            return Both(pattern.symbol, left, filled(pattern.right, parts, limits))
    return Never()


def test_all_laws_are_there() -> None:
    assert [law.number for law in LAWS] == list(range(1, 39))
    assert {rule.law.number for rule in RULES} == set(range(1, 39))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.number}")
def test_a_law_keeps_the_meaning(law: Law) -> None:
    rng = random.Random(law.number)
    for _ in range(25):
        largest = 0 if law.of_primitives else 2
        parts = {name: random_term(rng, rng.randint(0, largest), "ABC") for name in "ABC"}
        if law.of_primitives:
            parts["A"] = Event("A")
        limits = {1: rng.randint(0, 4), 2: rng.randint(0, 4)}
        limits[3] = min(limits.values())
        left, right = (filled(side, parts, limits) for side in (law.left, law.right))
        world = random_world(rng, rng.randint(1, 5), "ABC")
        for framework in (TIMES, VALUES):
            assert meaning(left, world, framework) == meaning(right, world, framework)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.law.number}{format(r.pattern)[:3]}")
def test_a_rule_keeps_the_meaning(rule: Rule) -> None:
    """Applied by the package's own matcher to an instance of its pattern."""
    rng = random.Random(format(rule.pattern))
    for _ in range(10):
        largest = 0 if rule.law.of_primitives else 1
        parts = {name: random_term(rng, rng.randint(0, largest), "ABC") for name in "ABC"}
        if rule.law.of_primitives:
            parts["A"] = Event("A")
        limits = {1: rng.randint(0, 4), 2: rng.randint(0, 4), 3: 1}
        before = parse(text_of(filled(rule.pattern, parts, limits)))
        after = apply(rule, before)
        assert after is not None
        world = random_world(rng, 4, "ABC")
        assert meaning(as_term(before), world, VALUES) == meaning(as_term(after), world, VALUES)


def test_rules_do_not_apply_where_they_should_not() -> None:
    by_number = {rule.law.number: rule for rule in reversed(RULES)}
    assert apply(by_number[1], parse("A | B")) is None
    assert apply(by_number[26], parse("(A ; B)[2]")) is None
    assert apply(by_number[27], parse("A[2][3 s]")) is None  # Which is shorter, only data tell.
    assert str(apply(by_number[27], parse("(A;B)[2 s][1500 ms]"))) == "(A ; B)[1500 ms]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A - A", "0"),
        ("(A ; B) - (A ; B)", "0"),
        ("0", "0"),
        ("0 | A", "A"),
        ("(A + 0) | B", "B"),
        ("A - 0", "A"),
        ("(0 ; A)[3]", "0"),
        ("A[3]", "A"),
        ("(A | B)[3]", "A | B"),
        ("(A - B)[3]", "A - B"),
        ("(A ; B)[3][5]", "(A ; B)[3]"),
        ("((A ; B)[2 s])[1 s]", "(A ; B)[1 s]"),
        ("((A ; B)[7] ; C)[5]", "(A ; B ; C)[5]"),
        ("(A[9] + (B ; C)[8] - (C ; A)[7])[5]", "(A + B ; C - C ; A)[5]"),
        ("A ; (B ; C)", "A ; B ; C"),
        ("A | B | A | B | C", "A | B | C"),
        ("A - B - B", "A - B"),
        ("A - B - C - B", "A - (B | C)"),
        ("((A - C) + (B - C)) - C", "A + B - C"),
        ("((A - C) ; B) - (C | D)", "A ; B - (C | D)"),
        ("(A ; C) | (B ; C)", "(A | B) ; C"),
        ("(A + B) | (A + C)", "A + (B | C)"),
        ("A - (A | B)", "0"),
        ("A ; B - (C - C)", "A ; B"),
        ("(B ; B)[2] - (P | T)", "(B ; B)[2] - (P | T)"),
    ],
)
def test_what_becomes_simpler(text: str, expected: str) -> None:
    simple = simplify(parse(text))
    assert _shape(simple) == _shape(parse(expected)), format(simple)


def _shape(expression: Expression) -> tuple[object, ...]:
    """Up to the order of what may stand in any order."""
    if isinstance(expression, Binary):
        sides = [_shape(expression.left), _shape(expression.right)]
        if expression.symbol in "|+":
            sides.sort(key=repr)
        return (expression.symbol, *sides)
    if isinstance(expression, Restriction):
        return ("[]", expression.limit, _shape(expression.operand))
    return (format(expression),)


def check_simpler(term: Term, rng: random.Random) -> None:
    given = parse(text_of(term))
    simple = simplify(given)
    for values in (False, True):
        before, after = (catena.Algebra(e, time="ts", values=values) for e in (given, simple))
        assert after.memory_bound() <= before.memory_bound(), (format(given), format(simple))
        assert after.memory_bound().units <= before.memory_bound().units
        assert after.memory_bound().instances <= before.memory_bound().instances
    rows = rows_of(random_world(rng, 8, "ABC")) or [{"ts": 0, "type": "A"}]
    pairs = [
        [(m.start_time, m.end_time) for m in catena.Algebra(e, time="ts").run(rows)]
        for e in (given, simple)
    ]
    assert pairs[0] == pairs[1], (format(given), format(simple))
    world = random_world(rng, 4, "ABC")
    assert meaning(term, world, TIMES) == meaning(as_term(simple), world, TIMES)


@pytest.mark.parametrize("operators", range(1, 9))
def test_simplifying_changes_nothing_and_never_needs_more(operators: int) -> None:
    rng = random.Random(operators)
    for _ in range(6):
        check_simpler(random_term(rng, operators, "ABC"), rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_simplifying_larger_expressions(seed: int) -> None:
    rng = random.Random(50 + seed)
    for _ in range(30):
        check_simpler(random_term(rng, rng.randint(3, 10), "ABC"), rng)


def test_a_large_expression_is_simplified_in_no_time() -> None:
    given = parse(text_of(random_term(random.Random(7), 40, "ABCDE")))
    bounds = Bounds()
    assert not bounds.of(simplify(given)).exceeds(bounds.of(given))


def test_simplify_of_an_algebra_keeps_its_settings() -> None:
    a = catena.Algebra("(A ; (B ; C)) | 0", time="t", values=True, by=["id"], define={"A": "v > 3"})
    simple = a.simplify()
    assert simple.text == "A ; B ; C"
    assert simple.plan.columns == a.plan.columns and simple.plan.with_rows
    assert simplify(event("A")) == event("A") and simplify(Empty()) == Empty()
