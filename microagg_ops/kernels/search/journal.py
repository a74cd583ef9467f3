"""The journal of a trial: what was moved, and which clusters that touched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.search.partition import cost_of_joining, gain_of_leaving, join, leave

# The most steps of a trial, or of each k where that is more: one cluster is founded, others go.
STEPS, STEPS_PER_K = 2000, 8


class Scratch(NamedTuple):
    """The journal of a trial, the chains under construction, and what is cached of clusters."""

    journal: np.ndarray  # (steps, 2) int64: a row and the cluster that it left
    journal_size: np.ndarray  # (1,) int64
    dirty: np.ndarray  # (2 steps + 1,) int64: clusters to settle
    dirty_size: np.ndarray  # (1,) int64
    marks: np.ndarray  # (clusters,) bool: is among ``dirty``
    chains: np.ndarray  # (length, width, length + 1) int64: a beam of chains of each length
    costs: np.ndarray  # (length, width) float64
    best: np.ndarray  # (length + 1,) int64: the rows of the best chain
    best_size: np.ndarray  # (1,) int64: their number, 0 where there is none
    best_goal: np.ndarray  # (1,) int64: the cluster that its last row joins; -1: that of the first
    radii: np.ndarray  # (rows,) float64: squared distances to the centroids of fresh clusters
    fresh: np.ndarray  # (clusters,) bool
    distances: np.ndarray  # (rows, rows) float64, squared; or (0, 0) where rows are many
    seen: np.ndarray  # (clusters,) int64: the epoch in which a cluster was last met
    epoch: np.ndarray  # (1,) int64


class Guide(NamedTuple):
    """Another partition, whose clusters may be taken over, as in path relinking."""

    labels: np.ndarray  # (rows,) int32, or (0,) for none
    members: np.ndarray  # (clusters, 4 k) int32
    sizes: np.ndarray  # (clusters,) int64


def make_scratch(
    clusters: int, length: int, width: int, distances: np.ndarray, rows: int, k: int
) -> Scratch:
    """Allocate scratch space for a beam of ``width`` chains of up to ``length`` rows."""
    steps = max(STEPS, STEPS_PER_K * k)
    return Scratch(
        journal=np.zeros((steps, 2), np.int64),
        journal_size=np.zeros(1, np.int64),
        dirty=np.zeros(2 * steps + 1, np.int64),
        dirty_size=np.zeros(1, np.int64),
        marks=np.zeros(clusters, np.bool_),
        chains=np.zeros((length, width, length + 1), np.int64),
        costs=np.zeros((length, width)),
        best=np.zeros(length + 1, np.int64),
        best_size=np.zeros(1, np.int64),
        best_goal=np.zeros(1, np.int64),
        radii=np.zeros(rows),
        fresh=np.zeros(clusters, np.bool_),
        distances=distances,
        seen=np.zeros(clusters, np.int64),
        epoch=np.zeros(1, np.int64),
    )


@inlined
def move(parts, scratch, row, there):
    """Move a row to a cluster, log it, and mark both clusters dirty; return the change of SSE."""
    points, labels, members, place, sizes, sums, _ = parts
    journal, dirty, marks = scratch.journal, scratch.dirty, scratch.marks
    steps, dirty_size = scratch.journal_size, scratch.dirty_size
    here = np.int64(labels[row])
    change = 0.0
    if sizes[here] > 1:
        change -= gain_of_leaving(points, row, sums, sizes, here)
    if sizes[there] > 0:
        change += cost_of_joining(points, row, sums, sizes, there)
    leave(points, members, place, sizes, sums, row, here)
    join(points, labels, members, place, sizes, sums, row, there)
    journal[steps[0], 0], journal[steps[0], 1] = row, here
    steps[0] += 1
    for cluster in (here, np.int64(there)):
        scratch.fresh[cluster] = False
        if not marks[cluster]:
            marks[cluster] = True
            dirty[dirty_size[0]] = cluster
            dirty_size[0] += 1
    return change


@kernel
def roll_back(parts, scratch):
    """Undo all steps of the journal, the last first."""
    points, labels, members, place, sizes, sums, _ = parts
    journal, fresh = scratch.journal, scratch.fresh
    for i in range(scratch.journal_size[0] - 1, -1, -1):
        row = journal[i, 0]
        fresh[labels[row]] = fresh[journal[i, 1]] = False
        leave(points, members, place, sizes, sums, row, labels[row])
        join(points, labels, members, place, sizes, sums, row, journal[i, 1])
