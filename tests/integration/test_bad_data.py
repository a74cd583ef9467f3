"""Data that cannot be released: said clearly, without a cell, and the target stays as it was."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from microagg_ops.errors import (
    DataError,
    DisclosureError,
    MicroaggError,
    ReleaseError,
    WarehouseError,
)
from microagg_ops.pipeline import Published, run_release
from tests.integration.test_warehouses import Store, open_store, shown

# Values that would be seen at once where they do not belong.
CANARIES = ("canary-name", "canary-illness", "canary-region", "918273", "54321.625", "2031-07-23")
PEOPLE = [
    f"({i}, 'canary-name', {30 + i}, {20 + i}.5, '2024-01-{i + 1:02}', 'canary-illness', "
    f"'canary-region')"
    for i in range(9)
] + ["(9, 'canary-name', 918273, 54321.625, '2031-07-23', 'canary-illness', 'canary-region')"]
SOURCE = "person integer, name text, age integer, bmi double precision, seen date, illness text"
PUBLISHED = "age integer, bmi double precision, seen date, illness text, region text"
JULY = (datetime(2023, 7, 1, tzinfo=UTC), datetime(2023, 8, 1, tzinfo=UTC))


@pytest.fixture(params=["duckdb", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A warehouse with good people in it, and a table published before."""
    with open_store(request.param, tmp_path, request) as opened:
        opened.execute(
            f"create table people ({SOURCE}, region text)",
            f"insert into people values {', '.join(PEOPLE)}",
            f"create table published ({PUBLISHED})",
            "insert into published values (40, 25.5, '2024-01-01', 'old', 'here')",
        )
        yield opened


@dataclass
class Attempt:
    """One run of a release of people, changed as a test asks."""

    store: Store
    folder: Path
    source: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    quasi: dict[str, str] = field(default_factory=dict)
    publish: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, Any] = field(default_factory=dict)
    k: int = 3

    def run(self, **interval: datetime) -> Published:
        types = {"age": "integer", "bmi": "number", "seen": "date", **self.quasi}
        columns = {
            "identifiers": ["name"],
            "entity": "person",
            "quasi": {name: {"type": kind} for name, kind in types.items()},
            "sensitive": ["illness"],
            **self.columns,
        }
        release = {
            "release": "people",
            "source": {"conn_id": "house", "table": "people", **self.source},
            "columns": columns,
            "strata": ["region"],
            "aggregate": {"k": self.k},
            "publish": {"conn_id": "house", "table": "published", **self.publish},
            **self.rules,
        }
        file = self.folder / "people.yaml"
        file.write_text(json.dumps(release))
        return run_release(
            file,
            connections={"house": self.store.url},
            staging=self.folder / "staging",
            reports=self.folder / "reports",
            **interval,
        )

    def refused(self, code: str, *said: str, **interval: datetime) -> MicroaggError:
        """Run, and check all that must hold of a run that fails."""
        before = self.content()
        with pytest.raises(MicroaggError) as caught:
            self.run(**interval)
        error = caught.value
        assert (error.code, error.retryable) == (code, False)
        for part in said:
            assert part in str(error)
        for canary in CANARIES:
            assert canary not in shown(error)
        assert self.content() == before
        assert not (self.folder / "staging").exists()
        assert not (self.folder / "reports").exists()
        return error

    def content(self) -> str:
        """Digest the source and the target."""
        rows = self.store.fetch(
            "select 'people', cast(p as text) from people as p "
            "union all select 'published', cast(p as text) from published as p"
        )
        return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()


@pytest.fixture
def attempt(store: Store, tmp_path: Path) -> Attempt:
    return Attempt(store, tmp_path)


def test_good_people_are_published(attempt: Attempt) -> None:
    assert attempt.run().rows == 10
    assert attempt.store.fetch("select count(*) from published") == [(10,)]


# Tables and columns


def test_no_such_table(attempt: Attempt) -> None:
    attempt.source["table"] = "peopel"
    assert isinstance(attempt.refused("no_table", "'peopel'"), DataError)


@pytest.mark.parametrize("role", ["quasi", "sensitive", "identifiers", "entity"])
def test_no_such_column(attempt: Attempt, role: str) -> None:
    if role == "quasi":
        attempt.quasi["illnes"] = "number"
    else:
        attempt.columns[role] = "illnes" if role == "entity" else ["illnes"]
    error = attempt.refused("no_column", "people", "'illnes'", "'illness'")
    assert isinstance(error, DataError)


def test_target_with_other_columns(attempt: Attempt) -> None:
    attempt.store.execute("alter table published drop column region")
    error = attempt.refused("target_differs", "'published'", "it lacks: region")
    assert isinstance(error, DataError)


def test_target_without_the_interval_column(attempt: Attempt) -> None:
    attempt.source["where"] = "seen >= :start and seen < :end"
    attempt.publish["mode"] = "append_interval"
    start, end = JULY
    attempt.refused("target_differs", "it lacks: interval_start", start=start, end=end)


def test_target_that_is_the_source_in_another_spelling(attempt: Attempt) -> None:
    home = "public" if attempt.store.kind == "postgres" else "main"
    attempt.publish["table"] = f"{home}.people"
    assert isinstance(attempt.refused("target_is_source", "people"), DataError)


def test_target_that_is_the_source_in_another_case(tmp_path: Path, store: Store) -> None:
    attempt = Attempt(store, tmp_path, publish={"table": "PEOPLE"})
    if store.kind == "postgres":  # where PEOPLE is another table
        assert attempt.run().rows == 10
        assert store.fetch("select count(distinct name) from people") == [(1,)]
    else:
        attempt.refused("target_is_source", "'PEOPLE'")


def test_target_that_is_the_source_by_another_connection(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SECOND", attempt.store.url)
    attempt.publish |= {"conn_id": "second", "table": "people"}
    attempt.refused("target_is_source", "'people'")


# Too few


def test_no_rows(attempt: Attempt) -> None:
    attempt.store.execute("delete from people")
    assert isinstance(attempt.refused("empty", "no rows"), DataError)


def test_no_rows_in_the_interval(attempt: Attempt) -> None:
    attempt.source["where"] = "seen >= :start and seen < :end"
    start, end = JULY
    error = attempt.refused("empty_interval", "interval", start=start, end=end)
    assert isinstance(error, DataError)


def test_no_interval(attempt: Attempt) -> None:
    attempt.source["where"] = "seen >= :start"
    error = attempt.refused("no_interval", ":start", "--start")
    assert isinstance(error, DataError)


def test_fewer_rows_than_k(attempt: Attempt) -> None:
    attempt.columns["entity"] = None
    attempt.k = 11
    assert isinstance(attempt.refused("too_few", "10 rows", "k = 11"), DataError)


def test_fewer_entities_than_k(attempt: Attempt) -> None:
    attempt.store.execute("update people set person = 1 where person > 1")
    attempt.refused("too_few", "2 entities", "k = 3")


def test_small_stratum(attempt: Attempt) -> None:
    attempt.store.execute("update people set region = 'canary-region-2' where person < 2")
    attempt.refused("small_stratum", "region", "2 entities", "k = 3")


# Values


def test_null_in_a_quasi_identifier(attempt: Attempt) -> None:
    attempt.store.execute("update people set age = null where person in (3, 4)")
    attempt.refused("null_quasi", "'age'", "2 of 10 rows")


def test_nothing_but_null(attempt: Attempt) -> None:
    attempt.store.execute("update people set seen = null")
    attempt.refused("null_quasi", "'seen'", "every row")


def test_not_a_number(attempt: Attempt) -> None:
    attempt.store.execute("update people set bmi = 'NaN' where person = 3")
    attempt.refused("null_quasi", "'bmi'", "1 of 10 rows")


@pytest.mark.parametrize("value", ["infinity", "-infinity"])
@pytest.mark.parametrize("column", ["bmi", "seen"])
def test_infinite(attempt: Attempt, column: str, value: str) -> None:
    attempt.store.execute(f"update people set {column} = '{value}' where person in (1, 2)")
    attempt.refused("infinite", f"'{column}'", "2 of 10 rows")


def test_number_too_large(attempt: Attempt) -> None:
    attempt.store.execute("update people set bmi = 1e308 where person in (1, 2)")
    attempt.refused("too_large", "'bmi'")


def test_text_declared_number(attempt: Attempt) -> None:
    attempt.store.execute("alter table people alter column age type text")
    attempt.store.execute("alter table published alter column age type text")
    attempt.quasi["age"] = "number"
    attempt.refused("bad_type", "'age'", "declared number", "text")


def test_fraction_declared_integer(attempt: Attempt) -> None:
    attempt.quasi["bmi"] = "integer"
    attempt.refused("bad_type", "'bmi'", "every row", "fraction")


def test_fraction_of_a_decimal_declared_integer(attempt: Attempt) -> None:
    attempt.store.execute("alter table people alter column bmi type numeric(12, 3)")
    attempt.quasi["bmi"] = "integer"
    attempt.refused("bad_type", "'bmi'", "every row", "fraction")


def test_timestamp_declared_date(attempt: Attempt) -> None:
    attempt.store.execute("alter table people alter column seen type timestamp")
    attempt.refused("bad_type", "'seen'", "declared date", "timestamp")


@pytest.mark.parametrize("store", ["duckdb"], indirect=True)  # PostgreSQL gives lists as text
def test_column_without_an_order(attempt: Attempt) -> None:
    attempt.store.execute("alter table people alter illness type text[] using [illness]")
    attempt.refused("bad_type", "'illness'", "list")


def test_null_entity(attempt: Attempt) -> None:
    attempt.store.execute("update people set person = null where person > 6")
    attempt.refused("null_entity", "'person'", "3 of 10 rows")


def test_constant_quasi_identifier_passes_with_a_warning(attempt: Attempt) -> None:
    attempt.store.execute("update people set age = 918273")
    published = attempt.run()
    path = Path(published.reports["json"].removeprefix("file://"))
    assert json.loads(path.read_text())["warnings"] == ["Quasi-identifier 'age' is constant."]
    assert attempt.store.fetch("select distinct age from published") == [(918273,)]


def test_labels_of_an_enumeration_are_not_reported(attempt: Attempt) -> None:
    kind = "enum ('canary-illness', 'canary-other')"
    attempt.store.execute(
        f"create type ill as {kind}",
        "alter table people alter column illness type ill using illness::ill",
        "drop table published",
    )
    for uri in attempt.run().reports.values():
        assert "canary" not in Path(uri.removeprefix("file://")).read_text()


# The condition


def test_condition_on_a_column_that_is_not_there(attempt: Attempt) -> None:
    attempt.source["where"] = "agee > 3"
    attempt.refused("no_column", "agee", "source.where", "'age'")


def test_condition_that_fails_on_a_row(attempt: Attempt) -> None:
    attempt.source["where"] = "cast(illness as integer) > 0"
    assert isinstance(attempt.refused("refused"), WarehouseError)


def test_target_that_refuses_a_row(attempt: Attempt) -> None:
    attempt.store.execute(
        "drop table published",
        f"create table published ({PUBLISHED}, check (illness <> 'canary-illness'))",
        "insert into published values (40, 25.5, '2024-01-01', 'old', 'here')",
    )
    before = attempt.content()
    with pytest.raises(WarehouseError) as caught:
        attempt.run()
    assert (caught.value.code, caught.value.retryable) == ("refused", False)
    assert not any(canary in shown(caught.value) for canary in CANARIES)
    assert attempt.content() == before
    assert not (attempt.folder / "staging").exists()


# A run that cannot begin


def test_half_an_interval_leaves_nothing_behind(
    attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    attempt.run()
    with pytest.raises(ReleaseError) as caught:
        run_release(tmp_path / "people.yaml", start=JULY[0])
    assert caught.value.code == "no_interval"
    assert list((tmp_path / "temporary").iterdir()) == []


def test_unreachable_warehouse_may_heal(attempt: Attempt, tmp_path: Path) -> None:
    kind = attempt.store.kind
    gone = "postgresql://u@127.0.0.1:1/x" if kind == "postgres" else f"duckdb://{tmp_path}/gone"
    attempt.store = Store(kind, gone, attempt.store.open)
    with pytest.raises(WarehouseError) as caught:
        attempt.run()
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)
    assert not (tmp_path / "staging").exists()


# Types, NULLs and strata


def test_category_outside_the_order(attempt: Attempt) -> None:
    order = {"type": "ordinal", "order": ["canary-other"]}
    attempt.columns |= {"quasi": {"age": {"type": "integer"}, "illness": order}, "sensitive": []}
    attempt.publish["table"] = "another"
    attempt.refused("not_in_order", "'illness'", "every row")


@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_infinite_timestamp(attempt: Attempt, value: str) -> None:
    attempt.store.execute("alter table people alter column seen type timestamp")
    attempt.store.execute(f"update people set seen = '{value}' where person in (1, 2)")
    attempt.quasi["seen"] = "timestamp"
    attempt.refused("infinite", "'seen'", "2 of 10 rows")


def test_infinite_is_an_error_whatever_the_rule_for_null(attempt: Attempt) -> None:
    attempt.rules["nulls"] = "own_class"
    attempt.store.execute("update people set bmi = 'infinity' where person = 1")
    attempt.refused("infinite", "'bmi'", "1 of 10 rows")


@pytest.mark.parametrize("value", ["0", "-1", "null"])
def test_weight_that_is_not_positive(attempt: Attempt, value: str) -> None:
    attempt.store.execute(
        "alter table people add column w integer",
        "update people set w = 3",
        f"update people set w = {value} where person = 1",
    )
    attempt.columns["weight"] = "w"
    attempt.refused("bad_weight", "'w'", "1 of 10 rows")


@pytest.mark.parametrize("nan", [True, False])
@pytest.mark.parametrize("rule", ["own_class", "impute"])
def test_nulls_by_rule(attempt: Attempt, rule: str, nan: bool) -> None:
    value = "'nan'" if nan else "null"
    attempt.store.execute(f"update people set bmi = {value} where person = 3")
    attempt.rules["nulls"] = rule
    assert attempt.run().k >= 3
    nulls = attempt.store.fetch("select count(*) from published where bmi is null")
    assert nulls == [(3 if rule == "own_class" else 0,)]


def test_small_strata_by_rule(attempt: Attempt) -> None:
    attempt.store.execute("update people set region = 'canary-region-2' where person < 2")
    attempt.rules["small_strata"] = "drop"
    assert attempt.run().rows == 8
    attempt.rules["small_strata"] = "merge"
    assert attempt.run().rows == 10
    assert attempt.store.fetch("select count(*) from published where region is null") == [(10,)]


def test_dominated_mean(attempt: Attempt) -> None:
    attempt.rules["validate"] = {"dominance": {"share": 0.9, "columns": ["bmi"]}}
    before = attempt.content()
    with pytest.raises(
        DisclosureError, match="more than 90 % of the weight of a class or of a published mean"
    ) as caught:
        attempt.run()
    assert not any(canary in shown(caught.value) for canary in CANARIES)
    assert attempt.content() == before
