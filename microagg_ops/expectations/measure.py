"""What the metrics of all expectations share: one measure, on every engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

from great_expectations.execution_engine import (
    ExecutionEngine,
    PandasExecutionEngine,
    SparkDFExecutionEngine,
    SqlAlchemyExecutionEngine,
)
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from microagg_ops.errors import scrubbed
from microagg_ops.expectations.spark import SparkTable
from microagg_ops.expectations.sql import SqlTable
from microagg_ops.expectations.tables import FrameTable, Table

Verdict = tuple[bool, Any, dict[str, Any]]


def on(engine: type[ExecutionEngine], table_of: Callable[[Any, Any], Any]) -> Any:
    """Make the method of a metric for one engine, which opens its rows as a `Table`."""

    def told(  # noqa: PLR0917 - as Great Expectations calls it
        cls: type[TableMeasure],
        execution_engine: Any,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Any:
        rows, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type="table")
        with table_of(execution_engine, rows) as table:
            return cls.told(table, metric_value_kwargs)

    return metric_value(engine=engine)(told)


@contextmanager
def sql_table(engine: Any, rows: Any) -> Iterator[SqlTable]:
    """Open a query; DuckDB gives no more rows once the connection is closed."""
    with engine.get_connection() as connection:
        yield SqlTable(connection, rows)


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

    _pandas = on(PandasExecutionEngine, lambda _, rows: nullcontext(FrameTable(rows)))
    _sqlalchemy = on(SqlAlchemyExecutionEngine, sql_table)
    _spark = on(SparkDFExecutionEngine, lambda _, rows: nullcontext(SparkTable(rows)))


class MeasuredExpectation(BatchExpectation, ABC):
    """An expectation of what one measure finds; a subclass names the measure and judges it."""

    @abstractmethod
    def _judge(self, found: Any) -> Verdict:
        """Tell whether what was found passes, the figure that decided, and the details."""

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine | None = None,
    ) -> dict[str, Any]:
        (metric,) = self.metric_dependencies
        passed, observed, details = self._judge(metrics[metric])
        return {"success": passed, "result": {"observed_value": observed, "details": details}}
