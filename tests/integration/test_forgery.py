"""Who can write staging, and has all but the key, can publish nothing.

The attacker knows the format: tables, digests, verdict and manifests are forged so that each fits
all others. Stages run through the command line and as operators of Airflow.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from airflow.sdk.exceptions import AirflowFailException

from microagg_ops.cli.main import main
from microagg_ops.operators import MicroaggPublishOperator
from microagg_ops.release.model import STAGES
from microagg_ops.staging.digests import from_parquet, to_parquet
from microagg_ops.staging.store import Staging
from microagg_ops.task_groups.release import OPERATORS
from tests.airflow_home import duckdb_connection

BEFORE_PUBLISH = STAGES[:-1]
OLD = (
    "create table pub.clinic_patients as select age, height_cm, bmi, admitted, diagnosis, region "
    "from clinic.patients limit 7"
)
COUNT = "select count(*) from pub.clinic_patients"


def changed(folder: Path, stage: str, name: str, content: bytes) -> None:
    """Replace a staged file, and let the manifest of its stage say so."""
    (folder / stage / name).write_bytes(content)
    path = folder / stage / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(manifest))


def unmasked(folder: Path) -> bytes:
    """Make a table of the right columns and types in which a patient is alone."""
    table = from_parquet((folder / "aggregate" / "protected.parquet").read_bytes())
    heights = pa.array([170 + row / 7 for row in range(table.num_rows)], pa.float64())
    return to_parquet(table.set_column(table.column_names.index("height_cm"), "height_cm", heights))


def forge_table(folder: Path) -> None:
    """Replace the protected table by one with k = 1, and the verdict by one about it."""
    content = unmasked(folder)
    changed(folder, "aggregate", "protected.parquet", content)
    verdict = json.loads((folder / "validate" / "verdict.json").read_bytes())
    verdict["file"] = hashlib.sha256(content).hexdigest()
    changed(folder, "validate", "verdict.json", json.dumps(verdict).encode())


def forge_entities(folder: Path) -> None:
    """Let a table in which each class is one patient look as if each row were another one."""
    table = from_parquet((folder / "aggregate" / "protected.parquet").read_bytes())
    rows = from_parquet((folder / "aggregate" / "rows.parquet").read_bytes())
    alone = pa.array(range(table.num_rows), rows["entity"].type)
    rows = rows.set_column(rows.column_names.index("entity"), "entity", alone)
    changed(folder, "aggregate", "rows.parquet", to_parquet(rows))


def forge_with_a_key(folder: Path) -> None:
    """Forge as above, and let the attacker's own installation write the manifests."""
    forge_table(folder)
    for stage in ("aggregate", "validate"):
        entry = json.loads((folder / stage / "manifest.json").read_bytes())
        files = {name: (folder / stage / name).read_bytes() for name in entry["files"]}
        shutil.rmtree(folder / stage)
        Staging(folder, lambda: b"the attacker's own key").put(stage, files, entry["summary"])


def swap_stages(folder: Path) -> None:
    """Let a manifest of one stage stand for that of another."""
    shutil.copy(folder / "report" / "manifest.json", folder / "validate" / "manifest.json")


FORGERIES = [forge_table, forge_entities, forge_with_a_key, swap_stages]


@pytest.fixture
def ask(warehouse: Path) -> Callable[[str], list[Any]]:
    """A query of the warehouse, which has an older target."""

    def ask(query: str) -> list[Any]:
        with duckdb.connect(str(warehouse)) as con:
            return con.execute(query).fetchall()

    ask(OLD)
    return ask


@pytest.fixture
def stage(
    warehouse: Path, release_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """The command line's stages."""
    monkeypatch.chdir(tmp_path)
    connection = f"warehouse=duckdb://{warehouse}"

    def call(*names: str, staging: str = "staging") -> int:
        for name in names:
            given = ["--connection", connection, "--staging", staging, "--json"]
            if code := main([name, str(release_file), *given]):
                return code
        return 0

    return call


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forgery_is_not_published(
    stage: Callable[..., int],
    ask: Callable[[str], list[Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    forge: Callable[[Path], None],
) -> None:
    assert stage(*BEFORE_PUBLISH) == 0
    forge(tmp_path / "staging")
    assert stage("publish") == 3
    assert json.loads(capsys.readouterr().err)["error"] == "staging_changed"
    assert ask(COUNT) == [(7,)]


def test_what_was_not_touched_is_published(
    stage: Callable[..., int], ask: Callable[[str], list[Any]]
) -> None:
    assert stage(*STAGES) == 0
    assert ask(COUNT) == [(600,)]


@pytest.mark.parametrize("again", ["in another folder", "in the same folder"])
def test_stages_of_an_earlier_run_are_not_published(
    stage: Callable[..., int], ask: Callable[[str], list[Any]], tmp_path: Path, again: str
) -> None:
    assert stage(*BEFORE_PUBLISH, staging="first") == 0
    shutil.copytree(tmp_path / "first", tmp_path / "kept")
    ask("delete from clinic.patients where patient_id % 3 = 0")
    second = "second" if again == "in another folder" else "first"
    assert stage("extract", staging=second) == 0
    for name in BEFORE_PUBLISH[1:]:
        shutil.copytree(tmp_path / "kept" / name, tmp_path / second / name, dirs_exist_ok=True)
    assert stage("publish", staging=second) == 3
    assert ask(COUNT) == [(7,)]


def test_a_folder_of_another_run_is_not_published(
    stage: Callable[..., int], ask: Callable[[str], list[Any]], tmp_path: Path
) -> None:
    assert stage(*BEFORE_PUBLISH, staging="first") == 0
    (tmp_path / "first").rename(tmp_path / "second")
    assert stage("publish", staging="second") == 3
    assert ask(COUNT) == [(7,)]


@pytest.mark.parametrize("forge", FORGERIES)
def test_operators_refuse_a_forgery(
    warehouse: Path,
    release_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[str], list[Any]],
    forge: Callable[[Path], None],
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", duckdb_connection(warehouse))
    monkeypatch.setenv("AIRFLOW__MICROAGG__REPORTS", str(tmp_path / "reports"))
    given = {"release": str(release_file), "staging": str(tmp_path / "staging")}
    context: Any = {"run_id": "one"}
    for operator in OPERATORS[:-1]:
        operator(task_id=f"r.{operator.stage}", **given).execute(context)
    (folder,) = (tmp_path / "staging").iterdir()
    forge(folder)
    with pytest.raises(AirflowFailException, match="is not what"):
        MicroaggPublishOperator(task_id="r.publish", **given).execute(context)
    assert ask(COUNT) == [(7,)]
