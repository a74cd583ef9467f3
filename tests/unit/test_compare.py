"""Methods side by side on the data of a release."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from microagg_ops import compare as module
from microagg_ops import compiling
from microagg_ops.cli.compare import conclusion
from microagg_ops.compare import Comparison, Tried, compare, known, recommended, sampled
from microagg_ops.compiling import COMPILING, Stopwatch
from microagg_ops.errors import BudgetError, DataError, ReleaseError
from microagg_ops.release.document import load_release
from microagg_ops.stages import aggregate

FOUND = Tried("a", information_loss=10.0, risk=20.0, score=15.0, seconds=1.0)


@pytest.fixture
def mixed(release_file: Path) -> Path:
    """A release with columns of every kind, and NULLs."""
    text = release_file.read_text()
    more = (
        "    smoker: {type: boolean}\n    visits: {type: integer, representative: median}\n"
        "    education: {type: ordinal, order: [none, primary, secondary, tertiary]}\n"
        "    area: {type: nominal}\n  sensitive"
    )
    text = text.replace("  sensitive", more) + "nulls: own_class\n"
    release_file.write_text(text)
    return release_file


def compared(path: Path, warehouse: Path, *methods: str, **given: Any) -> Comparison:
    connections = {"warehouse": f"duckdb://{warehouse}"}
    return compare(path, methods, connections=connections, **given)


def test_methods_are_measured_on_columns_of_every_type(mixed: Path, warehouse: Path) -> None:
    found = compared(mixed, warehouse, "mdav", "vmdav", "mdav")
    assert [one.method for one in found.tried] == ["mdav", "vmdav"]
    assert (found.rows, found.of, found.k, len(found.groups)) == (600, 600, 3, 1)
    for one in found.tried:
        assert not one.failure
        assert one.k is not None and one.k >= 3
        assert one.interval_disclosure is not None and 0 < one.interval_disclosure < 100
        assert one.information_loss is not None and 0 < one.information_loss < 100
        # k rows are equal, so none is linked for certain.
        assert (one.distance_linkage, one.probabilistic_linkage) == (0.0, 0.0)
        assert one.risk == pytest.approx(0.5 * one.interval_disclosure)
        assert one.score == pytest.approx((one.information_loss + one.risk) / 2)
    best = min(found.tried, key=lambda one: one.score or 0)
    assert found.recommended == best.method


def test_the_loss_is_that_of_the_release(release_file: Path, warehouse: Path) -> None:
    from microagg_ops import run_release

    found = compared(release_file, warehouse, "mdav")
    connections = {"warehouse": f"duckdb://{warehouse}"}
    done = run_release(release_file, connections=connections, reports=warehouse.parent / "reports")
    assert found.tried[0].information_loss == pytest.approx(done.information_loss)
    assert found.tried[0].k == done.k


def test_nothing_is_published_and_nothing_is_left(
    release_file: Path, warehouse: Path, tmp_path: Path
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    compared(release_file, warehouse, "mdav", sample=100)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    with duckdb.connect(str(warehouse), read_only=True) as con:
        tables = con.execute("select table_name from duckdb_tables() where schema_name = 'pub'")
        assert tables.fetchall() == []


def test_the_target_need_not_be_reachable(release_file: Path, warehouse: Path) -> None:
    text = release_file.read_text()
    release_file.write_text(text.replace("publish: {conn_id: warehouse", "publish: {conn_id: far"))
    assert compared(release_file, warehouse, "mdav").recommended == "mdav"


def test_a_sample_has_entities_with_all_their_rows(release_file: Path, warehouse: Path) -> None:
    with duckdb.connect(str(warehouse)) as con:
        con.execute("update clinic.patients set patient_id = patient_id // 2")
        con.execute("create table shuffled as from clinic.patients order by random()")
        table = con.sql("from shuffled").to_arrow_table()
    rows = sampled(load_release(release_file), table, 100)
    chosen = set(rows["patient_id"].to_pylist())
    assert len(chosen) == 100
    assert rows.num_rows == sum(who in chosen for who in table["patient_id"].to_pylist())
    found = compared(release_file, warehouse, "mdav", sample=100)
    assert (found.rows, found.of) == (rows.num_rows, 600)
    text = release_file.read_text()
    release_file.write_text(text.replace("clinic.patients}", "shuffled}"))
    again = compared(release_file, warehouse, "mdav", sample=100)
    assert [replace(t, seconds=0) for t in again.tried] == [
        replace(t, seconds=0) for t in found.tried
    ]
    assert compared(release_file, warehouse, "mdav", sample=10_000).rows == 600


def test_a_sample_smaller_than_k_is_refused(release_file: Path, warehouse: Path) -> None:
    with pytest.raises(ReleaseError, match="smaller than k = 3"):
        compared(release_file, warehouse, "mdav", sample=2)


def test_groups_are_those_of_the_release_and_the_joint_k_is_counted(
    release_file: Path, warehouse: Path
) -> None:
    text = release_file.read_text() + "group: {method: correlated, size: 2}\n"
    release_file.write_text(text)
    found = compared(release_file, warehouse, "mdav")
    assert len(found.groups) == 2
    assert found.tried[0].k == 1
    assert (found.tried[0].distance_linkage or 0) > 0


def test_what_a_method_cannot_do_is_said(release_file: Path, warehouse: Path) -> None:
    found = compared(release_file, warehouse, "optimal", "mdav")
    assert "takes one column" in found.tried[0].failure
    assert found.recommended == "mdav"
    with pytest.raises(DataError, match=r"No method had a result \(optimal: "):
        compared(release_file, warehouse, "optimal")


def test_a_method_without_result_in_time_is_told(
    release_file: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = module.stage_function

    def slow(stage: str) -> Any:
        def late(run: Any) -> Any:
            if run.release.aggregate.method == "vmdav":
                raise BudgetError("Too late.")
            assert run.release.aggregate.budget == "7s"
            return function(stage)(run)

        return late if stage == "aggregate" else function(stage)

    monkeypatch.setattr(module, "stage_function", slow)
    found = compared(release_file, warehouse, "vmdav", "mdav", budget="7s")
    assert found.tried[0] == Tried("vmdav", failure="no result within 7s")
    assert found.recommended == "mdav"


def test_parameters_are_those_of_the_release_for_its_own_method(
    release_file: Path, warehouse: Path
) -> None:
    own = load_release(release_file)
    how = replace(own.aggregate, method="vmdav", params={"gain": 0.0})
    found = compared(replace(own, aggregate=how), warehouse, "vmdav", "mdav")  # type: ignore[arg-type]
    # Without gain no cluster grows.
    assert found.tried[0].clusters == found.tried[1].clusters


def test_the_least_score_within_the_time_is_recommended() -> None:
    better = replace(FOUND, method="b", score=14.0, seconds=9.0)
    assert recommended([FOUND, better], 10.0) == "b"
    assert recommended([FOUND, better], 5.0) == "a"  # b took longer than it had
    assert recommended([FOUND, better], 0.1) == "b"  # and here all did
    equal = replace(FOUND, method="c", information_loss=9.0)
    assert recommended([FOUND, equal], 10.0) == "c"
    assert recommended([FOUND, replace(FOUND, method="d", seconds=0.5)], 10.0) == "d"


def test_a_method_that_overruns_is_said_so(
    release_file: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = module.stage_function

    def slow(stage: str) -> Any:
        def late(run: Any) -> Any:
            summary = function(stage)(run)
            return summary | {"seconds": 9.0 if run.release.aggregate.method == "vmdav" else 0.1}

        return late if stage == "aggregate" else function(stage)

    monkeypatch.setattr(module, "stage_function", slow)
    found = compared(release_file, warehouse, "vmdav", "mdav", budget="1s")
    assert [one.overran for one in found.tried] == [True, False]
    assert found.recommended == "mdav"
    assert "Took longer than 1s: vmdav." in conclusion(found)
    assert "9 s, longer than it had" in found._repr_html_()


def test_compiling_is_no_part_of_the_time(
    release_file: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, find = [100.0], aggregate.find_labels

    def compiled(*given: Any, **how: Any) -> Any:
        COMPILING.begin()
        now[0] += 50.0
        COMPILING.end()
        now[0] += 2.0
        return find(*given, **how)

    monkeypatch.setattr(compiling, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(aggregate, "find_labels", compiled)
    monkeypatch.setattr(compiling, "COMPILING", Stopwatch())
    monkeypatch.setattr(sys.modules[__name__], "COMPILING", compiling.COMPILING)
    found = compared(release_file, warehouse, "mdav", budget="20s")
    assert found.tried[0].seconds == 2.0


def test_an_unknown_method_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ReleaseError, match="no method 'mdva'") as caught:
        known(["mdav", "mdva"])
    assert caught.value.hint == "Did you mean 'mdav'?"
    assert len(known([])) > 10


def test_a_bad_budget_is_refused_before_anything_is_read(release_file: Path) -> None:
    with pytest.raises(ReleaseError, match="not a duration"):
        compare(release_file, ["mdav"], budget="soon", connections={})


def test_strata_that_only_a_sample_makes_small_are_no_error(
    release_file: Path, warehouse: Path
) -> None:
    found = compared(release_file, warehouse, "mdav", sample=14)
    assert not found.tried[0].failure
