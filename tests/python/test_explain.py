"""`explain` and the plan's text, compared with golden files; the automaton as a picture."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import catena

QUERIES = {
    "sequence": "SELECT * WHERE (T AS x ; H AS y) FILTER x[value > 40] AND y[value <= 25]",
    "iteration": "SELECT x, avg(y.value) AS mean WHERE H AS x ; (T AS y)+ ; H AS z WITHIN 5 min",
    "contiguous": "SELECT NONE WHERE A : (B : C):+ PARTITION BY [id], [place] WITHIN 100 EVENTS",
    "conjunction": "SELECT ANY * WHERE (A ; B) AND ((A : B) OR (A ; B)) CONSUME BY ANY",
    "case_split": "SELECT x WHERE T AS x ; ((T FILTER x.v >= 40) OR (H FILTER x.v < 40))",
    "projection": "SELECT x[a, b] FROM S WHERE PROJECT[x](A AS x ; S > B) LIMIT 3",
    "selection": "SELECT STRICT * WHERE (NEXT(A ; B) ; MAX(LAST(C ; D))) FILTER B.v > 1",
    "next": "SELECT NEXT x WHERE A AS x ; B+ ; C WITHIN 100 EVENTS LIMIT 2",
    "max": "SELECT MAX * WHERE A ; B+ ; C PARTITION BY [id] WITHIN 5 min",
    "timed": "SELECT * WHERE (A ;[<= 5 s] (B+[< 1 s]) ;[1 s, 2 s) C WITHIN 1 min) WITHIN 2 min",
    "timed_monotonic": "SELECT * WHERE A ;[<= 5 s] B ;[<= 5 s] C",
    "timed_monotonic_window": "SELECT * WHERE ((A ;[< 5 s] B ; C) WITHIN 9 [n]) WITHIN 1 min",
    "timed_merged": "SELECT x, z WHERE (A AS x :+[= 1 s] ; B ;[> 0.5 s] C AS z WITHIN 9 EVENTS)",
    "timed_next": "SELECT * WHERE NEXT(A ; B) ;[<= 1 h] STRICT((C ; D WITHIN [2 s, 3 s]))",
    "absence": "SELECT * WHERE (A AS x ; NOT (B ; C) ; D) FILTER x[v > 1] WITHIN 1 min",
    "followed_by": "SELECT * WHERE (A -> (B AS y FILTER y[v > 1]) -> C AS z) FILTER z[v > 2]",
    "absence_of_rows": "SELECT * WHERE A AS a ; NOT (B AS b FILTER b.id = a.id AND b.v > 1) ; C",
    "absence_of_the_key": "SELECT LAST * WHERE A AS a -> (B AS b FILTER b.id = a.id)",
    "absence_timed": "SELECT * WHERE A ; NOT (B ;[<= 5 s] D) ; C",
    "absence_compared": "SELECT * WHERE (A AS a ; C) UNLESS ((B AS b ; D AS d) FILTER b.id = d.id "
    "AND d.v > a.v) WITHIN 10 EVENTS",
    "unless": "SELECT * WHERE (A ;[<= 5 s] B ; C) UNLESS (LAST(D ; E) OR F)",
    "registers": "SELECT * WHERE (A AS x ; (B AS y FILTER y.v > prev(y).v)+ ;[<= 5 s] C AS z) "
    "FILTER z.id = x.id AND z.v > avg(y.v) AND z.v - x.v < 10",
    "registers_merged": "SELECT x, z WHERE (A AS x ; B AS y ; C AS z) FILTER y.v < z.v "
    "WITHIN 1 min",
    "key_equalities": "SELECT LAST * WHERE (H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) "
    "FILTER x.id = z.id PARTITION BY [place]",
    "timed_max": "SELECT MAX * WHERE A ;[<= 5 s] B+ ; C WITHIN 1 min LIMIT 3",
    "timed_scopes": "SELECT NEXT * WHERE LAST(NEXT(A ;[<= 2 s] B) ; C) ;[< 1 h] D",
    "valued_next": "SELECT NEXT * WHERE (A AS x ; B AS y) FILTER y.v > x.v WITHIN 5 EVENTS",
    "absence_scope": "SELECT * WHERE A AS x ; NEXT(B ; NOT (D ;[<= 5 s] (A FILTER A.v > x.v)) ; C)",
    "valued_scopes": "SELECT * WHERE A AS x ; MAX(B+ ;[<= 5 s] (C FILTER C.v > x.v))",
    "attribute_window": "SELECT * WHERE A ; B WITHIN 30000 [stock_time]",
}


@pytest.mark.parametrize("name", QUERIES)
def test_explain(name: str, golden: Callable[[str, str], None]) -> None:
    query = catena.Query(QUERIES[name], time="ts", stream="stream")
    golden(f"explain/{name}.txt", query.explain())


@pytest.mark.parametrize("name", QUERIES)
def test_plan(name: str, golden: Callable[[str, str], None]) -> None:
    query = catena.Query(QUERIES[name], time="ts", stream="stream")
    golden(f"plan/{name}.txt", query.plan.to_text())


def test_the_hash_is_of_the_plan_not_of_the_text() -> None:
    one = catena.Query("SELECT x WHERE A AS x ; B")
    same = catena.Query("select  x  where (A as x) ; (B) -- the same")
    other = catena.Query("SELECT x WHERE A AS x : B")
    assert one.plan.hash == same.plan.hash
    assert one.plan.hash != other.plan.hash


def test_dot() -> None:
    dot = catena.Query("SELECT * WHERE A AS x ; B").automaton.to_dot()
    assert dot.startswith("digraph") and dot.count("->") == 4
    assert "type = 'A'" in dot and "{x}" in dot


def test_dot_shows_clocks() -> None:
    dot = catena.Query("SELECT * WHERE A ;[<= 5 s] B", time="ts").automaton.to_dot()
    assert r"{A}\nreset t0" in dot and r"{B}\nwhen t0 <= 5 s" in dot


def test_dot_shows_scopes() -> None:
    dot = catena.Query("SELECT * WHERE NEXT(A ;[<= 5 s] B)", time="ts").automaton.to_dot()
    assert 'subgraph "cluster 0"' in dot and 'label="scope 0: NEXT"' in dot
    assert r"{B}\nby 0: 2" in dot and r"""[label="type = 'B'\nwhen t0 <= 5 s"]""" in dot


def test_dot_shows_observers() -> None:
    dot = catena.Query("SELECT * WHERE NEXT(A ; B)").automaton.to_dot()
    assert "0 [style=dashed];" in dot and "2 [style=dashed];" in dot
    assert """0 -> 2 [label="type = 'A'" style=dashed];""" in dot


def test_notebook_reprs() -> None:
    query = catena.Query("SELECT x WHERE A AS x ; B")
    matches = query.run({"type": ["A", "B"] * 20})
    page = matches._repr_html_()
    assert page.count("<tr>") == 11 and "and more" in page
    assert "<pre>" in query._repr_html_()
    assert "3 states" in repr(query.automaton)
    assert "SELECT x" in repr(query) and "SELECT x" in repr(matches)
