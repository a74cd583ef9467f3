"""A run that is ended from outside leaves the target as it was, and can be run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from microagg_ops.cli.demo_data import clinic_patients
from microagg_ops.staging.digests import content_digest

ROWS = 60_000


@pytest.fixture
def large(warehouse: Path) -> Path:
    """The warehouse with a table that takes a while, and an older target."""
    with duckdb.connect(str(warehouse)) as con:
        con.register("seed", clinic_patients(ROWS))
        con.execute("create or replace table clinic.patients as from seed")
        con.execute(
            "create table pub.clinic_patients as select age, height_cm, bmi, admitted, diagnosis, "
            "region from clinic.patients limit 7"
        )
    return warehouse


def published(warehouse: Path) -> tuple[int, str]:
    with duckdb.connect(str(warehouse), read_only=True) as con:
        table = con.sql("from pub.clinic_patients").to_arrow_table()
    return table.num_rows, content_digest(table)


def start(warehouse: Path, release_file: Path, temporary: Path) -> subprocess.Popen[bytes]:
    temporary.mkdir(exist_ok=True)
    # One stratum instead of several makes the stage that is to be hit the longest.
    release_file.write_text(
        release_file.read_text()
        .replace("strata: [region]\n", "strata: []\n")
        .replace("sensitive: [diagnosis]", "sensitive: [diagnosis, region]")
    )
    return subprocess.Popen(
        [sys.executable, "-m", "microagg_ops.cli", "run", str(release_file),
         "--connection", f"warehouse=duckdb://{warehouse}",
         "--reports", str(temporary.parent / "reports")],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def wait_for_stage(temporary: Path, stage: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if list(temporary.glob(f"microagg-*/{stage}/manifest.json")):
            return
        time.sleep(0.01)
    pytest.fail(f"{stage} did not finish in time")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended(
    large: Path, release_file: Path, tmp_path: Path, how: signal.Signals
) -> None:
    temporary = tmp_path / "tmp"
    before = published(large)
    process = start(large, release_file, temporary)
    wait_for_stage(temporary, "group")  # so it is inside aggregate now
    process.send_signal(how)
    assert process.wait(timeout=20) != 0
    assert published(large) == before
    if how is not signal.SIGKILL:  # nobody cleans up after that
        assert list(temporary.glob("microagg-*")) == []

    assert start(large, release_file, temporary).wait(timeout=120) == 0
    assert published(large)[0] == ROWS
