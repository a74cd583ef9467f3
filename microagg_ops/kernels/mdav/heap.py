"""Max-heaps of the k best candidates, the worst on top."""

from __future__ import annotations

from microagg_ops.kernels import lean


@lean
def worse(distance, row, other_distance, other_row):
    """Return whether a candidate ranks behind another: farther, or as far with a higher row."""
    return distance > other_distance or (distance == other_distance and row > other_row)


@lean
def replace_worst(distances, rows, points, k, distance, row, point):
    """Replace the worst of k candidates by another; keep the heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and worse(
            distances[child + 1], rows[child + 1], distances[child], rows[child]
        ):
            child += 1
        if not worse(distances[child], rows[child], distance, row):
            break
        distances[at], rows[at], points[at] = distances[child], rows[child], points[child]
        at = child
    distances[at], rows[at], points[at] = distance, row, point


@lean
def sort_found(distances, rows, points, count):
    """Heapsort candidates, the nearest first."""
    for size in range(count - 1, 0, -1):
        away, row = distances[0], rows[0]
        replace_worst(distances, rows, points, size, distances[size], rows[size], points[size])
        distances[size], rows[size] = away, row


@lean
def lower_worst(values, k, value):
    """Replace the largest of k values by a smaller one; keep the heap; return the largest."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[at] = values[child]
        at = child
    values[at] = value
    return values[0]
