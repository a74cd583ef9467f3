"""Standardize: make quasi-identifiers comparable, and prepare the rows for all later stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import Encoded, read, refuse_null
from microagg_ops.columns.space import NO_SCALE, Scale, is_nominal
from microagg_ops.engines.base import Engine
from microagg_ops.engines.local import LOCAL
from microagg_ops.errors import DataError
from microagg_ops.release.model import Release
from microagg_ops.stages.artefacts import Extracted, Prepared
from microagg_ops.stages.microdata import prepare
from microagg_ops.stages.run import Run

# Outside of these the squares that losses, risks and utility are made of overflow or vanish.
LARGEST, LEAST = 1e140, 1e-140

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def standardize(run: Run) -> dict[str, Any]:
    """Turn the quasi-identifiers into comparable numbers, settle strata and impute NULLs."""
    source = Extracted.of(run).rows
    encoded, scales, summary = comparable(run.release, source, run.engine)
    rows = prepare(run.release, source, encoded, scales, run.engine)
    rows.points  # noqa: B018 - too many categories: found out before the search
    Prepared.write(run, rows, summary)
    return summary


def comparable(
    release: Release, source: pa.Table, engine: Engine[Any] = LOCAL
) -> tuple[dict[str, Encoded], dict[str, Scale], dict[str, Any]]:
    """Read the quasi-identifiers as numbers; find their scales, and what there is to tell."""
    method = release.standardize.method
    encoded: dict[str, Encoded] = {}
    scales: dict[str, Scale] = {}
    warnings = []
    for name, how in release.columns.quasi.items():
        column = encoded[name] = read(name, how, source[name])
        there = column.codes[~column.missing] * column.unit
        if len(there):
            ends = engine.moments(there)
        if release.nulls == "reject" or (release.nulls == "impute" and not len(there)):
            refuse_null(column)
        if not len(there) or ends.least == ends.largest:
            warnings.append(f"Quasi-identifier {name!r} is {'constant' if len(there) else 'NULL'}.")
        plain = is_nominal(column) or not len(there)
        scales[name] = NO_SCALE if plain else centre_and_scale(name, there, method, engine)
    return encoded, scales, {"method": method, "columns": len(encoded), "warnings": warnings}


def centre_and_scale(
    name: str, values: NDArray[np.float64], method: str, engine: Engine[Any] = LOCAL
) -> tuple[float, float]:
    """Return what to subtract and what to divide by; a column without spread is only centred."""
    found = engine.moments(values)
    check_magnitude(name, max(found.largest, -found.least), found.largest - found.least)
    if method == "none":
        return 0.0, 1.0
    if found.least == found.largest:  # a mean of equal values is off by a rounding: no spread
        return found.least, 1.0
    if method == "zscore":
        centre, scale = found.mean, found.deviation
    elif method == "minmax":
        centre, scale = found.least, found.largest - found.least
    elif method == "robust":
        low, centre, high = engine.quantiles(values, (0.25, 0.5, 0.75))
        # Where half of a column is one value, the quartiles cannot scale it.
        scale = high - low or found.deviation
    else:
        raise ValueError(method)
    return centre, scale or 1.0


def check_magnitude(name: str, largest: float, spread: float) -> None:
    """Refuse values whose squares overflow, or whose differences vanish when they are squared."""
    small = largest <= LARGEST
    if small and (spread == 0.0 or spread >= LEAST):
        return
    raise DataError(
        f"Quasi-identifier {name!r} has values too {'close' if small else 'large'} to be measured "
        f"({f'all within {LEAST:.0e}' if small else f'above {LARGEST:.0e}'}).",
        code="too_close" if small else "too_large",
        hint="Rescale the column in a view.",
    )
