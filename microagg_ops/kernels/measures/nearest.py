"""The nearest neighbour of some points among all, by a sweep along the first column."""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def nearest(points, rows, places, start, stop, out):
    """Find the nearest other point of the places ``start:stop``; ties go to the lower row.

    Parameters
    ----------
    points
        Points by columns, sorted by the first column: what is farther off in it ends a search.
    rows
        The row of each point.
    places
        The points to find a neighbour of.
    out
        Their neighbours, as rows; it is written.
    """
    for c in range(start, stop):
        at = places[c]
        best, who = np.inf, -1
        for way in (-1, 1):
            i = at + way
            while 0 <= i < len(points):
                gap = points[i, 0] - points[at, 0]
                if gap * gap > best:
                    break
                away = 0.0
                for j in range(points.shape[1]):
                    apart = points[i, j] - points[at, j]
                    away += apart * apart
                    if away > best:
                        break
                if away < best or (away == best and (who < 0 or rows[i] < who)):
                    best, who = away, rows[i]
                i += way
        out[c] = who
