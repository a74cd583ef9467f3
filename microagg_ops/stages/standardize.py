"""Standardize: make quasi-identifiers comparable before distances are measured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import to_parquet
from microagg_ops.columns import encode
from microagg_ops.errors import DataError
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def standardize(run: Run) -> dict[str, Any]:
    """Turn the quasi-identifiers into columns of comparable numbers."""
    import pyarrow as pa

    table, method = run.table("extract", "table"), run.release.standardize.method
    scales: dict[str, tuple[float, float]] = {}
    columns: dict[str, NDArray[np.float64]] = {}
    warnings = []
    for name, how in run.release.columns.quasi.items():
        values = encode(name, how.type, table[name])
        if values.min() == values.max():
            warnings.append(f"Quasi-identifier {name!r} is constant.")
        centre, scale = scales[name] = centre_and_scale(name, values, method)
        columns[name] = (values - centre) / scale
    # The scales may be cell values (a minimum, a median): they stay in staging.
    files = {
        "matrix.parquet": to_parquet(pa.table(columns)),
        "scales.json": json.dumps(scales).encode(),
    }
    summary = {"method": method, "columns": len(columns), "warnings": warnings}
    run.staging.put("standardize", files, summary)
    return summary


def centre_and_scale(name: str, values: NDArray[np.float64], method: str) -> tuple[float, float]:
    """Give what to subtract and what to divide by; a column without spread is only centred."""
    import numpy as np

    if method == "none":
        return 0.0, 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "zscore":
            centre, scale = values.mean(), values.std()
        elif method == "minmax":
            centre, scale = values.min(), values.max() - values.min()
        elif method == "robust":
            low, centre, high = np.quantile(values, [0.25, 0.5, 0.75])
            # Where half of a column is one value, the quartiles cannot scale it.
            scale = high - low or values.std()
        else:
            raise ValueError(method)
    if not np.isfinite(scale) or not np.isfinite(centre):
        raise DataError(
            f"Quasi-identifier {name!r} has values too large to be standardized.",
            code="too_large",
            hint="Rescale the column in a view.",
        )
    return float(centre), float(scale) or 1.0
