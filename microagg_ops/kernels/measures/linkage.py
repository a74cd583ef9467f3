"""Record linkage: how many protected rows are as near to an original row as its own one.

A tree of boxes over the protected rows leaves out whatever is farther than the own row. The
distance to a box is summed over the columns in the order in which the distance to a row is, so
rounding cannot make a box farther than a row in it: the answer is exact, ties included. Protected
rows that are equal are one, with a count.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel

LEAF = 64
DEPTH = 64


@kernel
def squared(tree, start, stop, point, nominal, out):
    """Write the squared distances of a row to the rows ``start:stop``; categories are 1 apart."""
    count = stop - start
    for i in range(count):
        out[i] = 0.0
    for j in range(len(point)):
        column = tree[j, start:stop]
        value = point[j]
        if nominal[j]:
            for i in range(count):
                out[i] += 1.0 if column[i] != value else 0.0
        else:
            for i in range(count):
                difference = column[i] - value
                out[i] += difference * difference


@kernel
def squared_to_box(point, low, high, nominal, limit):
    """Return the squared distance of a row to a box, or something above a limit."""
    total = 0.0
    for j in range(len(point)):
        if point[j] < low[j]:
            difference = low[j] - point[j]
        elif point[j] > high[j]:
            difference = point[j] - high[j]
        else:
            continue
        if nominal[j]:
            difference = 1.0
        total += difference * difference
        if total > limit:
            return total
    return total


@kernel
def select(points, order, start, stop, middle, column):
    """Select: let the rows of ``order[start:middle]`` be the lower ones in a column."""
    low, high = start, stop - 1
    while low < high:
        pivot = points[order[(low + high) // 2], column]
        i, j = low, high
        while i <= j:
            while points[order[i], column] < pivot:
                i += 1
            while points[order[j], column] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def build(points, counts, nominal):
    """Build a k-d tree; return columns by rows and counts in its order, spans and boxes of nodes.

    The children of a node are ``child`` and ``child + 1``; a leaf has none (0).
    """
    rows, columns = points.shape
    size = max(4, 4 * rows // LEAF + 4)
    order = np.arange(rows)
    spans = np.zeros((size, 3), np.int64)
    lows = np.empty((size, columns))
    highs = np.empty((size, columns))
    spans[0, 1] = rows
    count = 1
    node = 0
    while node < count:
        start, stop = spans[node, 0], spans[node, 1]
        widest, column = 0.0, -1
        for j in range(columns):
            low = high = points[order[start], j]
            for i in range(start + 1, stop):
                value = points[order[i], j]
                low = min(low, value)
                high = max(high, value)
            lows[node, j], highs[node, j] = low, high
            width = high - low
            if nominal[j]:
                width = min(width, 1.0)
            if width > widest:
                widest, column = width, j
        if column >= 0 and stop - start > LEAF:
            middle = (start + stop) // 2
            select(points, order, start, stop, middle, column)
            spans[node, 2] = count
            spans[count, 0], spans[count, 1] = start, middle
            spans[count + 1, 0], spans[count + 1, 1] = middle, stop
            count += 2
        node += 1
    return points[order].T.copy(), counts[order], spans[:count], lows[:count], highs[:count]


@kernel
def ties(before, owns, chosen, start, stop, tree, counts, spans, lows, highs, nominal, out):
    """Count for the chosen rows ``start:stop`` how many protected rows tie with their own.

    ``owns`` is the protected rows, columns by rows. 0 where some protected row is nearer.
    """
    stack = np.empty(DEPTH, np.int64)
    bounds = np.empty(DEPTH)
    distances = np.empty(LEAF)
    for at in range(start, stop):
        point = before[chosen[at]]
        squared(owns, chosen[at], chosen[at] + 1, point, nominal, distances)
        own = distances[0]
        found = 0
        top = 1
        stack[0], bounds[0] = 0, 0.0
        while top > 0:
            top -= 1
            if bounds[top] > own:
                continue
            node = stack[top]
            first, last, child = spans[node]
            if child > 0:
                near = squared_to_box(point, lows[child], highs[child], nominal, own)
                far = squared_to_box(point, lows[child + 1], highs[child + 1], nominal, own)
                swap = far < near
                if swap:
                    near, far = far, near
                stack[top], bounds[top] = (child if swap else child + 1), far
                stack[top + 1], bounds[top + 1] = (child + 1 if swap else child), near
                top += 2
                continue
            squared(tree, first, last, point, nominal, distances)
            nearer = False
            for i in range(last - first):
                nearer = nearer or distances[i] < own
                if distances[i] == own:
                    found += counts[first + i]
            if nearer:
                found = 0
                break
        out[at] = found


@kernel
def closest(points, start, stop, tree, ids, spans, lows, highs, nominal, out):
    """Find the tree's row that is nearest to each of the rows ``start:stop``, ties to the lowest.

    The tree was built with the numbers of its rows in place of counts.
    """
    stack = np.empty(DEPTH, np.int64)
    bounds = np.empty(DEPTH)
    distances = np.empty(LEAF)
    for at in range(start, stop):
        point = points[at]
        best, found = np.inf, -1
        top = 1
        stack[0], bounds[0] = 0, 0.0
        while top > 0:
            top -= 1
            if bounds[top] > best:
                continue
            node = stack[top]
            first, last, child = spans[node]
            if child > 0:
                near = squared_to_box(point, lows[child], highs[child], nominal, best)
                far = squared_to_box(point, lows[child + 1], highs[child + 1], nominal, best)
                swap = far < near
                if swap:
                    near, far = far, near
                stack[top], bounds[top] = (child if swap else child + 1), far
                stack[top + 1], bounds[top + 1] = (child + 1 if swap else child), near
                top += 2
                continue
            squared(tree, first, last, point, nominal, distances)
            for i in range(last - first):
                row = ids[first + i]
                if distances[i] < best or (distances[i] == best and row < found):
                    best, found = distances[i], row
        out[at] = found


@kernel
def patterns(before, chosen, start, stop, after, counts, nominal, tolerance, out):
    """Count in how many pairs each pattern of agreeing columns occurs."""
    for at in range(start, stop):
        for r in range(len(after)):
            out[agreement(before[chosen[at]], after[r], nominal, tolerance)] += counts[r]


@kernel
def agreement(point, other, nominal, tolerance):
    """Return the agreement pattern of two rows: bit j is set where column j agrees."""
    pattern = 0
    for j in range(len(point)):
        close = tolerance * (not nominal[j])
        if abs(point[j] - other[j]) <= close:
            pattern |= 1 << j
    return pattern


@kernel
def weight_ties(
    before, chosen, start, stop, after, counts, own_rows, nominal, tolerance, weights, out
):
    """Count for each chosen row how many protected rows weigh as much as its own one.

    0 where some protected row weighs more.
    """
    for at in range(start, stop):
        point = before[chosen[at]]
        own = weights[agreement(point, after[own_rows[chosen[at]]], nominal, tolerance)]
        found = 0
        for r in range(len(after)):
            weight = weights[agreement(point, after[r], nominal, tolerance)]
            if weight > own:
                found = 0
                break
            if weight == own:
                found += counts[r]
        out[at] = found
