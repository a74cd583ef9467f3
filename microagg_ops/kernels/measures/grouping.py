"""Links that are certain, for the fitness of a grouping: counted with an early exit."""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def certain_links(before, after, rows, own, places, along, slack, start, stop, limit):
    """Count rows whose own protected row alone is nearest, among ``rows[start:stop]``.

    ``after`` holds each different protected row once, sorted by its place ``along`` an axis, and
    ``own`` says which is that of a row. A search goes outwards from the row's own place on that
    axis. It ends with the first protected row that is as near as the own one, or where the places
    alone, give or take the slack of rounding, are farther apart. Return the links, and the row to
    continue with when ``limit`` comparisons are done.
    """
    columns = before.shape[1]
    count = len(after)
    links = 0
    work = 0
    at = start
    while at < stop and work < limit:
        row = rows[at]
        reach = 0.0
        for j in range(columns):
            difference = after[own[row], j] - before[row, j]
            reach += difference * difference
        most = np.sqrt(reach) + slack
        place = places[row]
        high = np.searchsorted(along, place)
        low = high - 1
        alone = True
        while alone:
            up = along[high] - place if high < count else np.inf
            down = place - along[low] if low >= 0 else np.inf
            if min(up, down) > most:
                break
            if up <= down:
                other = high
                high += 1
            else:
                other = low
                low -= 1
            if other == own[row]:
                continue
            total = 0.0
            for j in range(columns):
                difference = after[other, j] - before[row, j]
                total += difference * difference
                if total > reach:
                    break
            work += 1
            alone = total > reach
        links += alone
        at += 1
    return links, at


@kernel
def joint_classes(labels, slots, ids, firsts):
    """Write the class of rows with equal labels in all groups, by first row; return the count."""
    groups, rows = labels.shape
    count = 0
    for i in range(rows):
        mixed = np.uint64(0)
        for g in range(groups):
            mixed = (mixed ^ np.uint64(labels[g, i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        at = np.int64(mixed & np.uint64(len(slots) - 1))
        while True:
            found = slots[at]
            if found < 0:
                slots[at] = ids[i] = count
                firsts[count] = i
                count += 1
                break
            same = True
            for g in range(groups):
                if labels[g, firsts[found]] != labels[g, i]:
                    same = False
                    break
            if same:
                ids[i] = found
                break
            at = (at + 1) & (len(slots) - 1)
    return count
