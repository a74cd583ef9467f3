"""What stages leave for each other."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import StagingError
from microagg_ops.stages import Run, artefacts, stage_function
from microagg_ops.stages.artefacts import Artefact, Extracted, Groups, Prepared, Protected
from microagg_ops.stages.extract import keep
from microagg_ops.staging.digests import content_digest, from_parquet, to_parquet
from microagg_ops.staging.store import Staging
from tests.unit.stages.conftest import MakeRun

PACKAGE = Path(artefacts.__file__).parents[1]
ROWS = 12
MIXED: dict[str, tuple[str, pa.Array]] = {
    "number": ("number", pa.array([1.5, None, -0.0, 7.25] * 3)),
    "integer": ("integer", pa.array([1, 2, None, 40] * 3, pa.int16())),
    "decimal": ("decimal", pa.array([Decimal("1.10"), None] * 6, pa.decimal128(9, 2))),
    "date": ("date", pa.array([date(2024, 1, 1), None, date(2025, 2, 3)] * 4)),
    "moment": ("timestamp", pa.array([datetime(2024, 1, 1), None] * 6, pa.timestamp("s"))),
    "level": ("ordinal", pa.array(["low", None, "high", "low"] * 3)),
    "kind": ("nominal", pa.array(["x", "y", None, "z"] * 3)),
    "flag": ("boolean", pa.array([True, None, False] * 4)),
}


@pytest.fixture
def mixed(make_run: MakeRun) -> Run:
    """A run of columns of all types, with strata of which one is dropped."""
    columns = {name: cells for name, (_, cells) in MIXED.items()}
    columns |= {"who": pa.array([f"p{i}" for i in range(ROWS)]), "s": pa.array(range(ROWS))}
    columns |= {"w": pa.array([1.0, 2.0] * 6), "r": pa.array(["n"] * 11 + ["alone"])}
    quasi: dict[str, Any] = {name: {"type": kind} for name, (kind, _) in MIXED.items()}
    quasi["level"]["order"] = ["low", "high"]
    roles = {"quasi": quasi, "sensitive": ["s"], "entity": "who", "weight": "w"}
    return make_run(
        pa.table(columns), columns=roles, strata=["r"], small_strata="drop", nulls="impute"
    )


def elsewhere(run: Run) -> Run:
    """The run as another process finds it: nothing of it is known yet."""
    run.staging.known.clear()
    return run


def on_disk(run: Run, folder: Path) -> Run:
    """The run with staging in a folder."""
    moved = replace(run, staging=Staging(folder, lambda: b"a key of the tests"))
    keep(moved, Extracted.of(run).rows, {"a": "double"}, "duckdb")
    return moved


def test_prepared_rows_are_read_as_they_were_written(mixed: Run) -> None:
    stage_function("standardize")(mixed)
    written = Prepared.rows(mixed)
    found = Prepared.rows(elsewhere(mixed))
    assert found is not written
    assert found.strata.rows.tolist() == written.strata.rows.tolist()
    assert found.strata.codes.tolist() == written.strata.codes.tolist()
    assert found.strata.dropped == written.strata.dropped == (1, 1)
    assert found.strata.dropped_entities == 1
    assert found.strata.table.equals(written.strata.table)
    assert (found.scales, found.published) == (written.scales, written.published)
    for one in ("entities", "weights"):
        assert getattr(found, one).tolist() == getattr(written, one).tolist()
        assert getattr(found, one).dtype == getattr(written, one).dtype
    for name in MIXED:
        for side in ("before", "filled"):
            old, new = getattr(written, side)[name], getattr(found, side)[name]
            assert np.array_equal(old.codes, new.codes, equal_nan=True)
            assert (old.how, old.source, old.categories) == (new.how, new.source, new.categories)
        assert found.is_imputed(name)
        assert np.array_equal(found.points[name], written.points[name])
        # Kernels are compiled for arrays that can be written, and would be anew for others.
        assert found.before[name].codes.flags.writeable


def test_a_stage_makes_the_same_of_what_it_reads_and_of_what_is_known(mixed: Run) -> None:
    for stage in ("standardize", "group", "aggregate"):
        stage_function(stage)(mixed)
    known = mixed.staging.get("aggregate", "protected.parquet")
    stage_function("aggregate")(elsewhere(mixed))
    assert mixed.staging.get("aggregate", "protected.parquet") == known


def test_rows_that_nothing_else_leaves_with(make_run: MakeRun) -> None:
    run = make_run({"a": [1.0, 2.0, 3.0]})
    stage_function("standardize")(run)
    found = Prepared.rows(elsewhere(run))
    assert found.strata.table.column_names == []
    assert found.strata.rows.tolist() == [0, 1, 2]


def test_a_category_of_dropped_rows_is_none_of_those_that_are_left(make_run: MakeRun) -> None:
    table = {"a": ["x", "y", "secret", None], "r": ["n", "n", "alone", "n"]}
    columns = {"quasi": {"a": {"type": "nominal"}}}
    how: dict[str, Any] = {"strata": ["r"], "small_strata": "drop", "nulls": "own_class"}
    run = make_run(table, columns=columns, **how)
    stage_function("standardize")(run)
    column = Prepared.rows(run).before["a"]
    assert column.categories is not None
    assert column.categories.to_pylist() == ["x", "y"]
    assert column.codes[~column.missing].tolist() == [0, 1]


def test_the_digest_of_ordered_rows_is_that_of_any_order(mixed: Run) -> None:
    for stage in ("standardize", "group", "aggregate"):
        stage_function(stage)(mixed)
    extracted, protected = Extracted.of(mixed), Protected.of(mixed)
    assert extracted.digest == content_digest(extracted.rows)
    assert protected.summary["digest"] == content_digest(protected.rows)


def test_types_are_known_without_rows(make_run: MakeRun, tmp_path: Path) -> None:
    table = {"a": [1.0, 2.0], "t": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 2)}
    columns = {"quasi": {"a": {"type": "number"}}, "sensitive": ["t"]}
    run = on_disk(make_run(pa.table(table), columns=columns), tmp_path / "staging")
    expected = Extracted.of(run).rows.schema
    (tmp_path / "staging" / "extract" / "table.parquet").unlink()
    again = Extracted.of(elsewhere(run))
    assert again.schema.equals(expected)
    assert again.source == {"types": {"a": "double"}, "kind": "duckdb"}
    with pytest.raises(StagingError, match="not what 'extract' wrote"):
        again.rows  # noqa: B018


def test_another_process_refuses_what_was_changed(make_run: MakeRun, tmp_path: Path) -> None:
    run = on_disk(make_run({"a": [1.0, 2.0]}), tmp_path / "staging")
    stage_function("standardize")(run)
    path = tmp_path / "staging" / "standardize" / "rows.parquet"
    rows = from_parquet(path.read_bytes())
    place = rows.column_names.index("before 0")
    path.write_bytes(to_parquet(rows.set_column(place, "before 0", pa.array([9.0, 9.0]))))
    # Who wrote it has what was written, and not what lies there now.
    assert Prepared.rows(run).before["a"].codes.tolist() == [1.0, 2.0]
    with pytest.raises(StagingError, match="not what 'standardize' wrote"):
        Prepared.rows(elsewhere(run))


def test_what_is_known_is_forgotten_when_the_stage_is_written_anew(make_run: MakeRun) -> None:
    run = make_run({"a": [1.0, 2.0]})
    Groups.write(run, [["a"]], {"n": 1})
    first = Groups.of(run)
    run.staging.put("group", {"groups.json": b"[]"}, {"n": 2})
    assert (Groups.of(run).names, Groups.of(run).summary) == ([], {"n": 2})
    assert (first.names, first.summary) == ([["a"]], {"n": 1})
    run.staging.remove()
    with pytest.raises(StagingError, match="'group' has not finished"):
        Groups.of(run)


def test_each_artefact_is_written_in_one_place_and_read_by_its_type() -> None:
    kinds = Artefact.__subclasses__()
    assert len({kind.stage for kind in kinds}) == len(kinds)
    told = artefacts.__doc__ or ""
    assert all(f"`{kind.__name__}`" in told for kind in kinds)
    staged = r"staging\.put\(|\.(table|document)\(\s*\"(extract|standardize|group|aggregate|val)"
    for path in PACKAGE.rglob("*.py"):
        if path.name != "artefacts.py":
            assert not re.search(staged, path.read_text()), path
    # By the stages of one machine, and by those of many.
    of = {False: "", True: ""}
    for path in PACKAGE.rglob("*.py"):
        of["distributed" in path.parts] += path.read_text()
    for kind in kinds:
        written = rf"\b{kind.__name__}\.(?:write|leave)\("
        assert len(re.findall(written, of[False])) <= 2, kind
        assert len(re.findall(written, of[True])) <= 1, kind
