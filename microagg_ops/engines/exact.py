"""Sums without any rounding, in parts that add up in every order.

A double is a whole number of 53 bits times a power of two. So a sum is a whole number for each
power, and what partitions found is added as whole numbers: the same total, however rows are spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BITS, LOW = 53, 26
#: Power of two to whole number; text to be a key of JSON.
Parts = dict[str, int]


def parts_of(values: NDArray[np.float64]) -> Parts:
    """Sum finite numbers up, exactly."""
    import numpy as np

    mantissas, powers = np.frexp(values)
    order = np.argsort(powers, kind="stable")
    whole, powers = np.ldexp(mantissas, BITS).astype(np.int64)[order], powers[order]
    firsts = np.flatnonzero(np.diff(powers, prepend=powers[0] - 1)) if len(powers) else powers
    if not len(firsts):
        return {}
    # Halves, so that two thousand million of them add up in 64 bits.
    high = np.add.reduceat(whole >> LOW, firsts)
    low = np.add.reduceat(whole & ((1 << LOW) - 1), firsts)
    return {
        str(int(power)): (int(one) << LOW) + int(other)
        for power, one, other in zip(powers[firsts], high, low, strict=True)
    }


def added(found: Iterable[Mapping[str, int]]) -> Parts:
    """Add sums up."""
    total: Parts = {}
    for parts in found:
        for power, whole in parts.items():
            total[power] = total.get(power, 0) + whole
    return total


def total(parts: Mapping[str, int]) -> Fraction:
    """Return a sum as a fraction."""
    found = Fraction(0)
    for power, whole in parts.items():
        found += whole * Fraction(2) ** (int(power) - BITS)
    return found
