"""A first release of a table: roles with reasons, no cell, and a file that runs."""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import yaml

from microagg_ops.errors import DataError
from microagg_ops.proposal import Proposal, drafted, propose
from microagg_ops.proposal.facts import facts, risks
from microagg_ops.proposal.page import as_page
from microagg_ops.release.document import find_faults
from microagg_ops.release.strict_yaml import as_key, load

CANARY = "canary-7f3a"


def people(rows: int = 240) -> pa.Table:
    draw = random.Random(3)
    return pa.table({
        "patient_id": [i % (rows - 40) for i in range(rows)],
        "ssn": [f"{i:03}-{i % 90 + 10}-{i + 1000}" for i in range(rows)],
        "row": list(range(rows)),
        "age": [draw.randint(20, 80) for _ in range(rows)],
        "sex": [draw.choice("mf") for _ in range(rows)],
        "admitted": [date(2026, 1, 1) + timedelta(draw.randint(0, 60)) for _ in range(rows)],
        "note": [f"{CANARY} {i}" for i in range(rows)],
        "flag": [draw.randint(0, 1) for _ in range(rows)],
        "country": ["x"] * rows,
        "what": [draw.choice([1.5, 2.5, None]) for _ in range(rows)],
        "diagnosis": [draw.choice(["flu", "none", "asthma"]) for _ in range(rows)],
        "marital status": [draw.choice(["NA", "single", "married"]) for _ in range(rows)],
        "charges": [draw.random() for _ in range(rows)],
        "no": [draw.choice("ab") for _ in range(rows)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Proposal:
    path = tmp_path_factory.mktemp("proposal") / "people 1.csv"
    pa_csv.write_csv(people(), path)
    return propose(str(path))


def test_roles(found: Proposal) -> None:
    roles = {column.facts.name: column.role.name for column in found.columns}
    assert roles == {
        "patient_id": "entity", "ssn": "identifier", "row": "identifier", "age": "quasi",
        "sex": "quasi", "admitted": "quasi", "note": "identifier", "flag": "quasi",
        "country": "left out", "what": "quasi", "diagnosis": "sensitive",
        "marital status": "quasi", "charges": "quasi", "no": "quasi",
    }  # fmt: skip
    why = {column.facts.name: column.role.why for column in found.columns}
    assert "as it is it could name people" in why["charges"]
    assert "repeats" in why["patient_id"]
    quasi = found.document["columns"]["quasi"]
    assert quasi["flag"] == {"type": "nominal"} and quasi["admitted"] == {"type": "date"}
    assert found.document["nulls"] == "own_class"
    assert found.document["source"]["format"] == {"nulls": ["NA"]}
    assert found.document["release"] == "people_1"
    assert found.document["publish"] == {"file": "people_1_protected.csv"}
    assert found.document["validate"] == {"l": {"diagnosis": 2}}


def test_the_draft_is_the_release_and_shows_no_cell(found: Proposal) -> None:
    text = drafted(found)
    assert load(text.encode()) == found.document
    assert list(find_faults(found.document)) == []
    for shown in (text, as_page(found), str(found)):
        assert CANARY not in shown and "asthma" not in shown
    assert "# " in text.splitlines()[0]


def test_k_fits_and_its_loss_is_told(found: Proposal) -> None:
    assert found.k in found.losses
    losses = [loss for loss in found.losses.values() if loss is not None]
    assert losses == sorted(losses)
    assert f"k = {found.k}: loses" in drafted(found)


def test_the_order_of_rows_changes_nothing(found: Proposal, tmp_path: Path) -> None:
    table = people()
    path = tmp_path / "people 1.csv"
    pa_csv.write_csv(table.take(pa.array(range(table.num_rows - 1, -1, -1))), path)
    again = propose(str(path))
    assert again.columns == found.columns
    assert again.losses == found.losses


def test_facts_by_hand() -> None:
    table = pa.table({"a": [1, 1, 2, None], "b": ["x", "x", "y", "z"], "c": [7, 8, 9, 10]})
    a, b, c = facts(table)
    assert (a.rows, a.nulls, a.values, a.most, a.kind) == (4, 1, 2, 2, "whole numbers")
    assert a.alone == pytest.approx(1 / 3) and b.alone == 0.5 and c.alone == 1.0
    assert b.bits == pytest.approx(1.5) and c.bits == 2.0
    assert c.numbers_rows and not a.numbers_rows


def test_rows_of_all_parts_of_a_large_table_are_looked_at() -> None:
    rows = 12_000  # sorted by a, as a canonical table is: its first rows have a = 0 alone
    table = pa.table({
        "a": [i * 4 // rows for i in range(rows)],
        "b": [i * 4 // rows for i in range(rows)],
        "c": list(range(rows)),
    })  # fmt: skip
    a, _, _ = facts(table)
    assert (a.like, a.likeness) == ("b", 1.0)


def test_shares_of_the_risk_are_those_of_suda() -> None:
    table = people(60).select(["age", "sex", "flag"])
    shares = risks(table, table.column_names)
    assert sum(shares.values()) == pytest.approx(1.0)
    # A column that is in no unique combination has none.
    same = table.append_column("same", pa.array([1] * 60))
    assert risks(same, same.column_names)["same"] == 0.0


@pytest.mark.parametrize(
    "name", ["age", "no", "1e3", "a: b", "naïve", "null", "a b", "", "#x", "x.csv", "é\n", "2026"]
)
def test_names_are_read_back(name: str) -> None:
    assert yaml.safe_load(f"{{{as_key(name)}: 1}}") == {name: 1}


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"age": [1, 2, 3], "sex": ["m", "f", "m"]}, "too_few"),
        ({"id": [1, 2, 3, 4, 5], "same": ["x"] * 5}, "no_column"),
    ],
)
def test_what_cannot_be_protected(tmp_path: Path, columns: dict[str, Any], code: str) -> None:
    pa_csv.write_csv(pa.table(columns), tmp_path / "in.csv")
    with pytest.raises(DataError) as caught:
        propose(str(tmp_path / "in.csv"))
    assert caught.value.code == code


def test_columns_that_cannot_be_released_are_left_out(tmp_path: Path) -> None:
    rows = people(60).select(["age", "sex"])
    odd = {
        "tags": pa.array([["a"]] * 60),
        "bytes": pa.array([b"\xff%d" % i for i in range(60)]),
        "at": pa.array(range(60), pa.time64("us")),
    }
    for name, column in odd.items():
        rows = rows.append_column(name, column)
    pq.write_table(rows, tmp_path / "in.parquet")
    found = propose(str(tmp_path / "in.parquet"))
    assert list(found.document["columns"]["quasi"]) == ["age", "sex"]
    left = {c.facts.name for c in found.columns if c.role.name == "left out"}
    assert left == {"tags", "bytes", "at"}


def test_a_small_table_has_a_small_k(tmp_path: Path) -> None:
    pa_csv.write_csv(people(60).slice(0, 10).select(["age", "sex"]), tmp_path / "in.csv")
    assert propose(str(tmp_path / "in.csv")).k == 2
