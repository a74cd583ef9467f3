"""Files as sources and targets: types by all cells, plain words for what is wrong, whole or not."""

from __future__ import annotations

import gzip
import os
import stat
import traceback
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microagg_ops.errors import DataError, MicroaggError, ReleaseError, WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.release.document import find_faults
from microagg_ops.release.files import Format
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Rows
from microagg_ops.warehouse.base import Commit
from microagg_ops.warehouse.files import FileWarehouse

CANARY = "canary-7f3a"


def named(name: str) -> TableName:
    return TableName((name,))


def read(folder: Path, name: str, where: str | None = None, **how: Any) -> pa.Table:
    warehouse = FileWarehouse(folder, {name: Format(**how)})
    columns = warehouse.require(named(name))
    return warehouse.read(named(name), columns, where and Condition(where))


def of_csv(folder: Path, text: str | bytes, **how: Any) -> pa.Table:
    content = text.encode() if isinstance(text, str) else text
    (folder / "in.csv").write_bytes(content)
    return read(folder, "in.csv", **how)


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ("1\n-2\n+3", pa.int64(), [1, -2, 3]),
        ("1\n2.5\n", pa.float64(), [1.0, 2.5]),
        ("1\nNA\n3", pa.int64(), [1, None, 3]),
        ("1\n\"\"\n3", pa.string(), ["1", "", "3"]),
        ("02139\n10115", pa.string(), ["02139", "10115"]),
        ("99999999999999999999\n1", pa.float64(), [1e20, 1.0]),
        ("true\nFalse", pa.bool_(), [True, False]),
        ("2026-01-31\nNULL", pa.date32(), [date(2026, 1, 31), None]),
        ("2026-02-30\n2026-01-01", pa.string(), ["2026-02-30", "2026-01-01"]),
        ("2026-01-31 10:30\n2026-01-31T11:00:00.5", pa.timestamp("us"), [
            datetime(2026, 1, 31, 10, 30), datetime(2026, 1, 31, 11, 0, 0, 500_000)]),
        ("2026-01-31T10:30:00Z\n2026-01-31 11:30:00+01:00", pa.timestamp("us", "UTC"), [
            datetime(2026, 1, 31, 10, 30, tzinfo=UTC)] * 2),
        ("a\nNA", pa.string(), ["a", "NA"]),
        ("1\nx", pa.string(), ["1", "x"]),
        ("NA\nNA", pa.string(), ["NA", "NA"]),
    ],
)  # fmt: skip
def test_a_column_of_text_has_the_type_that_all_its_cells_have(
    tmp_path: Path, cells: str, kind: pa.DataType, values: list[Any]
) -> None:
    found = of_csv(tmp_path, "x,y\n" + "\n".join(f"{cell},a" for cell in cells.split("\n")))["x"]
    assert found.type == kind
    assert found.to_pylist()[: len(values)] == values


def test_an_empty_cell_is_null_and_a_quoted_one_is_not(tmp_path: Path) -> None:
    assert of_csv(tmp_path, 'x,y\n,a\n"",b\n')["x"].to_pylist() == [None, ""]


def test_the_format_is_seen_or_told(tmp_path: Path) -> None:
    semicolons = of_csv(tmp_path, "x;y\n1,5;a\n2,5;b\n", decimal=",")
    assert semicolons.to_pydict() == {"x": [1.5, 2.5], "y": ["a", "b"]}
    latin = of_csv(tmp_path, "x,y\n1,é\n".encode("latin-1"), encoding="latin-1")
    assert latin["y"].to_pylist() == ["é"]
    assert of_csv(tmp_path, "\ufeffx,y\n1,a\n").column_names == ["x", "y"]
    assert of_csv(tmp_path, "x,y\n1,a\n".encode("utf-16"))["y"].to_pylist() == ["a"]
    assert of_csv(tmp_path, "x,y\n1,?\n", nulls=("?",))["y"].to_pylist() == [None]
    assert of_csv(tmp_path, 'x,y\n1,"a\nb"\n')["y"].to_pylist() == ["a\nb"]
    (tmp_path / "in.tsv").write_text("x\ty,z\n1\ta\n")
    assert read(tmp_path, "in.tsv").column_names == ["x", "y,z"]
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"x,y\n1,a\n"))
    assert read(tmp_path, "in.csv.gz").to_pydict() == {"x": [1], "y": ["a"]}


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (b"", "empty", "is empty"),
        (b" \n\n", "empty", "is empty"),
        (b"1,2026-01-01,%s\n2,2026-01-02,b\n" % CANARY.encode(), "no_header", "first line"),
        (b"x,,z\n%s,2,3\n" % CANARY.encode(), "bad_column_name", "Column 2"),
        (b"x,a\x07b\n%s,2\n" % CANARY.encode(), "bad_column_name", "control character"),
        (b"x,y,x\n%s,2,3\n" % CANARY.encode(), "duplicate_column", "Column 3"),
        (b"x,y\n1,2\n%s,2,3\n1\n" % CANARY.encode(), "ragged_rows", "2 rows .* row 3"),
        (b"x,y\n1,a\n2,%s\xe9\n" % CANARY.encode(), "bad_encoding", "Line 3"),
        (b'x,y\n1,"%s\n' % CANARY.encode(), "bad_file", "quote"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said_without_a_cell(
    tmp_path: Path, content: bytes, code: str, says: str
) -> None:
    with pytest.raises(DataError, match=says) as caught:
        of_csv(tmp_path, content)
    assert caught.value.code == code
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    warehouse = FileWarehouse(tmp_path)
    assert warehouse.describe(named("in.csv")) is None
    with pytest.raises(DataError, match=r"no file 'in\.csv'"):
        warehouse.require(named("in.csv"))


def test_a_condition_takes_rows_and_leaves_types(tmp_path: Path) -> None:
    rows = pa.table({
        "Age": pa.array([30, 40, None], pa.uint8()),
        "d": pa.array([Decimal("1.10"), Decimal("2.20"), None], pa.decimal128(5, 2)),
        "at": pa.array([datetime(2026, 1, day) for day in (1, 2, 3)], pa.timestamp("ns")),
    })  # fmt: skip
    pq.write_table(rows, tmp_path / "in.parquet")
    warehouse, table = FileWarehouse(tmp_path), named("in.parquet")
    where, values = Condition("at >= :start and AGE > 1"), {"start": datetime(2026, 1, 2)}
    found = warehouse.read(table, {"d": ""}, where, values)
    assert found.to_pydict() == {"d": [Decimal("2.20")]}
    assert found.schema.field("d").type == pa.decimal128(5, 2)
    with pytest.raises(DataError, match="no column 'agee'"):
        warehouse.read(table, {"d": ""}, Condition("agee > 1"))
    with pytest.raises(ReleaseError, match="condition"):
        warehouse.read(table, {"d": ""}, Condition("1 in (select 1)"))


def test_a_trusted_function_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,y\n1,a\n")
    for value, rows in (("true", 0), ("false", 1)):
        text = f"current_setting('enable_external_access')::text = '{value}'"
        where = Condition(text, ("current_setting",))
        found = FileWarehouse(tmp_path).read(named("in.csv"), {"x": ""}, where)
        assert found.num_rows == rows


def test_folders_and_patterns_are_one_table(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for part in (1, 2):
        (data / f"year={part}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [part]}), data / f"year={part}" / "part-0.parquet")
    (data / "_SUCCESS").touch()
    (data / ".part.parquet.crc").write_text("no table")
    assert read(tmp_path, "data").to_pydict() == {"x": [1, 2]}
    for part, cells in (("a", "1"), ("b", "x")):
        (tmp_path / f"{part}.csv").write_text(f"x,y\n{cells},2\n")
    assert read(tmp_path, "*.csv")["x"].to_pylist() == ["1", "x"]  # the type is that of both
    (tmp_path / "c.csv").write_text("y,x\n1,2\n")
    with pytest.raises(DataError, match="other columns") as caught:
        read(tmp_path, "*.csv")
    assert caught.value.code == "files_differ"


def test_json_lines(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"x": 1, "z": "02139"}\n\n{"x": 2.5, "d": "2026-01-01"}\n')
    found = read(tmp_path, "in.jsonl")
    expected = {"x": [1.0, 2.5], "z": ["02139", None], "d": [None, date(2026, 1, 1)]}
    assert found.to_pydict() == expected
    for content, code in (
        (f'{{"x": "{CANARY}"', "bad_file"), (f'["{CANARY}"]', "bad_file"),
        (f'{{"x": "{CANARY}"}}\n{{"x": 1}}', "bad_type"), (f'{{"x": ["{CANARY}"]}}', "bad_type"),
        ("", "empty"),
    ):  # fmt: skip
        (tmp_path / "in.jsonl").write_text(content)
        with pytest.raises(DataError) as caught:
            read(tmp_path, "in.jsonl")
        assert caught.value.code == code
        assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_words_for_null_are_null_among_numbers(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"x": 1, "y": "NA"}\n{"x": "NA", "y": "b"}\n')
    assert read(tmp_path, "in.jsonl").to_pydict() == {"x": [1, None], "y": ["NA", "b"]}


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["x", "day", "at", "y"])
    book.active.append([1, datetime(2026, 1, 1), datetime(2026, 1, 1, 10), "a"])
    book.active.append([2.5, None, "#N/A", None])
    book.create_sheet("other").append(["z"])
    book["other"].append([True])
    book.save(tmp_path / "in.xlsx")
    found = read(tmp_path, "in.xlsx")
    assert found.to_pydict() == {
        "x": [1.0, 2.5], "day": [date(2026, 1, 1), None],
        "at": [datetime(2026, 1, 1, 10), None], "y": ["a", None],
    }  # fmt: skip
    assert read(tmp_path, "in.xlsx", sheet="other").to_pydict() == {"z": [True]}
    with pytest.raises(DataError, match="no sheet"):
        read(tmp_path, "in.xlsx", sheet="third")
    (tmp_path / "in.xlsx").write_bytes(b"no book")
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path, "in.xlsx")


@pytest.mark.parametrize(("kind", "write"), [
    ("in.sav", "write_sav"), ("in.dta", "write_dta"), ("in.xpt", "write_xport"),
])  # fmt: skip
def test_files_of_statistical_programs(tmp_path: Path, kind: str, write: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    import pandas as pd

    frame = pd.DataFrame({"AGE": [30.0, 40.0, None], "BMI": [20.5, 21.0, 22.0],
                          "SEX": ["f", "m", ""]})  # fmt: skip
    getattr(pyreadstat, write)(frame, str(tmp_path / kind))
    found = read(tmp_path, kind)
    assert found.to_pydict() == {
        "AGE": [30, 40, None], "BMI": [20.5, 21.0, 22.0], "SEX": ["f", "m", None],
    }  # fmt: skip
    assert found.schema.field("AGE").type == pa.int64()
    (tmp_path / kind).write_bytes(b"x" * 500)
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path, kind)


# Writing

ROWS = pa.table({
    "whole": pa.array([1, None, 3], pa.int32()),
    "number": pa.array([0.1, 1e-300, None], pa.float64()),
    "yes": pa.array([True, None, False]),
    "day": pa.array([date(2026, 1, 1), None, date(1, 1, 1)], pa.date32()),
    "text": pa.array(["02139", None, 'a,"b"\nc'], pa.string()),
})  # fmt: skip


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.jsonl", "out.xlsx"])
def test_what_is_written_is_what_was_passed(tmp_path: Path, name: str) -> None:
    rows = ROWS
    if name == "out.xlsx":  # its days begin in 1900
        rows = ROWS.drop(["day"]).append_column("day", pa.array([date(2026, 1, 1), None, None]))
    warehouse, commit = FileWarehouse(tmp_path), Commit()
    warehouse.write(named(name), Rows(rows, {}, None, commit))
    assert commit.done
    found = read(tmp_path, name)
    assert found.to_pylist() == rows.to_pylist()
    warehouse.write(named(name), Rows(rows.slice(1), {}))
    assert read(tmp_path, name).num_rows == 2
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("out.csv", pa.array([b"\xff"], pa.binary())),
        ("out.jsonl", pa.array([float("nan")])),
        ("out.xlsx", pa.array([datetime(2026, 1, 1, 0, 0, 0, 1)], pa.timestamp("us"))),
        ("out.xlsx", pa.array(["a\rb"])),
    ],
)
def test_what_a_format_would_alter_is_refused(tmp_path: Path, name: str, column: pa.Array) -> None:
    with pytest.raises(MicroaggError) as caught:
        FileWarehouse(tmp_path).write(named(name), Rows(pa.table({"x": column}), {}))
    assert caught.value.code in ("target_alters", "refused")
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, table = FileWarehouse(tmp_path), named("out.csv")
    warehouse.write(table, Rows(pa.table({"x": [1], "y": ["a"]}), {}))
    before = (tmp_path / "out.csv").read_bytes()
    new = Rows(pa.table({"x": [2], "y": ["b"]}), {})
    seen: list[int] = []

    @contextmanager
    def failing() -> Any:
        (partial,) = (path for path in tmp_path.iterdir() if path.name != "out.csv")
        seen.append(partial.stat().st_size)
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        warehouse.write(table, Rows(new.data, {}, None, failing()))  # type: ignore[arg-type]
    assert seen == [len(before)]

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WarehouseError, match="disk is full") as caught:
        warehouse.write(table, new)
    assert caught.value.code == "disk_full" and caught.value.retryable
    assert (tmp_path / "out.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_target_with_other_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("x,z\n1,2\n")
    with pytest.raises(DataError) as caught:
        FileWarehouse(tmp_path).write(named("out.csv"), Rows(pa.table({"x": [1]}), {}))
    assert caught.value.code == "target_differs"
    assert (tmp_path / "out.csv").read_text() == "x,z\n1,2\n"


def test_the_mode_is_that_of_the_old_file_or_as_the_umask_allows(tmp_path: Path) -> None:
    warehouse, new = FileWarehouse(tmp_path), Rows(pa.table({"x": [1], "y": ["a"]}), {})
    modes = []

    class Seen(Commit):
        def __enter__(self) -> None:
            super().__enter__()
            modes.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir())

    before = os.umask(0o027)
    try:
        warehouse.write(named("out.csv"), new)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640
    (tmp_path / "out.csv").chmod(0o604)
    warehouse.write(named("out.csv"), Rows(new.data, {}, None, Seen()))
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o604


def test_what_a_killed_run_left_is_removed_and_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / ".out.csv.0123.partial").write_text("half")
    (tmp_path / "latest.csv").symlink_to("out.csv")
    new = Rows(pa.table({"x": [1], "y": ["a"]}), {})
    FileWarehouse(tmp_path).write(named("latest.csv"), new)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest.csv", "out.csv"]
    assert (tmp_path / "latest.csv").is_symlink()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl"])
def test_an_interval_replaces_its_own_rows(tmp_path: Path, name: str) -> None:
    warehouse, table = FileWarehouse(tmp_path), named(name)

    def rows(values: list[int], day: int) -> Rows:
        start = datetime(2026, 1, day)
        mark = pa.array([start] * len(values), pa.timestamp("us"))
        return Rows(pa.table({"x": values, "start": mark}), {}, ("start", start))

    for values, day in (([1, 2], 1), ([3], 2), ([4, 5, 6], 1)):
        warehouse.write(table, rows(values, day))
    assert sorted(read(tmp_path, name)["x"].to_pylist()) == [3, 4, 5, 6]


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_run_that_is_killed_at_the_commit_leaves_a_whole_file(tmp_path: Path, at: str) -> None:
    old, new = (pa.table({"x": [value] * 1000, "y": ["a"] * 1000}) for value in (1, 2))
    warehouse, table = FileWarehouse(tmp_path), named("out.csv")
    warehouse.write(table, Rows(old, {}))

    class Killed(Commit):
        def __enter__(self) -> None:
            if at == "before":
                os._exit(9)

        def __exit__(self, *_: object) -> None:
            os._exit(9)

    child = os.fork()
    if child == 0:
        try:
            warehouse.write(table, Rows(new, {}, None, Killed()))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    found = read(tmp_path, "out.csv")["x"].to_pylist()
    assert found == [1 if at == "before" else 2] * 1000
    left = [path for path in tmp_path.iterdir() if path.name != "out.csv"]
    assert len(left) == (1 if at == "before" else 0)
    warehouse.write(table, Rows(new, {}))
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_intervals_that_are_written_at_once_are_all_there(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def publish(day: int) -> None:
        start = datetime(2026, 1, day)
        rows = pa.table({"x": [day] * 50, "start": pa.array([start] * 50, pa.timestamp("us"))})
        FileWarehouse(tmp_path).write(named("out.csv"), Rows(rows, {}, ("start", start)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(publish, range(1, 17)))
    found = read(tmp_path, "out.csv")["x"].to_pylist()
    assert sorted(found) == sorted(day for day in range(1, 17) for _ in range(50))


def test_uris(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://lake/in.csv", "w") as file:
        file.write("x,y\n1,a\n")
    warehouse = FileWarehouse(tmp_path)
    assert read(tmp_path, "memory://lake/in.csv").to_pydict() == {"x": [1], "y": ["a"]}
    target = named("memory://lake/out.parquet")
    for value in (1, 2):
        warehouse.write(target, Rows(pa.table({"x": [value]}), {}))
    assert warehouse.read(target, {"x": ""}).to_pydict() == {"x": [2]}
    assert [file["name"] for file in fsspec.filesystem("memory").ls("/lake")] == [
        "/lake/in.csv", "/lake/out.parquet",
    ]  # fmt: skip
    assert warehouse.identity(target) != warehouse.identity(named("memory://lake/in.csv"))
    assert warehouse.dataset(target) == ("memory://lake", "out.parquet")
    (tmp_path / "in.csv").write_text("x,y\n1,a\n")
    assert read(tmp_path, (tmp_path / "in.csv").as_uri()).num_rows == 1
    with pytest.raises(WarehouseError) as caught:
        warehouse.describe(named("nowhere://x/in.csv"))
    assert caught.value.code == "no_driver"


# Release files


def document(source: dict[str, Any], publish: dict[str, Any]) -> dict[str, Any]:
    return {
        "release": "r", "source": source, "publish": publish, "aggregate": {"k": 2},
        "columns": {"quasi": {"age": {"type": "integer"}}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "publish", "pointer"),
    [
        ({"file": "in.csv"}, {"file": "out.csv"}, None),
        ({"file": "data/*.parquet", "format": {}}, {"conn_id": "c", "table": "t"}, None),
        ({"file": "in.doc"}, {"file": "out.csv"}, "/source/file"),
        ({"file": "in.csv"}, {"file": "out"}, "/publish/file"),
        ({"file": "in.csv"}, {"file": "out.sav"}, "/publish/file"),
        ({"file": "in.csv"}, {"file": "in.csv"}, "/publish/file"),
        ({"file": "*.csv"}, {"file": "out.csv"}, "/publish/file"),
        ({"file": "data"}, {"file": "./data/sub/out.csv"}, "/publish/file"),
        ({"file": "s3://me:secret@x/in.csv"}, {"file": "out.csv"}, "/source/file"),
        ({"file": "in.csv", "table": "t"}, {"file": "out.csv"}, "/source"),
        ({"conn_id": "c", "table": "t", "format": {}}, {"file": "out.csv"}, "/source"),
        ({"conn_id": "file", "table": "t"}, {"file": "out.csv"}, "/source/conn_id"),
        ({"file": "in.csv"}, {}, "/publish/conn_id"),
    ],
)
def test_faults_of_files_in_a_release(
    source: dict[str, Any], publish: dict[str, Any], pointer: str | None
) -> None:
    faults = list(find_faults(document(source, publish)))
    if pointer is None:
        assert faults == []
    else:
        assert pointer in [fault.pointer for fault in faults]
        assert "secret" not in "".join(map(str, faults))
