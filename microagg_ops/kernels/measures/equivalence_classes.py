"""Equivalence classes: equal rows, found by hashing one column after the other."""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def refine(ids, keys, start, stop, slots, firsts, out, count):
    """Split classes by a column: number each pair of class and key as it first appears.

    ``slots`` is a hash table of new classes (-1 where empty, its length a power of two) and
    ``firsts`` the first row of each. Only rows ``start:stop`` are read. Return the new count.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(start, stop):
        mixed = np.uint64(keys[i]) ^ (np.uint64(ids[i]) * np.uint64(0x9E3779B97F4A7C15))
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        at = (mixed ^ (mixed >> np.uint64(32))) & mask
        while True:
            found = slots[at]
            if found < 0:
                slots[at] = count
                firsts[count] = i
                out[i] = count
                count += 1
                break
            first = firsts[found]
            if ids[first] == ids[i] and keys[first] == keys[i]:
                out[i] = found
                break
            at = (at + np.uint64(1)) & mask
    return count


@kernel
def distinct(points, slots, firsts, ids):
    """Write the number of each distinct row, in order of first appearance; return their count."""
    mask = np.uint64(len(slots) - 1)
    count = 0
    for i in range(len(points)):
        mixed = np.uint64(0)
        for j in range(points.shape[1]):
            mixed = (mixed ^ np.uint64(points[i, j])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        at = mixed & mask
        while True:
            found = slots[at]
            if found < 0:
                slots[at] = count
                firsts[count] = i
                ids[i] = count
                count += 1
                break
            same = True
            for j in range(points.shape[1]):
                if points[firsts[found], j] != points[i, j]:
                    same = False
                    break
            if same:
                ids[i] = found
                break
            at = (at + np.uint64(1)) & mask
    return count
