"""Standardize: make quasi-identifiers comparable before distances are measured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import to_parquet
from microagg_ops.columns.coded import read, refuse_null
from microagg_ops.columns.space import NO_SCALE, Scale, as_column, is_nominal, points
from microagg_ops.errors import DataError
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def standardize(run: Run) -> dict[str, Any]:
    """Turn the quasi-identifiers into columns of comparable numbers."""
    import pyarrow as pa

    table, method = run.table("extract", "table"), run.release.standardize.method
    scales: dict[str, Scale] = {}
    columns: dict[str, pa.Array] = {}
    warnings = []
    for name, how in run.release.columns.quasi.items():
        coded = read(name, how, table[name])
        there = coded.codes[~coded.missing] * coded.unit
        if run.release.nulls == "reject" or (run.release.nulls == "impute" and not len(there)):
            refuse_null(coded)
        if len(there) == 0 or there.min() == there.max():
            warnings.append(f"Quasi-identifier {name!r} is {'constant' if len(there) else 'NULL'}.")
        plain = is_nominal(coded) or not len(there)
        scales[name] = NO_SCALE if plain else centre_and_scale(name, there, method)
        columns[name] = as_column(points(coded, scales[name]))
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
