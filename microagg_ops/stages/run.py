"""What every stage is given: one run of one release."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.engines.base import Engine
from microagg_ops.engines.local import LOCAL
from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.methods.partition import Progress, no_progress
from microagg_ops.release.model import Release
from microagg_ops.staging.digests import from_parquet
from microagg_ops.staging.keys import derived, installation_key
from microagg_ops.staging.store import Staging, local, safe_name
from microagg_ops.warehouse.base import naive_utc

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse import Warehouse


def no_secret(conn_id: str) -> str:
    """Refuse to look for a secret where there are no connections."""
    raise ReleaseError(f"There is no connection {conn_id!r}.", code="no_connection")


@dataclass(frozen=True)
class Run:
    """One run of a release.

    Parameters
    ----------
    release
        What to do.
    staging
        Where stages leave what the next ones need.
    warehouse
        Connection id to warehouse.
    reports
        Where reports go if the release does not say.
    run_id
        What names this run: the Airflow run, or a name made up for it.
    interval
        The data interval, start and end.
    progress
        Told the share of the current stage that is done.
    approved_by
        Who approved the run beforehand, where no task of its own asks.
    secret
        Connection id to its password: the key that the manifest is signed with.
    installation
        Finds the key of the installation.
    engine
        Answers what stages ask of a table.
    """

    release: Release
    staging: Staging
    warehouse: Callable[[str], Warehouse]
    reports: Any
    run_id: str
    interval: tuple[datetime, datetime] | None = None
    progress: Progress = no_progress
    approved_by: str | None = None
    secret: Callable[[str], str] = no_secret
    installation: Callable[[], bytes] = installation_key
    engine: Engine[Any] = LOCAL

    @cached_property
    def key(self) -> bytes:
        """The key of digests that must not be tried out: of the signer, or of the installation."""
        signer = self.release.report.sign_conn_id
        return derived(self.secret(signer).encode(), "run") if signer else self.installation()

    @property
    def report_folder(self) -> Any:
        """The folder for the reports of this run."""
        root = local(self.release.report.uri or self.reports)
        return root / self.release.release / safe_name(self.run_id)

    @property
    def values(self) -> Mapping[str, datetime]:
        """The values bound to the parameters of ``source.where``."""
        if self.interval is None:
            if self.release.source.by_interval:
                raise DataError(
                    "source.where names :start or :end, but this run has no data interval.",
                    code="no_interval",
                    hint="Give one (--start and --end), or run the DAG with a logical date.",
                )
            return {}
        return {"start": self.interval[0], "end": self.interval[1]}

    @property
    def span(self) -> list[str] | None:
        """The data interval as text, the same for one moment in two time zones."""
        return [naive_utc(moment).isoformat() for moment in self.interval or ()] or None

    def table(self, stage: str, name: str) -> pa.Table:
        """Read a table that a stage left."""
        return from_parquet(self.staging.get(stage, f"{name}.parquet"))

    def document(self, stage: str, name: str) -> Any:
        """Read a JSON document that a stage left."""
        return json.loads(self.staging.get(stage, f"{name}.json"))
