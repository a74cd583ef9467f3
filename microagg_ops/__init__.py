"""k-anonymous tables that flow out of a data warehouse on a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.lazily import loaded_on_use

__version__ = "0.2.0"

if TYPE_CHECKING:
    from microagg_ops.errors import MicroaggError
    from microagg_ops.frame import microaggregate
    from microagg_ops.methods.bound import lower_bound
    from microagg_ops.methods.partition import partition
    from microagg_ops.pipeline import Published, run_release
    from microagg_ops.release.document import check_release, load_release
    from microagg_ops.release.model import Release
    from microagg_ops.result import Microaggregated

__all__ = [
    "MicroaggError",
    "Microaggregated",
    "Published",
    "Release",
    "check_release",
    "load_release",
    "lower_bound",
    "microaggregate",
    "partition",
    "run_release",
]

# A DAG processor imports this package for nothing but its task group: everything loads on use.
__getattr__, __dir__ = loaded_on_use(
    globals(),
    {
        "MicroaggError": "errors",
        "Microaggregated": "result",
        "Published": "pipeline",
        "Release": "release",
        "check_release": "release",
        "load_release": "release",
        "lower_bound": "methods.bound",
        "microaggregate": "frame",
        "partition": "methods.partition",
        "run_release": "pipeline",
    },
)
