"""Great Expectations expectations, one file each, importable from here by their names.

They count in pandas, in PostgreSQL and DuckDB, and in Spark; what they give is a figure, never a
value of a row. Importing this package loads Great Expectations only when a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microagg_ops.expectations.column_total import ExpectColumnTotalToBePreserved
    from microagg_ops.expectations.information_loss import ExpectInformationLossToBeAtMost
    from microagg_ops.expectations.k_anonymous import ExpectTableToBeKAnonymous
    from microagg_ops.expectations.l_diverse import ExpectTableToBeLDiverse
    from microagg_ops.expectations.linkage import ExpectLinkageToBeAtMost
    from microagg_ops.expectations.schema import ExpectTableSchemaToBeAsDeclared
    from microagg_ops.expectations.t_close import ExpectTableToBeTClose

_WHERE = {
    "ExpectColumnTotalToBePreserved": "column_total",
    "ExpectInformationLossToBeAtMost": "information_loss",
    "ExpectLinkageToBeAtMost": "linkage",
    "ExpectTableSchemaToBeAsDeclared": "schema",
    "ExpectTableToBeKAnonymous": "k_anonymous",
    "ExpectTableToBeLDiverse": "l_diverse",
    "ExpectTableToBeTClose": "t_close",
}

__all__ = [
    "ExpectColumnTotalToBePreserved",
    "ExpectInformationLossToBeAtMost",
    "ExpectLinkageToBeAtMost",
    "ExpectTableSchemaToBeAsDeclared",
    "ExpectTableToBeKAnonymous",
    "ExpectTableToBeLDiverse",
    "ExpectTableToBeTClose",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
