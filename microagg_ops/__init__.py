"""k-anonymous tables that flow out of a data warehouse on a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from microagg_ops.errors import MicroaggError
    from microagg_ops.frame import Microaggregated, microaggregate
    from microagg_ops.methods.partition import partition
    from microagg_ops.pipeline import Published, run_release
    from microagg_ops.release import Release, check_release, load_release

# A DAG processor imports this package for nothing but its task group: everything loads on use.
_WHERE = {
    "MicroaggError": "errors",
    "Microaggregated": "frame",
    "Published": "pipeline",
    "Release": "release",
    "check_release": "release",
    "load_release": "release",
    "microaggregate": "frame",
    "partition": "methods.partition",
    "run_release": "pipeline",
}

__all__ = [
    "MicroaggError",
    "Microaggregated",
    "Published",
    "Release",
    "check_release",
    "load_release",
    "microaggregate",
    "partition",
    "run_release",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"microagg_ops.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
