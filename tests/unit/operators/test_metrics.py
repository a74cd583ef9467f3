"""The figures that a stage sends, read from the wire by a StatsD server of our own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsd
from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
from airflow.sdk._shared.observability.metrics.statsd_logger import SafeStatsdLogger
from airflow.sdk.observability.stats import Stats

from microagg_ops.operators import MicroaggAggregateOperator
from microagg_ops.operators.metrics import measure


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A socket that every metric of this process is sent to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        client = statsd.StatsClient("127.0.0.1", server.getsockname()[1])
        Stats.initialize(factory=lambda: SafeStatsdLogger(client), export_legacy_names=True)
        yield server
        Stats.initialize(factory=NoStatsLogger, export_legacy_names=True)


def received(server: socket.socket, many: int) -> dict[str, str]:
    lines = [server.recv(1000).decode() for _ in range(many)]
    return dict(line.split(":", 1) for line in lines)


def test_duration_rows_k_and_loss_are_sent_with_and_without_tags(server: socket.socket) -> None:
    measure("clinic", "aggregate", {"rows": 600, "k": 5, "information_loss": 31.5}, 0.25)
    sent = received(server, 8)
    for name in ("microagg", "microagg.clinic.aggregate"):
        assert float(sent[f"{name}.duration"].removesuffix("|ms")) == 250
        assert sent[f"{name}.rows"] == "600.0|g"
        assert sent[f"{name}.k"] == "5.0|g"
        assert sent[f"{name}.information_loss"] == "31.5|g"


def test_what_a_stage_does_not_know_is_not_sent(server: socket.socket) -> None:
    measure("clinic", "report", {"uris": {}, "information_loss": None}, 1)
    assert set(received(server, 2)) == {"microagg.duration", "microagg.clinic.report.duration"}
    server.settimeout(0.1)
    with pytest.raises(TimeoutError):
        server.recv(1000)


def test_name_of_a_task_becomes_a_name_of_a_metric(server: socket.socket) -> None:
    measure("größe 1", "group", {}, 1)
    assert "microagg.gr__e_1.group.duration" in received(server, 2)


def test_an_operator_sends_its_figures(
    server: socket.socket, tmp_path: Path, patients: pa.Table
) -> None:
    pq.write_table(patients, tmp_path / "patients.parquet")
    protect = MicroaggAggregateOperator(
        task_id="protect",
        source=tmp_path / "patients.parquet",
        target=tmp_path / "out.parquet",
        quasi=["age", "height_cm"],
        k=3,
    )
    done = protect.execute({})
    sent = received(server, 8)
    assert sent["microagg.protect.aggregate.rows"] == "600.0|g"
    loss = float(sent["microagg.protect.aggregate.information_loss"].removesuffix("|g"))
    assert loss == pytest.approx(done["information_loss"])
    assert float(sent["microagg.protect.aggregate.duration"].removesuffix("|ms")) > 0
