"""How much work a budget buys `best`: by a fixed model of cost, not by the clock.

The same call then does the same work, and finds the same labels, on any machine: fast or slow,
loaded or idle, with one core or two, and with kernels yet to be compiled or not. The constants were
fitted to processor time on a machine with two cores; docs/algorithms/search.md has the formulas.
"""

from __future__ import annotations

from math import log2, sqrt

# The clock ends a search only after this many times its budget: on a machine that is far slower.
GUARD = 3.0
# Rows at which constants were fitted: the square root of their number says how much of a move waits
# for memory.
FITTED = 20_000
# Nanoseconds before the first iteration, for each row and column or neighbour, and for dividing a
# row between regions in each iteration.
SETTING_UP, DIVIDING = 800.0, 60.0


def iterations_within(
    budget: float, shape: tuple[int, int], k: int, work: tuple[int, int], large: bool
) -> int:
    """Return the number of iterations that take about a budget of seconds, MDAV included.

    Parameters
    ----------
    budget
        Seconds.
    shape
        Rows and columns.
    k
        The least size of a cluster.
    work
        Moves, and looks, of one iteration in one region.
    large
        Whether a move tries all rows of a cluster, in single precision.
    """
    (rows, columns), (moves, looks) = shape, work
    # The number leaves with the manifest: it must not tell how many entities a stratum has.
    rows = int(2 ** round(log2(rows)))
    memory = min(2.0, sqrt(rows / FITTED))
    move = 25 + memory * (40 + 2 * columns + 5 * k + columns * k / 5)
    look = 15 + columns / 2 + memory * (15 + 2 * columns)
    # The share of iterations that anneal: on the course that anneals less, since looks cost more.
    share = 0.65 if large else min(0.6, 0.07 * k)
    each = share * moves * move + (1 - share) * looks * look + DIVIDING * rows
    begin = SETTING_UP * rows * (columns + k)
    return max(0, round((budget * 1e9 - begin) / each))
