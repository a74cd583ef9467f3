"""The best clusters of one sorted column: a shortest path over clusters of k to 2k - 1 values."""

from __future__ import annotations

from microagg_ops.kernels import kernel


@kernel
def extend(values, k, cost, back, start, stop):
    """Find the least SSE of the first ``start`` to ``stop - 1`` values.

    ``cost[i]`` is that of the first i values and ``back[i]`` where their last cluster begins. The
    spread of a cluster is kept up to date while values join it, so that it keeps its digits
    whatever the values' size. Of equals the shorter last cluster counts.
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
