"""The parser: every construct of the language, its tree, and what groups with what.

The machine takes no part; trees are compared by value, which leaves out places in the text. Names
of nodes are short here (`seq`, `at`) so that a line reads like the formula it stands for.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from catena.errors import CatenaLimitError, CatenaSyntaxError
from catena.query import ast
from catena.query.bindings import bound_variables
from catena.query.check import check, output_variables
from catena.query.parse import parse, parse_formula, parse_predicate
from catena.query.trees import TEXT_LENGTH_MAX

A, B, C, D = map(ast.Atom, "ABCD")
SECOND = ast.Unit.S


def seq(left: ast.Formula, right: ast.Formula, interval: ast.Interval | None = None) -> ast.Formula:
    return ast.Sequence(left, right, False, interval)


def at(amount: float | str, unit: ast.Unit | None = None) -> ast.Bound:
    return ast.Bound(Fraction(str(amount)), unit)


def holds(variable: str) -> ast.VariablePredicate:
    return ast.VariablePredicate(variable, ast.Attribute("p"))


V1 = ast.Comparison(ast.CompareOp.GT, ast.Attribute("v"), ast.Literal(1))
UP_TO_1 = ast.Interval(None, at(1))

FORMULAS = {
    "A": A,
    "S > A": ast.Atom("A", "S"),
    "S>A": ast.Atom("A", "S"),
    "ANY": ast.AnyEvent(),
    "any": ast.AnyEvent(),
    "`any`": ast.Atom("any"),
    "`a ``b`": ast.Atom("a `b"),
    "A AS x": ast.As(A, "x"),
    "(A)": A,
    "A ; B": seq(A, B),
    "A : B": ast.Sequence(A, B, True),
    "A -> B": ast.FollowedBy(A, B),
    "A OR B": ast.Or(A, B),
    "A AND B": ast.And(A, B),
    "A UNLESS B": ast.Unless(A, B),
    "A+": ast.Iteration(A),
    "A:+": ast.Iteration(A, True),
    "A : +": ast.Iteration(A, True),
    "A ; NOT (B) ; C": ast.AbsentBetween(A, B, C),
    "A ; NOT (B) ;[<= 1] C": ast.AbsentBetween(A, B, C, UP_TO_1),
    "A ;[<= 1] B": seq(A, B, UP_TO_1),
    "A :[<= 1] B": ast.Sequence(A, B, True, UP_TO_1),
    "A+[<= 1]": ast.Iteration(A, False, UP_TO_1),
    "A:+[<= 1]": ast.Iteration(A, True, UP_TO_1),
    "NEXT(A)": ast.Select(ast.Strategy.NEXT, A),
    "last (A)": ast.Select(ast.Strategy.LAST, A),
    "MAX(A)": ast.Select(ast.Strategy.MAX, A),
    "STRICT(A)": ast.Select(ast.Strategy.STRICT, A),
    "ALL(A)": ast.Select(ast.Strategy.ALL, A),
    "PROJECT[x, ANY](A)": ast.Project(("x", "ANY"), A),
    "PROJECT[](A)": ast.Project((), A),
    "(A WITHIN 5 seconds)": ast.Within(A, ast.TimeWindow(at(5, SECOND))),
    "(A WITHIN 5)": ast.Within(A, ast.TimeWindow(at(5))),
    "(A WITHIN 5 EVENTS)": ast.Within(A, ast.EventsWindow(5)),
    "(A WITHIN 5 [t])": ast.Within(A, ast.AttributeWindow(Fraction(5), "t")),
    "(A WITHIN [1 s, 2 s))": ast.Within(A, ast.Interval(at(1, SECOND), at(2, SECOND), False, True)),
    "A FILTER x[p]": ast.Filter(A, holds("x")),
    "A FILTER ANY[p]": ast.Filter(A, holds("ANY")),
    "A FILTER any[p]": ast.Filter(A, holds("ANY")),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_formula(text: str) -> None:
    assert parse_formula(text) == FORMULAS[text]


GROUPS = {
    "A ; B ; C": "(A ; B) ; C",
    "A ; B : C -> D": "((A ; B) : C) -> D",
    "A -> B : C ; D": "((A -> B) : C) ; D",
    "A AND B ; C": "A AND (B ; C)",
    "A OR B AND C": "A OR (B AND C)",
    "A UNLESS B OR C": "A UNLESS (B OR C)",
    "A UNLESS B UNLESS C": "(A UNLESS B) UNLESS C",
    "A UNLESS B FILTER x[p]": "(A UNLESS B) FILTER x[p]",
    "A ; B FILTER x[p]": "(A ; B) FILTER x[p]",
    "A OR B FILTER x[p]": "(A OR B) FILTER x[p]",
    "A FILTER x[p] FILTER y[p]": "(A FILTER x[p]) FILTER y[p]",
    "A FILTER x[p] AND y[p] OR z[p]": "A FILTER ((x[p] AND y[p]) OR z[p])",
    "A FILTER NOT x[p] AND y[p]": "A FILTER ((NOT x[p]) AND y[p])",
    "A ; B+": "A ; (B+)",
    "A AS x+": "(A AS x)+",
    "A+ AS x": "(A+) AS x",
    "A ; B AS x": "A ; (B AS x)",
    "(A ; B)+ AS y": "((A ; B)+) AS y",
    "A :+ ; B": "(A :+) ; B",
    "A : B :+": "A : (B :+)",
    "A+ :+": "(A+) :+",
    "S > A AS x+": "((S > A) AS x)+",
    "A ; NOT (B) ; C ; D": "(A ; NOT (B) ; C) ; D",
    "A ; B ; NOT (C) ; D": "(A ; B) ; NOT (C) ; D",
    "A ; NOT (B OR C FILTER x[p]) ; D": "A ; NOT ((B OR C) FILTER x[p]) ; D",
    # CORE reads these too; the condition ends where no condition can go on.
    "A FILTER x[p] ; B": "(A FILTER x[p]) ; B",
    "A ; B FILTER x[p] ; C": "((A ; B) FILTER x[p]) ; C",
    "A FILTER x[p] UNLESS B": "(A FILTER x[p]) UNLESS B",
    "A FILTER x[p] -> B": "(A FILTER x[p]) -> B",
    "A FILTER x[p] AS y": "(A FILTER x[p]) AS y",
    "A FILTER x.v > 1 -> B": "(A FILTER (x.v > 1)) -> B",
}


@pytest.mark.parametrize("text", GROUPS)
def test_grouping(text: str) -> None:
    assert parse_formula(text) == parse_formula(GROUPS[text])


def test_parentheses_change_the_tree() -> None:
    assert parse_formula("A ; (B ; C)") == seq(A, seq(B, C))
    assert parse_formula("(A OR B) AND C") == ast.And(ast.Or(A, B), C)
    assert parse_formula("A ; (B FILTER x[p])") == seq(A, ast.Filter(B, holds("x")))


INTERVALS = {
    "[< 1 s]": ast.Interval(None, at(1, SECOND), False, True),
    "[<= 1 s]": ast.Interval(None, at(1, SECOND)),
    "[> 1 s]": ast.Interval(at(1, SECOND), None, True),
    "[>= 1 s]": ast.Interval(at(1, SECOND), None),
    "[= 1 s]": ast.Interval(at(1, SECOND), at(1, SECOND)),
    "[1, 2]": ast.Interval(at(1), at(2)),
    "(1, 2]": ast.Interval(at(1), at(2), True, False),
    "[1, 2)": ast.Interval(at(1), at(2), False, True),
    "(1, 2)": ast.Interval(at(1), at(2), True, True),
    "[1 s, 1 min]": ast.Interval(at(1, SECOND), at(1, ast.Unit.MIN)),
    "[0, 5 s]": ast.Interval(at(0, SECOND), at(5, SECOND)),
    "[1 h 30 min, 2 h]": ast.Interval(at(90, ast.Unit.MIN), at(2, ast.Unit.H)),
}


@pytest.mark.parametrize("text", INTERVALS)
def test_interval_after_every_operator(text: str) -> None:
    interval = INTERVALS[text]
    assert parse_formula(f"A ;{text} B") == seq(A, B, interval)
    assert parse_formula(f"A :{text} (B)") == ast.Sequence(A, B, True, interval)
    assert parse_formula(f"A +{text}") == ast.Iteration(A, False, interval)
    assert parse_formula(f"A :+{text}") == ast.Iteration(A, True, interval)
    assert parse_formula(f"(A WITHIN {text})") == ast.Within(A, interval)


UNITS = {
    "ns": "ns", "us": "us", "ms": "ms", "s": "s", "sec": "s", "second": "s", "seconds": "s",
    "m": "min", "min": "min", "minute": "min", "minutes": "min", "h": "h", "hour": "h",
    "hours": "h", "d": "d", "day": "d", "days": "d", "Seconds": "s", "MS": "ms",
}  # fmt: skip


@pytest.mark.parametrize("word", UNITS)
def test_units(word: str) -> None:
    expected = ast.TimeWindow(at("1.5", ast.Unit(UNITS[word])))
    assert parse(f"SELECT * WHERE A WITHIN 1.5 {word}").window == expected
    assert parse(f"SELECT * WHERE A WITHIN 1.5{word}").window == expected


def test_windows() -> None:
    def window(text: str) -> ast.Window | None:
        return parse(f"SELECT * WHERE A WITHIN {text}").window

    assert window("4 EVENTS") == ast.EventsWindow(4)
    assert window("1 event") == ast.EventsWindow(1)
    assert window("30000 [stock_time]") == ast.AttributeWindow(Fraction(30000), "stock_time")
    assert window("0.1 s") == ast.TimeWindow(ast.Bound(Fraction(1, 10), SECOND))
    assert window("1 hour 30 minutes") == ast.TimeWindow(at(90, ast.Unit.MIN))
    assert window("1 h 2 min 3 s") == ast.TimeWindow(at(3723, SECOND))
    assert window("0 s") == ast.TimeWindow(at(0, SECOND))


def compare(op: str) -> ast.Expression:
    return ast.Comparison(ast.CompareOp(op), ast.Attribute("v"), ast.Literal(1))


v, w, n = ast.Attribute("v"), ast.Attribute("w"), ast.Attribute("n")
PREDICATES = {
    **{f"v {op} 1": compare(op) for op in ("=", "!=", "<", "<=", ">", ">=")},
    "v == 1": compare("="),
    "v <> 1": compare("!="),
    "v>-1": ast.Comparison(ast.CompareOp.GT, v, ast.Literal(-1)),
    "n = 'it''s'": ast.Comparison(ast.CompareOp.EQ, n, ast.Literal("it's")),
    "v = TRUE": ast.Comparison(ast.CompareOp.EQ, v, ast.Literal(True)),
    "v": v,
    "NOT v": ast.LogicalNot(v),
    "v AND v > 1": ast.LogicalAnd(v, V1),
    "v OR v AND w": ast.LogicalOr(v, ast.LogicalAnd(v, w)),
    "(v OR v) AND w": ast.LogicalAnd(ast.LogicalOr(v, v), w),
    "NOT v > 1": ast.LogicalNot(V1),
    "n IN {'a', 'b'}": ast.InSet(n, (ast.Literal("a"), ast.Literal("b"))),
    "v NOT IN {1, -2}": ast.InSet(v, (ast.Literal(1), ast.Literal(-2)), True),
    "v IN RANGE(1, 5)": ast.InRange(v, ast.Literal(1), ast.Literal(5)),
    "v NOT IN RANGE(1, 5)": ast.InRange(v, ast.Literal(1), ast.Literal(5), True),
    "v IN {1..5}": ast.InRange(v, ast.Literal(1), ast.Literal(5)),
    "v IN {1.5..2.5}": ast.InRange(v, ast.Literal(1.5), ast.Literal(2.5)),
    "v NOT IN {1..}": ast.InRange(v, ast.Literal(1), None, True),
    "v IN {..5}": ast.InRange(v, None, ast.Literal(5)),
    "v IN {w..}": ast.InRange(v, w, None),
    "v BETWEEN 1 AND 5 AND w": ast.LogicalAnd(ast.InRange(v, ast.Literal(1), ast.Literal(5)), w),
    "v NOT BETWEEN w + 1 AND 5": ast.InRange(
        v, ast.Arithmetic("+", w, ast.Literal(1)), ast.Literal(5), True
    ),
    "n LIKE 'a%'": ast.Like(n, "a%"),
    "n NOT LIKE 'a_'": ast.Like(n, "a_", True),
    "v IS NULL": ast.IsNull(v),
    "v IS NOT NULL": ast.IsNull(v, True),
    "v + 1 * w = 1": ast.Comparison(
        ast.CompareOp.EQ,
        ast.Arithmetic("+", v, ast.Arithmetic("*", ast.Literal(1), w)),
        ast.Literal(1),
    ),
    "v - 1 - w = 1": ast.Comparison(
        ast.CompareOp.EQ,
        ast.Arithmetic("-", ast.Arithmetic("-", v, ast.Literal(1)), w),
        ast.Literal(1),
    ),
    "-v % w = -.5": ast.Comparison(
        ast.CompareOp.EQ, ast.Arithmetic("%", ast.Negate(v), w), ast.Literal(-0.5)
    ),
}


@pytest.mark.parametrize("text", PREDICATES)
def test_predicate(text: str) -> None:
    assert parse_predicate(text) == PREDICATES[text]
    assert parse_formula(f"A FILTER x[{text}]") == ast.Filter(
        A, ast.VariablePredicate("x", PREDICATES[text])
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("40", 40), ("2.50", 2.5), ("1e3", 1000.0), ("1E-2", 0.01), (".5", 0.5), ("26.0", 26.0)],
)
def test_numbers_keep_their_type(text: str, value: float) -> None:
    comparison = parse_predicate(f"v = {text}")
    assert isinstance(comparison, ast.Comparison)
    assert isinstance(comparison.right, ast.Literal)
    assert comparison.right.value == value
    assert type(comparison.right.value) is type(value)


TERMS: dict[str, ast.Expression] = {
    "x.v": ast.VariableAttribute("x", "v"),
    "ANY.v": ast.VariableAttribute("ANY", "v"),
    "prev(x).v": ast.VariableAttribute("x", "v", "prev"),
    "first(x).v": ast.VariableAttribute("x", "v", "first"),
    "LAST(x).v": ast.VariableAttribute("x", "v", "last"),
    "first(x.v)": ast.VariableAttribute("x", "v", "first"),
    "sum(x.v)": ast.Aggregate("sum", "x", "v"),
    "avg(x.v)": ast.Aggregate("avg", "x", "v"),
    "min(x.v)": ast.Aggregate("min", "x", "v"),
    "MAX(x.v)": ast.Aggregate("max", "x", "v"),
    "count(x)": ast.Aggregate("count", "x", None),
}


@pytest.mark.parametrize("text", TERMS)
def test_term(text: str) -> None:
    condition = ast.Comparison(ast.CompareOp.LT, TERMS[text], ast.Literal(3))
    assert parse_formula(f"A FILTER {text} < 3") == ast.Filter(A, condition)


STRATEGIES = {
    "*": (ast.Strategy.ALL, None),
    "ANY *": (ast.Strategy.ANY, None),
    "max *": (ast.Strategy.MAX, None),
    "NONE": (ast.Strategy.ALL, ()),
    "STRICT NONE": (ast.Strategy.STRICT, ()),
    "NEXT x, y": (ast.Strategy.NEXT, (ast.VariableItem("x"), ast.VariableItem("y"))),
    "last x": (ast.Strategy.LAST, (ast.VariableItem("x"),)),
    "LAST(x.v)": (ast.Strategy.ALL, (ast.MeasureItem(ast.Aggregate("last", "x", "v")),)),
    "MAX(x.p) AS m": (ast.Strategy.ALL, (ast.MeasureItem(ast.Aggregate("max", "x", "p"), "m"),)),
    "MAX MAX(x.p)": (ast.Strategy.MAX, (ast.MeasureItem(ast.Aggregate("max", "x", "p")),)),
    "next, y": (ast.Strategy.ALL, (ast.VariableItem("next"), ast.VariableItem("y"))),
    "ANY": (ast.Strategy.ALL, (ast.VariableItem("ANY"),)),
    "last.v": (ast.Strategy.ALL, (ast.MeasureItem(ast.VariableAttribute("last", "v")),)),
    "x[a, b]": (ast.Strategy.ALL, (ast.VariableItem("x", ("a", "b")),)),
    "NEXT (x.a + 1) * 2": (
        ast.Strategy.NEXT,
        (
            ast.MeasureItem(
                ast.Arithmetic(
                    "*",
                    ast.Arithmetic("+", ast.VariableAttribute("x", "a"), ast.Literal(1)),
                    ast.Literal(2),
                )
            ),
        ),
    ),
}


@pytest.mark.parametrize("text", STRATEGIES)
def test_select(text: str) -> None:
    query = parse(f"SELECT {text} WHERE A")
    assert (query.strategy, query.items) == STRATEGIES[text]


def test_every_clause() -> None:
    query = parse(
        "select next x from S, R where A as x partition by [a, b], [c] within 5 s "
        "consume by partition limit 7"
    )
    assert query == ast.Query(
        ast.Strategy.NEXT, (ast.VariableItem("x"),), ("S", "R"), ast.As(A, "x"),
        (("a", "b"), ("c",)), ast.TimeWindow(at(5, SECOND)), ast.Consume.PARTITION, 7,
    )  # fmt: skip


SOFT = [
    "all",
    "next",
    "last",
    "max",
    "strict",
    "project",
    "first",
    "min",
    "sum",
    "avg",
    "count",
    "prev",
    "range",
    "events",
    "event",
    "by",
    "s",
    "m",
    "h",
    "d",
    "ms",
    "seconds",
    "H",
    "S",
    "D",
    "M",
]


@pytest.mark.parametrize("word", SOFT)
def test_words_that_stay_names(word: str) -> None:
    assert parse_formula(f"{word} ; {word} AS {word}") == seq(
        ast.Atom(word), ast.As(ast.Atom(word), word)
    )
    assert parse_formula(f"{word} > {word}") == ast.Atom(word, word)
    assert parse_formula(f"A FILTER {word}[{word} > 1 AND {word}]")
    assert parse_formula(f"A FILTER {word}.{word} > count({word})")
    query = parse(
        f"SELECT {word}, sum({word}.{word}) AS {word}, {word}.{word} FROM {word} WHERE {word} "
        f"PARTITION BY [{word}] WITHIN 3 [{word}]"
    )
    assert query.streams == (word,)
    assert query.items is not None
    assert query.items[0] == ast.VariableItem(word)


CORE_QUERIES = [
    "SELECT * FROM S WHERE (SELL AS msft ; BUY AS oracle ; SELL AS amat) "
    "FILTER msft[name = 'MSFT'] AND msft[price > 26.0] AND oracle[name = 'ORCL'] "
    "AND amat[name = 'AMAT'] WITHIN 30000 [stock_time]",
    "SELECT b FROM S WHERE (SELL ; (BUY OR SELL)+ AS b ; SELL) "
    "FILTER b[price >= 10 AND (volume < 5 OR volume > 50)] PARTITION BY [name], [volume]",
    "SELECT ANY t1, h FROM S, S2 WHERE S>T AS t1 ; S2>H AS h FILTER t1[temp > 40] "
    "WITHIN 1 hour 30 minutes CONSUME BY ANY LIMIT 1",
    "SELECT MAX * FROM S\nWHERE H:+ : T /* hot */ -- then done\nWITHIN 4 EVENTS",
    "SELECT NEXT * FROM S WHERE (A AS x ; B) FILTER x[id IN {1, 2}] AND x[v IN RANGE(1, 3)] "
    "OR B[name LIKE '%a%'] CONSUME BY NONE",
]


@pytest.mark.parametrize("text", CORE_QUERIES)
def test_queries_as_core_writes_them(text: str) -> None:
    check(parse(text), text)


def test_spans_are_places_in_the_text() -> None:
    text = "SELECT x WHERE (A AS x ; B)+ FILTER x[v > 1]"
    query = parse(text)

    def of(node: ast.Node) -> str:
        return text[node.span.start : node.span.end]

    formula = query.formula
    assert isinstance(formula, ast.Filter)
    assert of(query) == text
    assert of(formula) == "(A AS x ; B)+ FILTER x[v > 1]"
    assert of(formula.body) == "(A AS x ; B)+"
    assert isinstance(formula.body, ast.Iteration)
    assert of(formula.body.body) == "A AS x ; B"
    assert of(formula.condition) == "x[v > 1]"
    assert isinstance(formula.condition, ast.VariablePredicate)
    assert of(formula.condition.predicate) == "v > 1"


def test_text_length_is_limited() -> None:
    with pytest.raises(CatenaLimitError) as caught:
        parse("SELECT * WHERE A" + " " * TEXT_LENGTH_MAX)
    assert caught.value.given == TEXT_LENGTH_MAX + 16
    assert caught.value.allowed == TEXT_LENGTH_MAX


def test_error_shows_the_line_with_a_caret() -> None:
    with pytest.raises(CatenaSyntaxError) as caught:
        parse("SELECT *\nWHERE A\nWITHIN 5 secnds")
    assert str(caught.value).splitlines() == [
        "line 3, column 10: 'secnds' is not a unit of time",
        "  WITHIN 5 secnds",
        "           ^^^^^^",
        "hint: did you mean seconds?",
    ]


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("A", "A"),
        ("A AS x ; ANY", "A x ANY"),
        ("PROJECT[x](A AS x ; B)", "x"),
        ("PROJECT[](A) AS x", ""),
        ("A ; NOT (B) ; C", "A C"),
        ("A UNLESS B", "A"),
        ("NEXT((A OR B)+)", "A B"),
    ],
)
def test_bound_variables(text: str, bound: str) -> None:
    assert bound_variables(parse_formula(text)) == set(bound.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A ; B", "A B"),
        ("T AS x ; H", "x H"),
        ("T AS x ; T", "x T"),
        ("T AS x AS y", "x y"),
        ("T+ AS x", "T x"),
        ("(A ; B)+ AS y", "A B y"),
        ("ANY ; ANY AS x", "ANY x"),
        ("PROJECT[y](A AS x ; B AS y)", "y"),
        ("A ; NOT (B AS x) ; C", "A C"),
    ],
)
def test_star_shows(text: str, shown: str) -> None:
    assert output_variables(parse(f"SELECT * WHERE {text}")) == tuple(shown.split())


VALID = [
    "(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER x.id = z.id",
    "A AS x ; (B FILTER x.v > 40)",
    "A AS x ; NOT (C FILTER C.id = x.id) ; B",
    "(A AS x FILTER x.v > prev(x).v)+",
    "(A AS x)+ ; (B FILTER B.v > last(x).v AND count(x) > 2)",
    "A OR B FILTER A.v > 1",
]


@pytest.mark.parametrize("text", VALID)
def test_scopes_that_are_right(text: str) -> None:
    query = f"SELECT * WHERE {text}"
    check(parse(query), query)
