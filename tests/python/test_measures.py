"""Measures calculate as predicates do: exactly with integers of any width, and only with numbers,
times and durations."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pyarrow as pa
import pytest

import catena


def measured(measure: str, values: pa.Array) -> list[object]:
    """The measure over all rows together; x marks every row, and v is its value."""
    formula = " : ".join(["A AS x"] * len(values))
    query = catena.Query(f"SELECT {measure} AS m WHERE {formula}")
    table = query.run(pa.table({"type": ["A"] * len(values), "v": values})).to_arrow()
    return table["m"].to_pylist()


NARROW = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32)]


@pytest.mark.parametrize("kind", [*NARROW, pa.int64(), pa.uint64()], ids=str)
def test_integers_of_any_width_are_calculated_in_64_bits(kind: pa.DataType) -> None:
    values = pa.array([100, 3], kind)
    assert measured("-first(x.v)", values) == [-100]
    assert measured("last(x.v) - first(x.v)", values) == [-97]
    assert measured("first(x.v) * first(x.v)", values) == [10_000]
    assert measured("first(x.v) * 1000000 + last(x.v)", values) == [100_000_003]
    assert measured("first(x.v) % last(x.v)", values) == [1]
    assert measured("sum(x.v)", values) == [103]
    assert measured("last(x.v) / first(x.v)", values) == [0.03]


LARGE = 2**64 - 1


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("last(x.v) - 5", LARGE - 5),
        ("last(x.v) - last(x.v)", 0),
        (f"last(x.v) - {LARGE}", 0),
        ("last(x.v) % 1000", LARGE % 1000),
        ("last(x.v) % -1000", LARGE % 1000),
        ("sum(x.v)", LARGE),
        ("last(x.v) / 2", LARGE / 2),
        ("min(x.v)", LARGE),
    ],
)
def test_unsigned_integers_past_63_bits_are_exact(measure: str, value: object) -> None:
    assert measured(measure, pa.array([LARGE], pa.uint64())) == [value]


def test_a_difference_of_unsigned_integers_may_be_negative() -> None:
    assert measured("first(x.v) - last(x.v)", pa.array([1, 2**63], pa.uint64())) == [1 - 2**63]
    assert measured("-last(x.v)", pa.array([2**63], pa.uint64())) == [-(2**63)]


@pytest.mark.parametrize(
    ("measure", "values"),
    [
        ("-last(x.v)", pa.array([-(2**63)])),
        ("-last(x.v)", pa.array([LARGE], pa.uint64())),
        ("last(x.v) + 1", pa.array([2**63 - 1])),
        ("last(x.v) * 2", pa.array([LARGE], pa.uint64())),
        ("sum(x.v)", pa.array([2**62, 2**62])),
        ("sum(x.v)", pa.array([LARGE, 1], pa.uint64())),
    ],
)
def test_what_does_not_fit_64_bits_is_an_error(measure: str, values: pa.Array) -> None:
    with pytest.raises(catena.CatenaDataError, match="does not fit 64 bits"):
        measured(measure, values)


@pytest.mark.parametrize("divisor", [3, -3])
def test_a_remainder_has_the_sign_of_the_dividend(divisor: int) -> None:
    for dividend in (7, -7):
        expected = math.fmod(dividend, 3)
        assert measured(f"last(x.v) % {divisor}", pa.array([dividend])) == [expected]
        assert measured(f"last(x.v) % {divisor}.0", pa.array([dividend])) == [expected]
    assert measured("last(x.v) % -1", pa.array([-(2**63)])) == [0]


def test_a_zero_divides_to_null() -> None:
    for values in (pa.array([5, 0]), pa.array([5.0, 0.0]), pa.array([5, 0], pa.uint64())):
        assert measured("first(x.v) / last(x.v)", values) == [None]
        assert measured("first(x.v) % last(x.v)", values) == [None]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array(["6"]), "string"),
        (pa.array(["6"]).dictionary_encode(), "string"),
        (pa.array([True]), "boolean"),
        (pa.array([[1]]), "value"),
    ],
    ids=lambda given: str(getattr(given, "type", given)),
)
@pytest.mark.parametrize("measure", ["-last(x.v)", "last(x.v) / 2", "2 * last(x.v)"])
def test_arithmetic_needs_numbers(measure: str, values: pa.Array, kind: str) -> None:
    message = rf"arithmetic needs numbers, and last\(x.v\) is a {kind}"
    with pytest.raises(catena.CatenaError, match=message) as caught:
        measured(measure, values)
    assert (caught.value.line, caught.value.column) == (1, 8 + measure.index("last"))
    assert caught.value.hint == f"its column has type {values.type}"


@pytest.mark.parametrize("function", ["sum", "avg"])
@pytest.mark.parametrize("values", [pa.array(["6"]), pa.array([True]), pa.array([0], pa.date32())])
def test_sums_and_averages_need_numbers_or_durations(function: str, values: pa.Array) -> None:
    with pytest.raises(catena.CatenaError, match=f"{function} needs numbers or dur") as caught:
        measured(f"{function}(x.v)", values)
    assert (caught.value.line, caught.value.column) == (1, 8)


def test_min_and_max_need_an_order() -> None:
    assert measured("max(x.v)", pa.array(["a", "b"]).dictionary_encode()) == ["b"]
    assert measured("min(x.v)", pa.array([True, False])) == [False]
    assert measured("max(x.v)", pa.array([1, 2], pa.float16())) == [2.0]
    with pytest.raises(catena.CatenaError, match="max needs values with an order"):
        measured("max(x.v)", pa.array([[1], [2]]))


def seconds(amount: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=amount)


def test_durations() -> None:
    values = pa.array([seconds(1), None, seconds(4)], pa.duration("s"))
    assert measured("sum(x.v)", values) == [seconds(5)]
    assert measured("avg(x.v)", values) == [seconds(2.5)]
    assert measured("min(x.v)", values) == [seconds(1)]
    assert measured("max(x.v)", values) == [seconds(4)]
    assert measured("last(x.v) + first(x.v)", values) == [seconds(5)]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times(zone: str | None) -> None:
    values = pa.array([3, 10], pa.timestamp("s", zone))
    assert measured("last(x.v) - first(x.v)", values) == [seconds(7)]
    assert measured("(last(x.v) - first(x.v)) + first(x.v)", values) == values[1:].to_pylist()
    with pytest.raises(catena.CatenaError, match=r"a time.* \* a number"):
        measured("last(x.v) * 2", values)
    with pytest.raises(catena.CatenaError, match=r"arithmetic needs numbers, and .* is a time"):
        measured("-last(x.v)", values)


def test_decimals_are_summed_exactly_and_calculated_as_floats() -> None:
    values = pa.array([Decimal("0.10"), Decimal("0.20"), None])
    assert measured("sum(x.v)", values) == [Decimal("0.30")]
    assert measured("max(x.v)", values) == [Decimal("0.20")]
    assert measured("avg(x.v)", values) == [pytest.approx(0.15)]
    assert measured("first(x.v) * 3", values) == [0.1 * 3]


def test_a_column_of_nulls_has_null_measures() -> None:
    assert measured("sum(x.v)", pa.nulls(2)) == [None]
    assert measured("last(x.v) + 1", pa.nulls(2)) == [None]
    assert measured("count(x.v)", pa.nulls(2)) == [0]
