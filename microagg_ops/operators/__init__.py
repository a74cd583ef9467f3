"""Airflow operators: one per stage, and one that cleans up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    stage = name.removeprefix("Microagg").removesuffix("Operator").lower()
    return getattr(import_module(f"microagg_ops.operators.{stage}"), name)
