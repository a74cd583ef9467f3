"""Great Expectations expectations, one file each, importable from here by their names.

They count in pandas, in PostgreSQL and DuckDB, and in Spark; what they give is a figure, never a
value of a row. Importing this package loads Great Expectations only when a name is used.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from microagg_ops.lazily import loaded_on_use

if TYPE_CHECKING:
    from microagg_ops.expectations.column_total import ExpectColumnTotalToBePreserved
    from microagg_ops.expectations.history_k import ExpectLedgerToKeepHistoryK
    from microagg_ops.expectations.information_loss import ExpectInformationLossToBeAtMost
    from microagg_ops.expectations.k_anonymous import ExpectTableToBeKAnonymous
    from microagg_ops.expectations.l_diverse import ExpectTableToBeLDiverse
    from microagg_ops.expectations.linkage import ExpectLinkageToBeAtMost
    from microagg_ops.expectations.schema import ExpectTableSchemaToBeAsDeclared
    from microagg_ops.expectations.t_close import ExpectTableToBeTClose

__all__ = [
    "ExpectColumnTotalToBePreserved",
    "ExpectInformationLossToBeAtMost",
    "ExpectLedgerToKeepHistoryK",
    "ExpectLinkageToBeAtMost",
    "ExpectTableSchemaToBeAsDeclared",
    "ExpectTableToBeKAnonymous",
    "ExpectTableToBeLDiverse",
    "ExpectTableToBeTClose",
]

# While it is loaded, Great Expectations tells two hundred lines of its own machinery.
if logging.getLogger("great_expectations").level == logging.NOTSET:
    logging.getLogger("great_expectations").setLevel(logging.WARNING)

__getattr__, __dir__ = loaded_on_use(
    globals(),
    {
        "ExpectColumnTotalToBePreserved": "column_total",
        "ExpectInformationLossToBeAtMost": "information_loss",
        "ExpectLedgerToKeepHistoryK": "history_k",
        "ExpectLinkageToBeAtMost": "linkage",
        "ExpectTableSchemaToBeAsDeclared": "schema",
        "ExpectTableToBeKAnonymous": "k_anonymous",
        "ExpectTableToBeLDiverse": "l_diverse",
        "ExpectTableToBeTClose": "t_close",
    },
)
