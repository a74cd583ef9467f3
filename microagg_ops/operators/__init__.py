"""Airflow operators: one per stage, and one that cleans up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.lazily import loaded_on_use

if TYPE_CHECKING:
    from microagg_ops.operators.aggregate import MicroaggAggregateOperator
    from microagg_ops.operators.approve import MicroaggApproveOperator
    from microagg_ops.operators.cleanup import MicroaggCleanupOperator
    from microagg_ops.operators.extract import MicroaggExtractOperator
    from microagg_ops.operators.group import MicroaggGroupOperator
    from microagg_ops.operators.publish import MicroaggPublishOperator
    from microagg_ops.operators.report import MicroaggReportOperator
    from microagg_ops.operators.standardize import MicroaggStandardizeOperator
    from microagg_ops.operators.validate import MicroaggValidateOperator

__all__ = [
    "MicroaggAggregateOperator",
    "MicroaggApproveOperator",
    "MicroaggCleanupOperator",
    "MicroaggExtractOperator",
    "MicroaggGroupOperator",
    "MicroaggPublishOperator",
    "MicroaggReportOperator",
    "MicroaggStandardizeOperator",
    "MicroaggValidateOperator",
]

__getattr__, __dir__ = loaded_on_use(
    globals(),
    {
        "MicroaggAggregateOperator": "aggregate",
        "MicroaggApproveOperator": "approve",
        "MicroaggCleanupOperator": "cleanup",
        "MicroaggExtractOperator": "extract",
        "MicroaggGroupOperator": "group",
        "MicroaggPublishOperator": "publish",
        "MicroaggReportOperator": "report",
        "MicroaggStandardizeOperator": "standardize",
        "MicroaggValidateOperator": "validate",
    },
)
