"""The same release on Spark: a local session, small tables, real executors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.metrics import k_anonymity
from microagg_ops.pipeline import Published, run_release
from tests.spark import open_session

pytestmark = [pytest.mark.server, pytest.mark.slow]
CANARY = 7_351_942.125


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session for all tests here."""
    yield from open_session("local[2]", tmp_path_factory.mktemp("spark"))


def people(rows: int, seed: int = 0) -> pa.Table:
    """Numbers of people, one of them a canary."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10, 1, rows)
    income[rows // 2] = CANARY
    return pa.table(
        {
            "age": pa.array(rng.integers(18, 90, rows)),
            "height": rng.normal(170, 10, rows),
            "income": income,
            "diagnosis": pa.array(rng.choice(["a", "b", "c", "d"], rows)),
        }
    )


PLAIN: dict[str, Any] = {
    "release": "people",
    "source": {"conn_id": "lake", "table": "people"},
    "columns": {
        "quasi": {
            "age": {"type": "integer"},
            "height": {"type": "number"},
            "income": {"type": "number"},
        },
        "sensitive": ["diagnosis"],
    },
    "aggregate": {"method": "mdav", "k": 4},
    "validate": {"max_information_loss": 0.6, "totals": 0.01, "max_risk": 0.25},
    "publish": {"conn_id": "lake", "table": "pub.people"},
}


def released(folder: Path, table: pa.Table, **parts: Any) -> tuple[Published, pa.Table]:
    """Run a release from Parquet to Parquet, and read what it published."""
    lake = folder / "lake"
    lake.mkdir(exist_ok=True)
    pq.write_table(table, lake / "people.parquet", row_group_size=500)
    file = folder / "release.yaml"
    file.write_text(yaml.safe_dump(PLAIN | parts))
    connections = {"lake": f"parquet://{lake}"}
    done = run_release(
        file, connections=connections, reports=folder / "reports",
        start=datetime(2024, 1, 1, tzinfo=UTC), end=datetime(2026, 6, 1, tzinfo=UTC),
    )  # fmt: skip
    return done, pq.read_table(lake / "pub" / "people")


def test_one_block_is_what_one_machine_publishes(spark: Any, tmp_path: Path) -> None:
    table = people(600)
    local, expected = released(tmp_path, table)
    done, found = released(tmp_path, table, engine="spark")
    assert found.schema.equals(expected.schema)
    assert found.equals(expected)
    assert done.checks == local.checks
    assert done.k == local.k
    assert done.information_loss == pytest.approx(local.information_loss)
    assert [p.name for p in (tmp_path / "lake" / "pub").iterdir()] == ["people"]


def test_blocks_hold_k_whatever_the_order_of_the_rows(spark: Any, tmp_path: Path) -> None:
    table = people(3000)
    engine = {"name": "spark", "block_rows": 700}
    done, found = released(tmp_path, table, engine=engine)
    _, again = released(tmp_path, table.take(np.random.default_rng(1).permutation(3000)),
                        engine=engine)  # fmt: skip
    whole, _ = released(tmp_path, table)
    assert found.equals(again)
    assert found.num_rows == 3000
    assert k_anonymity(found, ["age", "height", "income"]) >= 4 <= done.k
    assert all(done.checks.values())
    assert done.information_loss < 1.35 * whole.information_loss
    for name in ("height", "income"):
        assert np.sum(found[name].to_numpy()) == pytest.approx(np.sum(table[name].to_numpy()))


CLINIC = yaml.safe_load((Path(__file__).parents[2] / "dags" / "clinic_patients.yaml").read_text())
SEVERAL = {"name": "spark", "block_rows": 1500}


def clinic(folder: Path, table: pa.Table, **parts: Any) -> tuple[Published, pa.Table]:
    """Run the release of the demo from Parquet to Parquet, with some parts changed."""
    source = {"conn_id": "lake", "table": "people", "where": CLINIC["source"]["where"]}
    changed = {key: CLINIC.get(key, {}) | parts.pop(key) for key in list(parts) if key in MERGED}
    return released(folder, table, **(CLINIC | {"source": source, "publish": PLAIN["publish"]}
                                      | changed | parts))  # fmt: skip


MERGED = ("columns", "validate")


def test_the_demo_on_one_block_and_on_several(spark: Any, tmp_path: Path) -> None:
    from microagg_ops.cli.demo_data import clinic_patients

    table = clinic_patients(6000)
    local, expected = clinic(tmp_path, table)
    done, found = clinic(tmp_path, table, engine="spark")
    assert found.equals(expected)
    assert done.checks == local.checks
    assert told(done)["treatment"] == told(local)["treatment"]
    assert (
        told(done)["risk"]["after"]["singling_out"] == told(local)["risk"]["after"]["singling_out"]
    )

    done, found = clinic(tmp_path, table, engine=SEVERAL)
    assert done.checks == local.checks
    # A patient is in one region only, and k counts patients: that needs their keys.
    assert done.k >= 5
    assert found.num_rows == expected.num_rows < table.num_rows
    assert found["region"].null_count == expected["region"].null_count
    assert told(done)["treatment"]["merged"] == told(local)["treatment"]["merged"]
    assert told(done)["data"] == told(local)["data"]
    assert done.information_loss < 1.2 * local.information_loss


def test_dropped_strata_weights_and_closeness(spark: Any, tmp_path: Path) -> None:
    from microagg_ops.cli.demo_data import clinic_patients

    table = clinic_patients(12_000)
    parts: dict[str, Any] = {
        "small_strata": "drop",
        "aggregate": {"method": "mdav", "k": 4},
        "standardize": {"method": "robust"},
        "columns": {
            "weight": "bmi",
            "quasi": {
                "age": {"type": "integer"},
                "height_cm": {"type": "number"},
                "smoker": {"type": "boolean"},
                "admitted": {"type": "date", "representative": "median"},
                "area": {"type": "nominal"},
            },
        },
        "validate": {"l": {}, "t": {"diagnosis": 0.6}, "dominance": {}, "max_linkage": 0.9},
    }
    local, expected = clinic(tmp_path, table, **parts)
    engine = {"name": "spark", "block_rows": 2200}
    done, found = clinic(tmp_path, table, engine=engine, **parts)
    assert done.checks == local.checks
    assert done.k >= 4
    assert found.num_rows == expected.num_rows < table.num_rows
    assert found.schema.equals(expected.schema)
    assert told(done)["treatment"]["dropped"] == told(local)["treatment"]["dropped"]


def told(done: Published) -> dict[str, Any]:
    """Read the internal report of a run."""
    return dict(json.loads(Path(done.reports["json"].removeprefix("file://")).read_text()))


def test_what_spark_cannot_do_is_refused_when_the_file_is_read(tmp_path: Path) -> None:
    asked = {"engine": "spark", "nulls": "impute"}
    with pytest.raises(ReleaseError, match="/nulls: found impute, which Spark cannot do yet"):
        released(tmp_path, people(100), **asked)


def test_from_a_view_to_a_table_of_a_catalogue(spark: Any, tmp_path: Path) -> None:
    table = people(500)
    spark.createDataFrame(table).createOrReplaceTempView("everybody")
    release = {
        "engine": {"name": "spark", "conn_id": "spark"},
        "source": {"conn_id": "spark", "table": "everybody", "where": "age < 60"},
        "publish": {"conn_id": "spark", "table": "default.protected"},
    }
    file = tmp_path / "release.yaml"
    file.write_text(yaml.safe_dump(PLAIN | release))
    for _ in range(2):  # a new target, and one that is there
        done = run_release(file, connections={"spark": "spark://local"}, reports=tmp_path)
        found = spark.table("default.protected").toArrow()
        assert found.num_rows == done.rows < 500
        assert max(table["age"].to_pylist()) >= 60 > max(found["age"].to_pylist())
        assert k_anonymity(found, ["age", "height", "income"]) >= 4
    assert [one.name for one in spark.catalog.listTables("default")] == ["protected", "everybody"]


def test_no_cell_leaves_by_logs_or_errors(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = people(2000)
    columns = PLAIN["columns"] | {
        "quasi": PLAIN["columns"]["quasi"] | {"income": {"type": "integer"}}
    }
    with pytest.raises(DataError, match="'income' is declared integer but holds a fraction"):
        released(tmp_path, table, engine={"name": "spark", "block_rows": 700}, columns=columns)
    released(tmp_path, table, engine={"name": "spark", "block_rows": 700})
    seen = capfd.readouterr()
    logs = [path for path in events(spark).rglob("*") if path.is_file()]
    texts = [seen.out, seen.err, *(path.read_text("utf-8", "replace") for path in logs)]
    assert "SparkListenerTaskEnd" in "".join(texts)
    for text in texts:
        assert "7351942" not in text
        assert "7.351942" not in text


def events(spark: Any) -> Path:
    """Return the folder of the event logs of a session."""
    return Path(spark.conf.get("spark.eventLog.dir").removeprefix("file://"))


def test_the_report_counts_all_rows_where_it_compares_a_sample(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from microagg_ops.stages.distributed import report

    local, _ = released(tmp_path, people(2000))
    monkeypatch.setattr(report, "COMPARED", 500)
    done, _ = released(tmp_path, people(2000), engine={"name": "spark", "block_rows": 5000})
    whole, some = told(local), told(done)
    # The same table: what is counted is the same, however few rows were compared.
    for one in (whole, some):
        del one["risk"]["after"]["linkability"], one["risk"]["after"]["disclosure_risk"]
        del one["risk"]["after"]["inference"]["interval"], one["risk"]["before"]["suda"]
    assert some["risk"] == whole["risk"]
    assert some["data"] == whole["data"]
    assert "of a sample of" in some["utility"]["notes"][0]
    external = json.loads(Path(done.reports["external_json"].removeprefix("file://")).read_text())
    assert external["utility"] is None
    assert external["data"]["rows"] == 2000
