"""Maximum bipartite matching of values to holders, by augmenting paths."""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def match(starts, holders, first, last, whose, given, came, seen, queue):
    """Match each of the values ``first:last`` to a holder of its own, where that can be.

    Parameters
    ----------
    starts, holders
        The holders of value i are ``holders[starts[i]:starts[i + 1]]``.
    whose, given
        Value to holder and holder to value, -1 for none; both are written.
    came, seen, queue
        Scratch, int64: as long as there are holders, holders and values. ``seen`` starts at -1.
        Whom a search in vain has seen no later search can free, so those stay marked.
    """
    dead = np.iinfo(np.int64).max
    for value in range(first, last):
        queue[0] = value
        begin, end, free = 0, 1, -1
        while begin < end and free < 0:
            at = queue[begin]
            begin += 1
            for j in range(starts[at], starts[at + 1]):
                holder = holders[j]
                if seen[holder] == value or seen[holder] == dead:
                    continue
                seen[holder] = value
                came[holder] = at
                if given[holder] < 0:
                    free = holder
                    break
                queue[end] = given[holder]
                end += 1
        if free < 0:
            for i in range(1, end):
                seen[whose[queue[i]]] = dead
        while free >= 0:  # each value on the way takes the new holder and leaves its old one
            at = came[free]
            left = whose[at]
            whose[at], given[free] = free, at
            free = left
