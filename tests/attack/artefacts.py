"""What leaves a run: it is made by the operators that a DAG has, and collected as others see it."""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
import math
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import duckdb
import pyarrow as pa
import pytest
import yaml
from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.sdk.observability.stats import Stats

from microagg_ops.operators import MicroaggCleanupOperator, MicroaggPublishOperator
from microagg_ops.operators.assets import published_asset
from microagg_ops.task_groups.release import OPERATORS
from tests.airflow_home import duckdb_connection
from tests.attack.releases import Case

Figures = dict[str, float]
# Beside the table: what a run writes for readers outside. The internal report is not among them.
PAGES = ("external.json", "manifest.json", "external.html")


class Plain(yaml.SafeDumper):
    """A release file has no aliases, though lists may be shared here."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


@dataclass
class Outside:
    """All that a hostile reader has.

    Parameters
    ----------
    table
        The published table; none where nothing was published.
    documents
        JSON documents by name: external.json, manifest.json, xcom/STAGE, lineage/STAGE, event,
        metrics.
    texts
        Texts by name: external.html, log, error.
    digests
        SHA-256 of the files that everybody has: they tell no more than the files.
    """

    table: pa.Table | None
    documents: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    digests: set[str] = field(default_factory=set)

    @property
    def published(self) -> bool:
        return self.table is not None

    @cached_property
    def leaves(self) -> dict[str, Any]:
        """Every figure and word of every document, by where it is."""
        return dict(leaves("", self.documents))

    @cached_property
    def words(self) -> dict[str, str]:
        """Every word of every text, by where it is."""
        return {
            f"{name}:{i}": word
            for name, text in self.texts.items()
            for i, word in enumerate(re.findall(r"[^\s<>\"',;()]+", text))
        }

    @cached_property
    def figures(self) -> Figures:
        """Every number of every document, by where it is, and those that only texts have."""
        found = numbers_of(self.leaves)
        seen = set(found.values())
        for at, number in numbers_of(self.words).items():
            if number not in seen:
                seen.add(number)
                found[at] = number
        return found

    @cached_property
    def everything(self) -> str:
        """All of it but the table, as one text."""
        return "\n".join([json.dumps(self.documents, default=str), *self.texts.values()])


def leaves(at: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Walk through a document."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            yield from leaves(f"{at}/{key}", value)
    elif isinstance(part, list | tuple):
        for i, value in enumerate(part):
            yield from leaves(f"{at}/{i}", value)
    else:
        yield at, part


def numbers_of(values: Mapping[str, Any]) -> Figures:
    """Keep what is a number."""
    read = {at: as_number(value) for at, value in values.items()}
    return {at: n for at, n in read.items() if n is not None and math.isfinite(n)}


def as_number(value: Any) -> float | None:
    """Read a number, a percentage or a date (days since 1970)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    text = str(value).rstrip("%.").replace(",", "")
    if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text):
        return float(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        try:
            return float((datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days)
        except ValueError:
            return None
    return None


class Recorder(NoStatsLogger):
    """Keeps what Airflow's metrics are sent."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}

    def gauge(self, stat: str, value: float, *_: Any, **__: Any) -> None:  # type: ignore[override]
        self.sent[stat] = value

    def timing(self, stat: str, dt: Any, **_: Any) -> None:  # type: ignore[override]
        self.sent[stat] = float(dt)


class Events(dict[Any, Any]):
    """Stands for the events of a task's outlets."""

    def __missing__(self, outlet: Any) -> Any:
        return self.setdefault(outlet, SimpleNamespace(extra={}))


@dataclass
class Office:
    """Where releases are run: a warehouse, a folder for reports, and keys of its own.

    Parameters
    ----------
    folder
        Everything is below it, at the same place in every run.
    environment
        To set variables.
    """

    folder: Path
    environment: pytest.MonkeyPatch

    def __post_init__(self) -> None:
        warehouse = self.folder / "warehouse.duckdb"
        # A warehouse that stays open is quickly opened again.
        self.warehouse = duckdb.connect(str(warehouse))
        self.environment.setenv("AIRFLOW_CONN_WAREHOUSE", duckdb_connection(warehouse))
        self.environment.setenv("AIRFLOW__MICROAGG__REPORTS", str(self.folder / "reports"))

    def run(self, case: Case, key: str = "the key of an installation") -> Outside:
        """Run a release as a DAG does; collect what leaves.

        Parameters
        ----------
        case
            The release.
        key
            The key of the installation. What differs by it alone cannot be tried out.
        """
        for name in ("MICROAGG_KEY", "AIRFLOW__MICROAGG__KEY"):
            self.environment.setenv(name, key)
        self.warehouse.register("seed", case.table)
        self.warehouse.execute("create or replace table source as from seed")
        self.warehouse.execute("drop table if exists target")
        self.warehouse.unregister("seed")
        release = self.folder / "r.yaml"
        release.write_text(yaml.dump(case.document, Dumper=Plain, sort_keys=False))
        shutil.rmtree(self.folder / "reports", ignore_errors=True)
        with logged() as lines, measured() as metrics:
            outside = self._tasks(release)
        outside.documents["metrics"] = metrics.sent
        outside.texts["log"] = "\n".join(lines)
        if "error" not in outside.texts:
            outside.table = self.warehouse.sql("from target").to_arrow_table()
        self._pages(outside)
        return outside

    def _tasks(self, release: Path) -> Outside:
        """Run the tasks of a release."""
        outside, events = Outside(None), Events()
        context: Any = {"run_id": "run", "outlet_events": events}
        asset = published_asset(release)
        staging = str(self.folder / "staging")
        try:
            for kind in OPERATORS:
                outlets = [asset] if kind is MicroaggPublishOperator else []
                task = kind(
                    task_id=f"r.{kind.stage}", release=release, staging=staging, outlets=outlets
                )
                outside.documents[f"xcom/{kind.stage}"] = task.execute(context)
                facets = task.get_openlineage_facets_on_complete(None)
                outside.documents[f"lineage/{kind.stage}"] = attrs.asdict(facets)
        except (AirflowException, AirflowFailException) as error:
            outside.texts["error"] = str(error)
        finally:
            cleanup = MicroaggCleanupOperator(task_id="r.cleanup", release=release, staging=staging)
            outside.documents["xcom/cleanup"] = cleanup.execute(context)
        outside.documents["event"] = [event.extra for event in events.values()]
        # As it is stored.
        outside.documents = json.loads(json.dumps(outside.documents, default=str))
        return outside

    def _pages(self, outside: Outside) -> None:
        """Read what was written for readers outside."""
        for name in PAGES:
            for path in (self.folder / "reports").rglob(name):
                outside.digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
                if name.endswith(".json"):
                    outside.documents[name] = json.loads(path.read_text())
                else:
                    outside.texts[name] = path.read_text()


@contextmanager
def logged() -> Iterator[list[str]]:
    """Listen to the log of the package."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("microagg_ops")
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def measured() -> Iterator[Recorder]:
    """Listen to Airflow's metrics."""
    recorder = Recorder()
    Stats.initialize(factory=lambda: recorder, export_legacy_names=True)
    try:
        yield recorder
    finally:
        Stats.initialize(factory=NoStatsLogger, export_legacy_names=True)
