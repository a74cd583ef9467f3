"""Columns are recoded before anything else looks at them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from microagg_ops.columns.recoding import recoded
from microagg_ops.errors import DataError
from microagg_ops.release.columns import Columns as Declared
from microagg_ops.release.columns import Dominance, Quasi, column_faults

DAY = datetime.date(2024, 3, 17)
MOMENT = datetime.datetime(2024, 3, 17, 9, 30)
SECRET = "cell 91"


def column(values: list[Any] | pa.Array, how: Quasi) -> pa.ChunkedArray:
    table = pa.table({"x": values if isinstance(values, pa.Array) else pa.array(values)})
    return recoded(table, {"x": how})["x"]


@pytest.mark.parametrize(
    ("declared", "given", "found"),
    [
        ("boolean", [0, 1, None], [False, True, None]),
        ("boolean", [0.0, 1.0], [False, True]),
        ("boolean", ["no", "Yes", " t "], [False, True, True]),
        ("ordinal", [1.0, 6.0, None], [1, 6, None]),
        ("ordinal", [Decimal("2.0")], [2]),
        ("nominal", [3.0], ["3"]),
        ("nominal", [DAY], ["2024-03-17"]),
        ("integer", ["12", "-3.0", "1e2"], [12, -3, 100]),
        ("integer", [True, False], [1, 0]),
        ("number", ["1.5", " 2 "], [1.5, 2.0]),
        ("decimal", ["1.50", "22"], [Decimal("1.50"), Decimal("22.00")]),
        ("date", ["2024-03-17", None], [DAY, None]),
        ("date", [MOMENT], [DAY]),
        ("timestamp", ["2024-03-17T09:30", "2024-03-17T11:30+02:00"], [MOMENT, MOMENT]),
        ("timestamp", [DAY], [datetime.datetime(2024, 3, 17)]),
    ],
)
def test_cells_are_cast(declared: str, given: list[Any], found: list[Any]) -> None:
    assert column(given, Quasi(declared, cast=True)).to_pylist() == found


def test_dates_are_read_as_they_are_written() -> None:
    found = column(["17.03.2024"], Quasi("date", cast="%d.%m.%Y"))
    assert found.to_pylist() == [DAY]
    assert column([20240317], Quasi("date", cast="%Y%m%d")).to_pylist() == [DAY]


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("boolean", [2, 1]), ("boolean", ["maybe"]), ("integer", ["1_0"]), ("integer", ["1.5"]),
        ("integer", ["9" * 30]), ("number", ["nan"]), ("number", ["inf"]), ("number", [""]),
        ("date", ["17.03.2024"]), ("date", ["2024-02-30"]), ("timestamp", ["soon"]),
        ("ordinal", [1.5]), ("decimal", ["1,5"]), ("integer", [SECRET]),
    ],
)  # fmt: skip
def test_what_cannot_be_cast_is_counted_and_not_shown(declared: str, given: list[Any]) -> None:
    rows = [given[0], given[0], None]
    with pytest.raises(DataError, match=f"'x' cannot be cast to {declared} in 2 of 3") as caught:
        column(rows, Quasi(declared, cast=True))
    assert caught.value.code == "bad_cast"
    assert str(given[0]) not in str(caught.value).replace("2 of 3", "") or given[0] in ("", 2)
    assert caught.value.__cause__ is None


def test_nothing_is_cast_that_need_not_be() -> None:
    given = pa.array(["02", "2"])
    assert column(given, Quasi("nominal", cast=True)).to_pylist() == ["02", "2"]
    assert column(pa.array([1, 2]), Quasi("number", cast=True)).type == pa.int64()
    assert column(["1", "2"], Quasi("integer")).type == pa.string()  # refused later, by its name


@pytest.mark.parametrize(
    ("how", "given", "found"),
    [
        (Quasi("integer", bottom=18, top=90), [3, 50, 104, None], [18, 50, 90, None]),
        (Quasi("number", top=1e3), [3.5, 1e6], [3.5, 1e3]),
        (Quasi("integer", round=5), [52, 53, -8], [50, 55, -10]),
        (Quasi("number", round=0.5, top=2.0), [0.7, 2.4], [0.5, 2.0]),
        (Quasi("decimal", top=10, round=0.5), [Decimal("9.74"), Decimal("99.00")],
         [Decimal("9.50"), Decimal("10.00")]),
        (Quasi("date", bottom="1930-01-01"), [datetime.date(1911, 5, 4), DAY],
         [datetime.date(1930, 1, 1), DAY]),
        (Quasi("timestamp", top="2024-03-17T00:00"), [MOMENT], [datetime.datetime(2024, 3, 17)]),
    ],
)  # fmt: skip
def test_extremes_are_coded_and_values_rounded(
    how: Quasi, given: list[Any], found: list[Any]
) -> None:
    before = pa.array(given)
    after = column(before, how)
    assert after.to_pylist() == found
    assert after.type == before.type


POSTCODES = {"prefix": [3, 2]}
PLACES = {"groups": {"north": ["Oslo", "Bergen"], "south": ["Rome"]}}
ROWS = {"levels": [["a", "x", "all"], ["b", "x", "all"], ["c", "y", "all"]]}


@pytest.mark.parametrize(
    ("hierarchy", "level", "given", "found"),
    [
        (POSTCODES, None, ["28013"], ["28013"]),
        (POSTCODES, 1, ["28013", "08001"], ["280**", "080**"]),
        (POSTCODES, 2, [28013], ["28***"]),
        (PLACES, 1, ["Rome", None, "Oslo"], ["south", None, "north"]),
        (ROWS, 1, ["b", "c"], ["x", "y"]),
        (ROWS, 2, ["b", "c"], ["all", "all"]),
        ("date", "month", [DAY], ["2024-03"]),
        ("date", "quarter", [MOMENT], ["2024-Q1"]),
        ("date", "year", ["2024-12-31"], ["2024"]),
        ("icd10", "category", ["E11.9", "i25"], ["E11", "I25"]),
        ("icd10", "chapter", ["D45", "D50", "Z99.8", "H59", "H60", "A00"],
         ["C00-D49", "D50-D89", "Z00-Z99", "H00-H59", "H60-H95", "A00-B99"]),
    ],
)  # fmt: skip
def test_categories_are_generalized(
    hierarchy: Any, level: Any, given: list[Any], found: list[Any]
) -> None:
    assert column(given, Quasi("nominal", hierarchy=hierarchy, level=level)).to_pylist() == found


@pytest.mark.parametrize(
    ("hierarchy", "unknown"),
    [(PLACES, SECRET), (ROWS, SECRET), ("date", SECRET), ("icd10", SECRET), (POSTCODES, "*")],
)
def test_what_a_hierarchy_does_not_have_is_counted(hierarchy: Any, unknown: str) -> None:
    known = {"date": "2024-01-01", "icd10": "A00"}.get(str(hierarchy))
    rows = [unknown, known or {str(PLACES): "Rome", str(ROWS): "a"}.get(str(hierarchy), "28013")]
    with pytest.raises(DataError, match="does not have in 1 of 2 rows") as caught:
        column(rows, Quasi("nominal", hierarchy=hierarchy))
    assert caught.value.code == "not_in_hierarchy"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("how", "pointer", "found"),
    [
        (Quasi("nominal", bottom=1), "bottom", "1, with type nominal"),
        (Quasi("integer", top=1.5), "top", "1.5, with type integer"),
        (Quasi("number", bottom="a"), "bottom", "'a', with type number"),
        (Quasi("number", bottom=2, top=1), "top", "1"),
        (Quasi("date", top="31.12.2020"), "top", "'31.12.2020', with type date"),
        (Quasi("date", round=5), "round", "5, with type date"),
        (Quasi("number", cast="%d"), "cast", "a form of dates, with type number"),
        (Quasi("number", hierarchy="date"), "hierarchy", "a hierarchy, with type number"),
        (Quasi("nominal", level=1), "level", "1, without a hierarchy"),
        (Quasi("nominal", hierarchy="date", level=4), "level", "4"),
        (Quasi("nominal", hierarchy="date", level="week"), "level", "'week'"),
        (Quasi("nominal", hierarchy={"prefix": [2, 3]}), "hierarchy/prefix", "lengths that do"),
        (Quasi("nominal", hierarchy={"prefix": [2], "groups": {}}), "hierarchy", "2 keys"),
        (Quasi("nominal", hierarchy={"file": "x.csv"}), "hierarchy/file", "a file that cannot"),
        (Quasi("nominal", hierarchy={"groups": {"a": ["x"], "b": ["x"]}}), "hierarchy/groups",
         "1 categories in two groups"),
        (Quasi("nominal", hierarchy={"levels": [["a", "x"], ["b"]]}), "hierarchy", "rows of diff"),
        (Quasi("nominal", hierarchy={"levels": [["a", "x", "1"], ["b", "x", "2"]]}), "hierarchy",
         "1 entries with two levels above"),
        (Quasi("nominal", representative="ancestor"), "representative", "ancestor, of a column"),
    ],
)  # fmt: skip
def test_contradictions_are_faults(how: Quasi, pointer: str, found: str) -> None:
    faults = list(column_faults(Declared({"x": how}), Dominance()))
    assert len(faults) == 1, faults
    assert faults[0][0] == f"/columns/quasi/x/{pointer}"
    assert faults[0][1].startswith(found)
