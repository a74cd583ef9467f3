"""Optimal clusters of one sorted column: a shortest path over runs of k to 2k - 1 values.

Hansen and Mukherjee, 2003, doi:10.1109/TKDE.2003.1209020.
"""

from __future__ import annotations

from microagg_ops.kernels import kernel


@kernel
def extend(values, k, cost, back, start, stop):
    """Extend the dynamic program over prefixes of ``start`` to ``stop - 1`` values.

    ``cost`` (n + 1,) float64 holds the least SSE of each prefix, ``back`` (n + 1,) int64 where its
    last cluster begins. The SSE of a cluster is updated by Welford's method, which keeps its digits
    whatever the magnitude of the values. Ties go to the shorter last cluster.
    """
    for i in range(start, stop):
        mean = 0.0
        spread = 0.0
        for size in range(1, min(i, 2 * k - 1) + 1):
            value = values[i - size]
            difference = value - mean
            mean += difference / size
            spread += difference * (value - mean)
            if size >= k and cost[i - size] + spread < cost[i]:
                cost[i] = cost[i - size] + spread
                back[i] = i - size
