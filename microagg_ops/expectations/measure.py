"""What the metrics of all expectations share: one measure, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from great_expectations.execution_engine import (
    PandasExecutionEngine,
    SparkDFExecutionEngine,
    SqlAlchemyExecutionEngine,
)
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from microagg_ops.errors import scrubbed
from microagg_ops.expectations.spark import SparkTable
from microagg_ops.expectations.sql import SqlTable
from microagg_ops.expectations.tables import FrameTable, Table


class TableMeasure(TableMetricProvider):
    """A metric that asks a table the same questions whichever engine holds it.

    A subclass names the metric, its ``value_keys`` and the ``measure``, a function of a table and
    the values of these keys.
    """

    measure: ClassVar[Callable[..., Any]]

    @classmethod
    def told(cls, table: Table, given: dict[str, Any]) -> Any:
        """Measure; of what goes wrong only the kind is told, since libraries quote values."""
        try:
            return cls.measure(table, **{key: given[key] for key in cls.value_keys})
        except Exception as error:  # noqa: BLE001 - whatever it is, it fails the check
            raise scrubbed(error) from None

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 - the decorator makes it a class method
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Any:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type="table")
        return cls.told(FrameTable(frame), metric_value_kwargs)

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sqlalchemy(
        cls,  # noqa: N805
        execution_engine: SqlAlchemyExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Any:
        rows, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type="table")
        # DuckDB gives no more rows once the connection is closed: fetch while it is open.
        with execution_engine.get_connection() as connection:
            return cls.told(SqlTable(connection, rows), metric_value_kwargs)

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(
        cls,  # noqa: N805
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Any:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type="table")
        return cls.told(SparkTable(frame), metric_value_kwargs)
