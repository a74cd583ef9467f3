"""What `make demo` runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def test_demo_publishes_and_says_where(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, "-m", "microagg_ops.cli", "demo", "--home", "demo", "--json"],
        cwd=tmp_path,
        env=environment | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    means = ["totals_age", "totals_height_cm", "totals_bmi"]
    names = ["k_anonymous", "l_diverse_diagnosis", "linkage", *means]
    assert told["checks"] == dict.fromkeys(
        [*names, "schema", "information_loss", "dominance", "p_percent"], True
    )
    assert told["recount"]["rows"] == 50_000
    assert told["recount"]["smallest"] >= told["k"] >= 5
    assert told["recount"]["diagnoses"] >= 2
    figures = json.loads(Path(told["report"]).with_suffix(".json").read_text())
    assert figures["treatment"]["suppressed"]
    assert figures["treatment"]["merged"]["strata"] == 2
    assert figures["method"]["nulls"] == "own_class"
    assert Path(told["airflow_home"], "airflow.db").is_file()
    assert list((tmp_path / "demo" / "staging").iterdir()) == []
