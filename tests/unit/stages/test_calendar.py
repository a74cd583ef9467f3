"""Dates that no calendar of Python or Arrow holds are refused; all others are taken as they are."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from microagg_ops.errors import DataError
from microagg_ops.stages.extract import FIRST_DAY, LAST_DAY, normalized

DAY = 86_400
UNITS = {"s": 1, "ms": 10**3, "us": 10**6}
IN = [FIRST_DAY, LAST_DAY, 0]
OUT = [FIRST_DAY - 1, LAST_DAY + 1]


def table(values: list[Any], kind: pa.DataType, physical: pa.DataType) -> pa.Table:
    return pa.table({"d": pa.array([*values, None], physical).cast(kind)})


def test_the_bounds_are_those_of_the_calendar() -> None:
    epoch = dt.date(1970, 1, 1)
    assert [epoch + dt.timedelta(days) for days in (FIRST_DAY, LAST_DAY)] == [
        dt.date.min,
        dt.date.max,
    ]


@pytest.mark.parametrize("days", [*OUT, 2**31 - 1, -(2**31) + 1])
def test_a_day_outside_is_refused(days: int) -> None:
    with pytest.raises(DataError, match="'d' is infinite or outside .* in 1 of 3 rows") as caught:
        normalized(table([days, 0], pa.date32(), pa.int32()))
    assert caught.value.code == "infinite"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("days", OUT)
def test_a_moment_outside_is_refused(unit: str, days: int) -> None:
    moment = days * DAY * UNITS[unit]
    with pytest.raises(DataError, match="1 of 2 rows"):
        normalized(table([moment], pa.timestamp(unit), pa.int64()))


@pytest.mark.parametrize("unit", [*UNITS, "ns"])
@pytest.mark.parametrize("end", [2**63 - 1, -(2**63) + 1])
def test_an_infinite_moment_is_refused(unit: str, end: int) -> None:
    with pytest.raises(DataError, match="1 of 2 rows"):
        normalized(table([end], pa.timestamp(unit, "UTC"), pa.int64()))


def test_the_calendar_is_taken_as_it_is() -> None:
    days = table(IN, pa.date32(), pa.int32())
    assert normalized(days).equals(days)
    for unit, ticks in UNITS.items():
        moments = [IN[0] * DAY * ticks, (IN[1] + 1) * DAY * ticks - 1]
        found = table(moments, pa.timestamp(unit), pa.int64())
        assert normalized(found).equals(found)
    nanoseconds = table([0, 10**18, -(10**18)], pa.timestamp("ns"), pa.int64())
    assert normalized(nanoseconds).equals(nanoseconds)
