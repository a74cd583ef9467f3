"""Tables that the property tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

# Running totals are kept in two doubles, 106 bits: beside terms of 1e6, terms below 1e-12 with 24
# bits of their own would be rounded away, and with them which of two orders is the definition's.
LEAST = 1e-12


@st.composite
def tables(
    draw: st.DrawFn, columns: int | None = None, most_rows: int = 40
) -> tuple[np.ndarray, int]:
    """A table and a k that it can bear: few distinct values make ties, floats make none."""
    k = draw(st.integers(2, 6))
    rows = draw(st.integers(k, most_rows))
    values = draw(
        st.sampled_from(
            [
                st.integers(0, 3).map(float),
                st.integers(-2, 2).map(lambda v: v / 4),
                st.floats(-1e6, 1e6, allow_nan=False, width=32).map(not_too_small),
            ]
        )
    )
    shape = (rows, columns or draw(st.integers(1, 4)))
    return draw(arrays(np.float64, shape, elements=values)), k


def not_too_small(value: float) -> float:
    return value if abs(value) >= LEAST else 0.0
