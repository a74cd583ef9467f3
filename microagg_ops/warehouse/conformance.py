"""What a warehouse must hold so that releases can trust it, tried on tables of our own.

Only what `Warehouse` promises is used, so that it can be tried on any of them, by anybody:
``microagg conformance``. The rows are made up; the tables are removed again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from microagg_ops.errors import MicroaggError
from microagg_ops.warehouse.base import Commit, Rows, Warehouse
from microagg_ops.warehouse.bench import (
    Bench,
    BrokenError,
    LackingError,
    RefusalError,
    carried,
    cut,
    expect,
    refusing,
    rows_of,
    same,
    type_named,
)

HOLDS, REFUSED, LACKS, FAILS = "holds", "refused", "no", "FAILS"
# How long a reader may wait for a writer before it is said to be kept waiting.
PATIENCE = 3.0
START, END = datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC)
ODD = ('a"b', "two words", "UPPER", "upper_", "größe_ж", "50%", "a:b", "it's", "a.b", "$1", "(x)")
TEXTS = (
    "", " ", "a", "A", "a ", "ß", "ж", "😀", "02", "1e5", "NULL", "it's", 'a "b"', "back\\slash",
    "line\nbreak", "tab\t", "%_", ":start", "{x}", "?", "x" * 70_000,
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What was found of one claim: ``holds``, ``refused``, ``no`` or ``FAILS``, and how."""

    claim: str
    verdict: str
    how: str = ""


def examine(
    warehouse: Warehouse,
    schema: str | None = None,
    progress: Callable[[str, float], None] = lambda _, __: None,
) -> list[Found]:
    """Try every claim on a warehouse.

    Parameters
    ----------
    warehouse
        Where: whoever connects must have the right to make, fill and drop tables.
    schema
        Where in it; by default where names without a schema lead.
    progress
        Is told how far it is.
    """
    warehouse.reach()
    found = []
    for done, (claim, judge) in enumerate(CLAIMS.items()):
        progress("conformance", done / len(CLAIMS))
        found.append(Found(claim, *tried(judge, Bench(warehouse, schema))))
    progress("conformance", 1.0)
    return found


def tried(judge: Callable[[Bench], str | None], bench: Bench) -> tuple[str, str]:
    """Return the verdict on one claim, and how it came."""
    try:
        return HOLDS, judge(bench) or ""
    except LackingError as lacking:
        return LACKS, str(lacking)
    except BrokenError as broken:
        return FAILS, str(broken)
    except RefusalError as refusal:
        return REFUSED, str(refusal)
    except MicroaggError as error:
        return FAILS, f"{error.code}: {error.message}"
    except Exception as error:  # noqa: BLE001 - a driver's own error must not come through
        return FAILS, f"{type(error).__name__} came through"
    finally:
        bench.clear()


def missing(bench: Bench) -> None:
    """Look for a table that is not there."""
    expect(bench.warehouse.describe(bench.table()), None, "it is described")


def created(bench: Bench) -> None:
    """Write to a table that is not there."""
    table = bench.table()
    before = bench.warehouse.identity(table)
    bench.write(table, {"z": [1, 2], "a": ["x", "y"]})
    expect(bench.read(table), {"z": [1, 2], "a": ["x", "y"]}, "other rows came back")
    expect(bench.warehouse.identity(table), before, "its identity changed when it was made")


def replaced(bench: Bench) -> None:
    """Write to a table that is there."""
    table = bench.table()
    bench.write(table, {"a": [1, 2, 3]})
    bench.write(table, {"a": [4]})
    expect(bench.read(table), {"a": [4]}, "other rows than the new ones are there")


def others(bench: Bench) -> None:
    """Write to a table with other columns."""
    table = bench.table()
    bench.write(table, {"a": [1], "b": ["x"]})
    with suppress(RefusalError), refusing(bench, table, {"a": [1], "b": ["x"]}):
        bench.write(table, {"a": [2], "c": ["y"]})
        raise BrokenError("it was written")


def altering(bench: Bench) -> None:
    """Write text into a column of numbers."""
    table = bench.table()
    bench.write(table, {"a": [1, 2]})
    with suppress(RefusalError), refusing(bench, table, {"a": [1, 2]}):
        bench.write(table, {"a": ["3", "02", "no number"]})
        raise BrokenError("it was written")


def empty(bench: Bench) -> None:
    """Carry a table without rows, and replace rows by none."""
    table = bench.table()
    bench.write(table, {"a": [1], "b": ["x"]})
    none = rows_of({"a": [1], "b": ["x"]}).data.slice(0, 0)
    bench.warehouse.write(table, Rows(none, {}))
    expect(bench.read(table), {"a": [], "b": []}, "rows are there")


def odd_columns(bench: Bench) -> None:
    """Carry columns with odd names."""
    table, columns = bench.table(), {name: [i, i + 1] for i, name in enumerate(ODD)}
    with refusing(bench, table):
        bench.write(table, columns)
    expect(bench.read(table), columns, "other columns came back")


def odd_table(bench: Bench) -> None:
    """Carry a table whose name tries to be more."""
    other = bench.table()
    bench.write(other, {"a": [1]})
    table = bench.table(f' x"; drop table {other}; --')
    with refusing(bench, table):
        bench.write(table, {"a": [2]})
    expect(bench.read(table), {"a": [2]}, "other rows came back")
    expect(bench.read(other), {"a": [1]}, "another table was touched")


def told_apart(bench: Bench) -> None:
    """Name two columns alike but for their case."""
    table = bench.table()
    try:
        bench.write(table, {"a": [1], "A": [2]})
    except MicroaggError:
        raise LackingError("names that differ in case alone are refused") from None
    expect(bench.read(table), {"a": [1], "A": [2]}, "other columns came back")


def conditions(bench: Bench) -> None:
    """Read by conditions."""
    table = bench.table()
    days = [date(2024, 2, 29), date(2024, 3, 1), date(2024, 3, 31), date(2024, 4, 1)]
    bench.write(table, {"n": [1, 2, 3, 4], "b": ["x", "it's", None, "100% :end"], "d": days})
    for where, wanted in (
        ("n = 1 or n = 3", [1, 3]),
        ("(n between 2 and 3) and not n = 2", [3]),
        ("b is null", [3]),
        ("b in ('x', 'it''s')", [1, 2]),
        ("b like '100%% :end'", [4]),
        ("d >= :start and d < :end", [2, 3]),
        ("d < :end and n < 4 and d >= :start", [2, 3]),
        ('"n" > 9', []),
    ):
        found = bench.read(table, where, start=START, end=END)["n"]
        expect(found, wanted, f"where {where}: other rows came")


def moments(bench: Bench) -> None:
    """Read an interval of moments."""
    import pyarrow as pa

    table = bench.table()
    hours = [datetime(2024, 3, 1, hour, 0, 0, 1) for hour in (5, 6, 7)]
    bench.write(table, {"n": [5, 6, 7], "m": pa.array(hours, pa.timestamp("us"))})
    six = datetime(2024, 3, 1, 6, tzinfo=UTC)
    found = bench.read(table, "m >= :start and m < :end", start=six, end=END)["n"]
    expect(found, [6, 7], "other rows came")


def exact_conditions(bench: Bench) -> None:
    """Compare text in a condition."""
    table = bench.table()
    bench.write(table, {"n": [1, 2, 3], "b": ["a", "A", "a "]})
    if bench.read(table, "b = 'a'")["n"] != [1]:
        raise LackingError("its collation takes a, A or trailing spaces for the same")


def intervals(bench: Bench) -> None:
    """Write intervals, one of them again."""
    table = bench.table()
    for start in (START, END, START):
        bench.append(table, start)
    expect(bench.read(table)["a"], [-4, -3, 3, 4], "other rows are there")


def told(bench: Bench) -> None:
    """Tell when a write is true."""
    table, commit = bench.table(), Commit()
    if not bench.warehouse.tells_commit:
        raise LackingError("signals wait for the whole of a write")
    bench.write(table, {"a": [1]}, commit)
    expect((commit.began, commit.done), (True, True), "its commit was not told")


def cut_replace(bench: Bench) -> None:
    """Cut a write just before its commit."""
    table = bench.table()
    bench.write(table, {"a": [1, 2]})
    cut(bench, lambda commit: bench.write(table, {"a": [3]}, commit))
    expect(bench.read(table), {"a": [1, 2]}, "the target is not as it was")


def cut_append(bench: Bench) -> None:
    """Cut the write of an interval just before its commit."""
    table = bench.table()
    bench.append(table, START)
    cut(bench, lambda commit: bench.append(table, START, commit))
    cut(bench, lambda commit: bench.append(table, END, commit))
    expect(bench.read(table)["a"], [-3, 3], "the target is not as it was")


def cut_new(bench: Bench) -> None:
    """Cut the write of a new table just before its commit."""
    table = bench.table()
    cut(bench, lambda commit: bench.write(table, {"a": [3]}, commit))
    if bench.warehouse.describe(table) is not None:
        expect(bench.read(table), {"a": []}, "rows were left")
        raise LackingError("it is left, empty")


def reading(bench: Bench) -> str:
    """Read while a write waits to be committed."""
    table, seen = bench.table(), []
    bench.write(table, {"a": [1, 2]})
    with ThreadPoolExecutor(1) as readers:

        def look() -> None:
            reader = readers.submit(bench.read, table)
            try:
                seen.append(reader.result(PATIENCE))
            except TimeoutError:
                pass
            except MicroaggError as error:
                if not error.retryable:
                    raise BrokenError(f"a reader was refused for good ({error.code})") from None

        if not bench.warehouse.tells_commit:
            raise LackingError("its commit cannot be told")
        bench.write(table, {"a": [3]}, Commit(look))
    if seen:
        expect(seen[0], {"a": [1, 2]}, "a reader saw rows that were not committed")
    expect(bench.read(table), {"a": [3]}, "other rows than the new ones are there")
    if not seen:
        raise LackingError("readers wait, or are told to try again")
    return "readers see the old rows"


def writing(bench: Bench) -> str:
    """Write from two sides at once."""
    table = bench.table()
    bench.write(table, {"a": [0]})
    one, other = {"a": [1, 2, 3]}, {"a": [4, 5]}
    refused = 0
    with ThreadPoolExecutor(2) as writers:
        for attempt in [writers.submit(bench.write, table, rows) for rows in (one, other)]:
            try:
                attempt.result()
            except MicroaggError as error:
                refused += 1
                if not error.retryable:
                    raise BrokenError(f"one was refused for good ({error.code})") from None
    found = bench.read(table)
    if refused == 2 or not any(same(found, rows) for rows in (one, other)):
        raise BrokenError("the rows of both, or of neither, are there")
    return "one is told to try again" if refused else "one waits for the other"


def nulls(bench: Bench) -> None:
    """Carry NULL in every common type."""
    import pyarrow as pa

    table = bench.table()
    kinds = ("whole", "number", "decimal", "text", "truth", "date", "moment", "nothing")
    columns = {f"c_{kind}": pa.array([None, None], type_named(kind)) for kind in kinds}
    bench.write(table, {"n": [1, 2], **columns})
    wanted = {"n": [1, 2]} | {name: [None, None] for name in columns}
    expect(bench.read(table), wanted, "something else than NULL came back")


BIG = 2**63 - 1
CLAIMS: dict[str, Callable[[Bench], str | None]] = {
    "a table that is not there is told as that": missing,
    "a target that is not there is made": created,
    "a target that is there is replaced": replaced,
    "a target with other columns is refused": others,
    "a target that would alter values is refused": altering,
    "a table without rows is carried": empty,
    "NULL in each type, and a column of nothing else": nulls,
    "whole numbers to 64 bits": carried([0, 1, -1, BIG, -BIG - 1, 2**53 + 1], "whole"),
    "numbers, to the last bit": carried([0.1, 1 / 3, 5e-324, 1.7976931348623157e308], "number"),
    "NaN": carried([float("nan"), 1.0], "number"),
    "infinite numbers": carried([float("inf"), float("-inf")], "number"),
    "decimals of 15 digits": carried([Decimal("9999999999999.99"), Decimal("-0.01")], "decimal"),
    "decimals of 38 digits": carried([Decimal("9" * 28 + ".0123456789"), Decimal(1)], "wide"),
    "truth values": carried([True, False], "truth"),
    "text": carried(TEXTS, "text"),
    "bytes": carried([b"", b"\0\xff", b"abc"], "bytes"),
    "dates": carried(
        [date(1, 1, 1), date(1582, 10, 10), date(2024, 2, 29), date(9999, 12, 31)], "date"
    ),
    "moments": carried(
        [datetime(1, 1, 1), datetime(1999, 12, 31, 23, 59, 59, 999999), datetime(9999, 12, 31)],
        "moment",
    ),
    "moments with a zone": carried([datetime(2024, 2, 29, 22, 30, 0, 1, UTC)], "zoned"),
    "odd names of columns": odd_columns,
    "names of columns that differ in case": told_apart,
    "odd names of tables": odd_table,
    "conditions": conditions,
    "conditions on moments": moments,
    "conditions compare text exactly": exact_conditions,
    "an interval replaces its own rows, once": intervals,
    "the moment of the commit is told": told,
    "a replace that is cut leaves the old rows": cut_replace,
    "an interval that is cut leaves the old rows": cut_append,
    "a new table that is cut is not there": cut_new,
    "a reader during the swap": reading,
    "two writers at once": writing,
}
