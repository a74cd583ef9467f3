"""The same release on Spark: a local session, small tables, real executors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

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
    done = run_release(file, connections=connections, reports=folder / "reports")
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
