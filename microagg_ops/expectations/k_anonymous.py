"""The expectation that a table is k-anonymous."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from great_expectations.execution_engine import ExecutionEngine, PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from microagg_ops.metrics.anonymity import classes

METRIC = "table.microagg.classes"


class TableClasses(TableMetricProvider):
    """Count the equivalence classes of a table; counts only, no value of a row."""

    metric_name = METRIC
    value_keys = ("quasi", "k", "entity")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 - the decorator makes it a class method
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> dict[str, Any]:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type="table")
        wanted = {key: metric_value_kwargs[key] for key in cls.value_keys}
        return asdict(classes(frame, **wanted))


class ExpectTableToBeKAnonymous(BatchExpectation):
    """Expect every combination of quasi-identifiers to be shared by k entities or more."""

    quasi: list[str]
    k: int
    entity: str | None = None

    metric_dependencies = (METRIC,)
    success_keys = ("quasi", "k", "entity")
    args_keys = ("quasi", "k", "entity")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine | None = None,
    ) -> dict[str, Any]:
        found = metrics[METRIC]
        return {
            "success": found["count"] > 0 and found["smallest"] >= self.k,
            "result": {"observed_value": found["smallest"], "details": found},
        }
