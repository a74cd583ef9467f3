"""Slow, obvious versions of what the package does fast."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    """Squared distance, summed over the columns in their order."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) * (x - y)
    return total


def centroid(points: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each column, its sum rounded once."""
    return [math.fsum(column) / len(points) for column in zip(*points, strict=True)]


def mdav(X: np.ndarray, k: int) -> list[int]:
    """MDAV by its definition; of equals the lowest row counts."""
    points = X.tolist()
    left = list(range(len(points)))
    clusters: list[list[int]] = []
    while len(left) >= 2 * k:
        centre = centroid([points[i] for i in left])
        for _ in range(2):
            row = max(left, key=lambda i: (distance(points[i], centre), -i))
            centre = points[row]
            near = sorted(left, key=lambda i: (distance(points[i], centre), i))[:k]
            clusters.append(near)
            left = [i for i in left if i not in set(near)]
    return labels_of(with_the_rest(clusters, left, points, k), len(points))


def with_the_rest(
    clusters: list[list[int]], left: list[int], points: list[list[float]], k: int
) -> list[list[int]]:
    """Rows that are left: a cluster if they are k, else each to the nearest centroid."""
    if len(left) >= k:
        return [*clusters, left]
    centres = [centroid([points[i] for i in cluster]) for cluster in clusters]
    for i in left:
        nearest = min(range(len(centres)), key=lambda g: (distance(points[i], centres[g]), g))
        clusters[nearest].append(i)
    return clusters


def vmdav(X: np.ndarray, k: int, gain: float) -> list[int]:
    """V-MDAV by its definition; of equals the lowest row counts."""
    points = X.tolist()
    left = list(range(len(points)))
    clusters: list[list[int]] = []
    centre = centroid(points)
    while len(left) >= 2 * k:
        row = max(left, key=lambda i: (distance(points[i], centre), -i))
        cluster = sorted(left, key=lambda i: (distance(points[i], points[row]), i))[:k]
        left = [i for i in left if i not in cluster]
        while left and len(cluster) < 2 * k - 1:
            inside, row = min(
                (min(distance(points[i], points[m]) for m in cluster), i) for i in left
            )
            others = [distance(points[i], points[row]) for i in left if i != row]
            if gain == 0 or not inside < gain**2 * min(others, default=math.inf):
                break
            cluster.append(row)
            left.remove(row)
        clusters.append(cluster)
    return labels_of(with_the_rest(clusters, left, points, k), len(points))


def least_sse(values: Sequence[float], k: int) -> Fraction:
    """The least SSE of any partition of one column, by trying every one, in exact arithmetic."""
    exact = [Fraction(float(value)) for value in values]

    def spread(chosen: Sequence[Fraction]) -> Fraction:
        mean = sum(chosen) / len(chosen)
        return sum(((value - mean) ** 2 for value in chosen), Fraction(0))

    def best(left: tuple[int, ...]) -> Fraction:
        found = spread([exact[i] for i in left])  # all in one
        for size in range(k, len(left) - k + 1):
            for others in itertools.combinations(left[1:], size - 1):
                cluster = (left[0], *others)
                rest = tuple(i for i in left if i not in cluster)
                found = min(found, spread([exact[i] for i in cluster]) + best(rest))
        return found

    return best(tuple(range(len(exact))))


def least_sse_of_runs(values: Sequence[float], k: int) -> float:
    """The least SSE of any partition of one column into runs of its sorted values."""
    ordered = np.sort(np.asarray(values, float))
    least = [0.0] + [math.inf] * len(ordered)
    for stop in range(k, len(ordered) + 1):
        for start in range(stop - k + 1):
            run = ordered[start:stop]
            least[stop] = min(least[stop], least[start] + float(((run - run.mean()) ** 2).sum()))
    return least[-1]


def labels_of(clusters: Sequence[Sequence[int]], rows: int) -> list[int]:
    """Number clusters in the order in which they first appear."""
    cluster_of = {row: g for g, cluster in enumerate(clusters) for row in cluster}
    seen: dict[int, int] = {}
    return [seen.setdefault(cluster_of[row], len(seen)) for row in range(rows)]


def information_loss(before: np.ndarray, after: np.ndarray) -> float:
    """100 SSE/SST, in exact arithmetic."""
    lost = spread = Fraction(0)
    for j in range(before.shape[1]):
        column = [Fraction(float(v)) for v in before[:, j]]
        mean = sum(column) / len(column)
        spread += sum((v - mean) ** 2 for v in column)
        lost += sum((v - Fraction(float(w))) ** 2 for v, w in zip(column, after[:, j], strict=True))
    return float(100 * lost / spread) if spread else 0.0


def class_sizes(
    rows: Sequence[Sequence[Hashable]], entities: Sequence[Hashable] | None = None
) -> list[int]:
    """How many entities (or rows) share each combination, smallest first."""
    members: dict[tuple[Hashable, ...], list[Hashable]] = {}
    for i, row in enumerate(rows):
        members.setdefault(tuple(row), []).append(i if entities is None else entities[i])
    return sorted(len(set(found)) for found in members.values())


def xoshiro(seed: int, stream: int) -> Iterator[int]:
    """xoshiro256++ seeded by splitmix64, on Python's whole numbers."""
    mask = 2**64 - 1
    x = (seed + stream * 0xD1342543DE82EF95) & mask
    s = []
    for _ in range(4):
        x = (x + 0x9E3779B97F4A7C15) & mask
        z = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        s.append(z ^ (z >> 31))

    def rotated(value: int, by: int) -> int:
        return ((value << by) | (value >> (64 - by))) & mask

    while True:
        yield (rotated((s[0] + s[3]) & mask, 23) + s[0]) & mask
        t = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)


# Columns


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """In exact arithmetic."""
    pairs = [(Fraction(v), Fraction(w)) for v, w in zip(values, weights, strict=True)]
    return float(sum(v * w for v, w in pairs) / sum(w for _, w in pairs))


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """The lowest and the highest value with half the weight on either side."""
    half = sum(map(Fraction, weights)) / 2

    def fits(middle: float) -> bool:
        pairs = list(zip(values, map(Fraction, weights), strict=True))
        below = sum(w for v, w in pairs if v < middle)
        above = sum(w for v, w in pairs if v > middle)
        return below <= half and above <= half

    middles = [value for value in values if fits(value)]
    return min(middles), max(middles)


def mode(
    values: Sequence[Hashable],
    weights: Sequence[float],
    everything: Sequence[Hashable],
    every_weight: Sequence[float],
) -> Hashable:
    """The most frequent value; of equals the most frequent overall, then the first by name."""

    def frequency(of: Hashable, where: Sequence[Hashable], by: Sequence[float]) -> Fraction:
        return sum((Fraction(w) for v, w in zip(where, by, strict=True) if v == of), Fraction(0))

    return min(
        set(values),
        key=lambda v: (-frequency(v, values, weights), -frequency(v, everything, every_weight), v),
    )


def contributions(
    values: Sequence[float], labels: Sequence[int], entities: Sequence[int]
) -> dict[int, list[float]]:
    """What each entity adds to the total of each cluster, the largest first."""
    found: dict[int, dict[int, float]] = {}
    for value, label, entity in zip(values, labels, entities, strict=True):
        cluster = found.setdefault(label, {})
        cluster[entity] = cluster.get(entity, 0.0) + value
    return {label: sorted(parts.values(), reverse=True) for label, parts in found.items()}


def shared_mode(
    values: Sequence[int], weights: Sequence[float], entities: Sequence[int], overall: Sequence[int]
) -> int:
    """The heaviest of the values that several entities have; else the first in the order told."""
    several = [
        v for v in overall if len({e for e, w in zip(entities, values, strict=True) if w == v}) > 1
    ]
    weight = {v: sum(x for x, w in zip(weights, values, strict=True) if w == v) for v in several}
    return (
        max(several, key=weight.__getitem__) if several else next(v for v in overall if v in values)
    )


def exposes(values: Sequence[int], entities: Sequence[int], shown: int, kind: str) -> bool:
    """Whether a median or a mode is what one entity alone has."""
    has = {v: {e for e, w in zip(entities, values, strict=True) if w == v} for v in values}
    if len(has.get(shown, ())) != 1:
        return False
    if kind == "mode":
        return any(len(found) > 1 for found in has.values())
    return shown in (min(values), max(values))


def backed_means(
    values: Sequence[float | None],
    labels: Sequence[int],
    strata: Sequence[int],
    entities: Sequence[int],
    k: int,
) -> dict[int, float] | None:
    """What each cluster publishes: the mean of its own cells, of its stratum's or of the table's.

    Cells that their cluster does not publish count nowhere else, unless nothing does.
    """
    rows = [i for i, value in enumerate(values) if value is not None]

    def enough(found: Sequence[int]) -> bool:
        return len({entities[i] for i in found}) >= k

    def within(groups: Sequence[int], parts: Sequence[Sequence[int]]) -> dict[int, list[int]]:
        """The cells of each group: those of its parts that are enough, or else all of them."""
        found = {g: [i for p in parts if enough(p) for i in p if groups[i] == g] for g in groups}
        return {g: cells or [i for p in parts for i in p if groups[i] == g]
                for g, cells in found.items()}  # fmt: skip

    own = {c: [i for i in rows if labels[i] == c] for c in labels}
    by_stratum = within(strata, list(own.values()))
    (table,) = within([0] * len(values), list(by_stratum.values())).values()
    published = {}
    for i, cluster in enumerate(labels):
        wider = [own[cluster], by_stratum[strata[i]], table]
        cells = next((found for found in wider if enough(found)), None)
        if cells is None:
            return None
        published[cluster] = sum(values[j] or 0.0 for j in cells) / len(cells)
    return published


def least_suppression(patterns: Sequence[Sequence[bool]], k: int) -> int:
    """The fewest cells to suppress so that every pattern of NULLs has k rows, by trying all."""
    columns = len(patterns[0])
    masks = [sum(1 << j for j, none in enumerate(p) if none) for p in patterns]
    ways = [[t for t in range(2**columns) if t & mask == mask] for mask in masks]
    fewest = len(patterns) * columns
    for targets in itertools.product(*ways):
        if min(targets.count(t) for t in targets) >= k:
            cells = sum((t ^ m).bit_count() for t, m in zip(targets, masks, strict=True))
            fewest = min(fewest, cells)
    return fewest


# --- measures: tables are lists of rows (tuples of Python values), NULL is None ---------------


def members(rows: Sequence[Sequence[Hashable]]) -> dict[tuple[Hashable, ...], list[int]]:
    """The rows of each class."""
    found: dict[tuple[Hashable, ...], list[int]] = {}
    for i, row in enumerate(rows):
        found.setdefault(tuple(row), []).append(i)
    return found


def population_risk(f: int, p: float) -> float:
    """E[1/F] of F ~ negative binomial: the f-th success at trial F, by adding all of it up."""
    if p == 1:
        return 1 / f
    total, seen, size, chance = 0.0, 0.0, f, math.exp(f * math.log(p))
    while seen < 1 - 1e-13 and size < 10_000_000:
        total, seen = total + chance / size, seen + chance
        chance *= (1 - p) * size / (size + 1 - f)
        size += 1
    return total


def attackers(
    rows: Sequence[Sequence[Hashable]],
    entities: Sequence[Hashable] | None,
    weights: Sequence[float] | None,
) -> dict[str, float]:
    """Chances of those who know a target is in the table, or in the population, or link all."""
    found = []
    for members_of in members(rows).values():
        lightest: dict[Hashable, float] = {}
        for i in members_of:
            who = i if entities is None else entities[i]
            weight = 1.0 if weights is None else weights[i]
            lightest[who] = min(weight, lightest.get(who, math.inf))
        size = len(lightest)
        found.append((size, max(float(size), sum(lightest.values()))))
    people = sum(size for size, _ in found)
    risks = [population_risk(size, size / behind) for size, behind in found]
    shared = sum(size * risk for (size, _), risk in zip(found, risks, strict=True)) / people
    return {
        "prosecutor": max(1 / size for size, _ in found),
        "prosecutor_average": len(found) / people,
        "journalist": max(risks),
        "journalist_average": max(shared, len(found) / sum(behind for _, behind in found)),
        "marketer": shared,
    }


def value_counts(
    rows: Sequence[Sequence[Hashable]],
    sensitive: Sequence[Hashable],
    entities: Sequence[Hashable] | None = None,
) -> list[dict[Hashable, Fraction]]:
    """Of each class, how many entities have each value; one with several values is split evenly."""
    who = range(len(rows)) if entities is None else entities
    counts = []
    for found in members(rows).values():
        has = {e: {sensitive[i] for i in found if who[i] == e} for e in {who[i] for i in found}}
        counts.append(
            {
                value: sum(Fraction(value in own, len(own)) for own in has.values())
                for value in {sensitive[i] for i in found}
            }
        )
    return counts


def distinct_l(
    rows: Sequence[Sequence[Hashable]],
    sensitive: Sequence[Hashable],
    entities: Sequence[Hashable] | None = None,
) -> int:
    """The l for which in every class l entities can be given l different values, by trying all."""
    who = range(len(rows)) if entities is None else entities

    def most(has: Sequence[set[Hashable]], given: frozenset[Hashable]) -> int:
        if not has:
            return 0
        taken = (1 + most(has[1:], given | {value}) for value in has[0] - given)
        return max([most(has[1:], given), *taken])

    return min(
        most(
            [{sensitive[i] for i in found if who[i] == e} for e in {who[i] for i in found}],
            frozenset(),
        )
        for found in members(rows).values()
    )


def entropy_l(counts: Sequence[dict[Hashable, Fraction]]) -> float:
    """The least exponential of the entropy of a class."""
    least = math.inf
    for found in counts:
        total = sum(found.values())
        least = min(least, -sum(c / total * math.log(c / total) for c in found.values()))
    return math.exp(least)


def recursive_c(counts: Sequence[dict[Hashable, Fraction]], at: int) -> float:
    """The largest of r1 / (r_at + … + r_m) over the classes."""
    worst = 0.0
    for found in counts:
        ranked = sorted(found.values(), reverse=True)
        rest = sum(ranked[at - 1 :])
        worst = max(worst, float(ranked[0] / rest) if rest else math.inf)
    return worst


def closeness(
    counts: Sequence[dict[Hashable, Fraction]],
    overall: dict[Hashable, Fraction],
    order: Sequence[Hashable] | None,
) -> float:
    """The farthest of a class from the table: earth mover's distance, or total variation."""
    rows = sum(overall.values())
    worst = 0.0
    for found in counts:
        size = sum(found.values())
        gap = {v: float(found.get(v, 0) / size - overall[v] / rows) for v in overall}
        if order is None:
            worst = max(worst, sum(abs(g) for g in gap.values()) / 2)
            continue
        carried = moved = 0.0
        for value in order:
            carried += gap[value]
            moved += abs(carried)
        worst = max(worst, moved / (len(order) - 1) if len(order) > 1 else 0.0)
    return worst


def minimal_uniques(rows: Sequence[Sequence[Hashable]], largest: int) -> list[list[set[int]]]:
    """Of each row, the sets of columns in which it is unique while it is not in any part."""
    width = len(rows[0]) if rows else 0
    found: list[list[set[int]]] = [[] for _ in rows]
    for size in range(1, min(largest, width) + 1):
        for columns in combinations(range(width), size):
            keys = [tuple(row[j] for j in columns) for row in rows]
            for i, key in enumerate(keys):
                if keys.count(key) == 1 and not any(s < set(columns) for s in found[i]):
                    found[i].append(set(columns))
    return found


def suda_score(sets: Sequence[set[int]], largest: int, width: int) -> float:
    """Sum over minimal sample uniques of the product of (columns - i), i from size to largest."""
    total = 0.0
    for found in sets:
        worth = 1.0
        for i in range(len(found), min(largest, width - 1) + 1):
            worth *= width - i
        total += worth
    return total


def apart(a: Sequence[float], b: Sequence[float], nominal: Sequence[bool]) -> float:
    """Squared distance where categories are 1 apart, summed over the columns in their order."""
    total = 0.0
    for x, y, is_nominal in zip(a, b, nominal, strict=True):
        total += float(x != y) if is_nominal else (x - y) * (x - y)
    return total


def linkage_ties(
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
    nominal: Sequence[bool],
    within: Sequence[int] | None = None,
) -> list[int]:
    """Of each row, how many protected rows are as near as its own; 0 where one is nearer.

    Where the stratum of each row is known, only protected rows of the same one are looked at.
    """
    ties = []
    for i, row in enumerate(before):
        there = [j for j in range(len(after)) if within is None or within[j] == within[i]]
        distances = [apart(row, after[j], nominal) for j in there]
        own = distances[there.index(i)]
        ties.append(0 if min(distances) < own else distances.count(own))
    return ties


def nearest_row(
    row: Sequence[float],
    others: Sequence[Sequence[float]],
    nominal: Sequence[bool],
    among: Sequence[int],
) -> int:
    """The first of some rows that is nearest; -1 where there is none."""
    return min(among, key=lambda j: (apart(row, others[j], nominal), j), default=-1)


def most_frequent(values: Sequence[float]) -> float:
    """The most frequent value, of several the lowest."""
    return min(values, key=lambda value: (-values.count(value), value))


def fellegi_sunter_ties(
    before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], tolerance: float
) -> list[int]:
    """The same by weights of agreement, every pair by itself, EM as in the textbook."""
    n, width = len(before), len(before[0])
    agrees = [
        [[abs(x - y) <= tolerance for x, y in zip(a, b, strict=True)] for b in after]
        for a in before
    ]
    u = [
        min(max(sum(p[j] for row in agrees for p in row) / n**2, 1e-9), 1 - 1e-9)
        for j in range(width)
    ]
    m, share = [0.9] * width, 1 / max(n, 2)
    weights: list[list[float]] = []
    for _ in range(200):
        weights = [
            [
                sum(
                    math.log(m[j] / u[j]) if p[j] else math.log((1 - m[j]) / (1 - u[j]))
                    for j in range(width)
                )
                for p in row
            ]
            for row in agrees
        ]
        true = [[1 / (1 + math.exp(-w) * (1 - share) / share) for w in row] for row in weights]
        total = sum(map(sum, true))
        found = [
            min(
                max(
                    sum(
                        g for r, row in zip(true, agrees, strict=True)
                        for g, p in zip(r, row, strict=True) if p[j]
                    ) / total,
                    1e-6,
                ),
                1 - 1e-6,
            )
            for j in range(width)
        ]  # fmt: skip
        done = max(abs(a - b) for a, b in zip(found, m, strict=True)) < 1e-9
        if done:
            break
        m = found
    ties = []
    for i, row in enumerate(weights):
        rounded = [round(w, 9) for w in row]
        ties.append(0 if max(rounded) > rounded[i] else rounded.count(rounded[i]))
    return ties


def variation(old: float | None, new: float | None) -> float:
    """Absolute difference over the absolute original; 1 from 0, and from or to NULL."""
    if old is None or new is None:
        return float((old is None) != (new is None))
    if old == new:
        return 0.0
    return abs(new - old) / abs(old) if old else 1.0


def covariance(a: Sequence[float | None], b: Sequence[float | None]) -> Fraction:
    """Covariance over the rows that both columns have, in exact arithmetic."""
    both = [
        (Fraction(x), Fraction(y))
        for x, y in zip(a, b, strict=True)
        if x is not None and y is not None
    ]
    if len(both) < 2:
        return Fraction(0)
    mean_a = sum(x for x, _ in both) / len(both)
    mean_b = sum(y for _, y in both) / len(both)
    return sum((x - mean_a) * (y - mean_b) for x, y in both) / (len(both) - 1)


def correlation(a: Sequence[float | None], b: Sequence[float | None]) -> float:
    """Correlation over the rows that both columns have; 0 without spread."""
    both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    first, second = [x for x, _ in both], [y for _, y in both]
    spread = covariance(first, first) * covariance(second, second)
    return float(covariance(first, second)) / math.sqrt(spread) if spread else 0.0


def propensity(before: np.ndarray, after: np.ndarray) -> float:
    """pMSE of a logistic regression on columns, squares and products, by plain minimization."""
    from scipy.optimize import minimize

    points = np.vstack([before, after])
    columns = [np.ones(len(points)), *points.T]
    columns += [points[:, i] * points[:, j] for i in range(points.shape[1]) for j in range(i + 1)]
    design = np.column_stack(columns)
    sign = np.repeat([-1.0, 1.0], len(before))

    def lost(b: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -sign * (design @ b)).sum())

    def slope(b: np.ndarray) -> np.ndarray:
        return -design.T @ (sign / (1 + np.exp(sign * (design @ b))))

    best = minimize(lost, np.zeros(design.shape[1]), jac=slope, method="BFGS", tol=1e-10)
    return float(((1 / (1 + np.exp(-design @ best.x)) - 0.5) ** 2).mean())


def sse_of(X: np.ndarray, labels: Sequence[int]) -> float:
    """The sum of squared distances to the centroids, one cluster after the other."""
    total = 0.0
    for cluster in sorted(set(labels)):
        rows = [X[i] for i in range(len(X)) if labels[i] == cluster]
        centre = np.mean(rows, axis=0)
        total += float(sum(((row - centre) ** 2).sum() for row in rows))
    return total


def best_chain(X: np.ndarray, labels: Sequence[int], k: int, length: int) -> float:
    """The largest fall of SSE by a chain of at most a number of rows, trying every one.

    Each row takes the place of the next, all of different clusters; the last takes that of the
    first, or joins another cluster with room if the first can be spared.
    """
    before, best = sse_of(X, labels), 0.0
    sizes = {g: list(labels).count(g) for g in labels}
    for many in range(1, length + 1):
        for rows in itertools.permutations(range(len(X)), many):
            homes = [labels[i] for i in rows]
            if len(set(homes)) < many:
                continue
            goals = [homes[0]] if many > 1 else []
            if sizes[homes[0]] > k:
                goals += [g for g in sizes if g not in homes and sizes[g] < 2 * k - 1]
            for goal in goals:
                after = list(labels)
                for row, there in zip(rows, [*homes[1:], goal], strict=True):
                    after[row] = there
                best = min(best, sse_of(X, after) - before)
    return best


# Paths and tours


def spread(points: Sequence[Sequence[float]]) -> float:
    """The SSE of one cluster."""
    centre = centroid(points)
    return math.fsum(distance(point, centre) for point in points)


def cut(points: Sequence[Sequence[float]], k: int) -> float:
    """The least SSE of clusters of k or more neighbours along a path."""
    least = [0.0] + [math.inf] * len(points)
    for stop in range(k, len(points) + 1):
        for start in range(stop - k + 1):
            if least[start] < math.inf:
                least[stop] = min(least[stop], least[start] + spread(points[start:stop]))
    return least[-1]


def cut_tour(points: Sequence[Sequence[float]], k: int) -> float:
    """The least SSE of clusters of k or more neighbours along a closed path."""
    return min(cut([*points[i:], *points[:i]], k) for i in range(len(points)))


def partitions(rows: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Every partition of rows into clusters of k or more."""
    if not rows:
        yield []
        return
    first, rest = rows[0], list(rows[1:])
    for size in range(k - 1, len(rest) + 1):
        if 0 < len(rest) - size < k:
            continue
        for others in itertools.combinations(rest, size):
            left = [row for row in rest if row not in others]
            for found in partitions(left, k):
                yield [[first, *others], *found]


def optimal(X: np.ndarray, k: int) -> tuple[float, list[int]]:
    """The partition with the least SSE of all, for a dozen rows."""
    points = X.tolist()

    def sse(clusters: list[list[int]]) -> float:
        return math.fsum(spread([points[i] for i in cluster]) for cluster in clusters)

    best = min(partitions(range(len(points)), k), key=sse)
    return sse(best), labels_of(best, len(points))


def away(points: Sequence[Sequence[float]], a: int, b: int) -> float:
    """Distance of two nodes of a tour; the one after the last row is at zero from all."""
    if len(points) in (a, b):
        return 0.0
    return math.sqrt(distance(points[a], points[b]))


def length(points: Sequence[Sequence[float]], path: Sequence[int]) -> float:
    """Length of a path."""
    return math.fsum(away(points, a, b) for a, b in itertools.pairwise(path))


def shortest(points: Sequence[Sequence[float]]) -> float:
    """Length of the shortest path through a handful of rows."""
    return min(length(points, path) for path in itertools.permutations(range(len(points))))


def nearest_next(points: Sequence[Sequence[float]], start: int) -> list[int]:
    """The path from a row to the nearest that is left; of equals the lowest."""
    path = [start]
    while len(path) < len(points):
        left = [row for row in range(len(points)) if row not in path]
        path.append(min(left, key=lambda row: (distance(points[path[-1]], points[row]), row)))
    return path


def inserted(points: Sequence[Sequence[float]], rule: str, given: Sequence[int]) -> list[int]:
    """A path grown by insertion; ``given`` begins with the start and decides between equals."""
    dummy = len(points)
    tour, left = [given[0]], list(given[1:])

    def gap(node: int) -> float:
        return min(away(points, node, other) for other in tour)

    def longer(node: int, at: int) -> float:
        a, b = tour[at - 1], tour[at % len(tour)]
        return away(points, a, node) + away(points, node, b) - away(points, a, b)

    while left:
        node = left[0]
        if rule == "nearest_insertion":
            node = min(left, key=gap)
        elif rule == "farthest_insertion":
            node = max(left, key=gap)
        elif rule == "cheapest_insertion":
            node = min(left, key=lambda n: min(longer(n, at) for at in range(1, len(tour) + 1)))
        left.remove(node)
        tour.insert(min(range(1, len(tour) + 1), key=lambda at: longer(node, at)), node)
    at = tour.index(dummy)
    return tour[at + 1 :] + tour[:at]


def swapped(points: Sequence[Sequence[float]], path: Sequence[int]) -> float:
    """The shortest path that turning round one stretch of a path gives."""
    return min(
        length(points, [*path[:i], *reversed(path[i:j]), *path[j:]])
        for i, j in itertools.combinations(range(len(path) + 1), 2)
    )


# Searches over partitions


def loss(X: np.ndarray, labels: Sequence[int]) -> float:
    """The SSE of a partition."""
    points, of = X.tolist(), np.asarray(labels)
    return math.fsum(spread([points[i] for i in np.flatnonzero(of == g)]) for g in set(labels))


def replaced(X: np.ndarray, labels: Sequence[int], row: int, other: int) -> float:
    """Change of SSE in the cluster of a row whose place another takes."""
    members = [i for i, g in enumerate(labels) if g == labels[other]]
    after = [row if i == other else i for i in members]
    return spread(X[after].tolist()) - spread(X[members].tolist())


def scores(X: np.ndarray, labels: Sequence[int]) -> list[float]:
    """For each cluster what its records cost in the places of others, less the reverse."""
    totals = dict.fromkeys(sorted(set(labels)), 0.0)
    for row, other in itertools.permutations(range(len(X)), 2):
        if labels[row] != labels[other]:
            totals[labels[row]] += replaced(X, labels, row, other)
            totals[labels[other]] -= replaced(X, labels, row, other)
    return list(totals.values())


def best_circle(X: np.ndarray, labels: Sequence[int], k: int, ranks: Sequence[int]) -> float:
    """The least change of SSE by a circle over clusters of rising rank, from the first of them.

    A circle visits clusters at a record or at a free place: a record takes the place of the next
    record or the next free place; behind a free place a record leaves for nothing.
    """
    n, clusters = len(X), len(ranks)
    order = sorted(range(clusters), key=lambda g: ranks[g])
    before, least = loss(X, labels), math.inf
    for size in range(1, clusters):
        for others in itertools.combinations(order[1:], size):
            choices = [
                [*(i for i in range(n) if labels[i] == g), n + g] for g in (order[0], *others)
            ]
            for circle in itertools.product(*choices):
                after, fits = list(labels), True
                for a, b in zip(circle, [*circle[1:], circle[0]], strict=True):
                    if a >= n and b >= n:
                        fits = False
                    elif a < n:
                        after[a] = b - n if b >= n else labels[b]
                sizes = [after.count(g) for g in range(clusters)]
                if fits and min(sizes) >= k and max(sizes) < 2 * k:
                    least = min(least, loss(X, after) - before)
    return least


def shuffled(X: np.ndarray, k: int, labels: Sequence[int], least_gain: float) -> list[int]:
    """Random cluster shuffling without events."""
    of = list(labels)

    def nearest(row: int, own: int) -> int | None:
        sizes = {g: of.count(g) for g in sorted(set(of) - {own, -1})}
        room = [g for g, size in sizes.items() if size < 2 * k - 1]
        centres = {g: centroid([X[i].tolist() for i, h in enumerate(of) if h == g]) for g in room}
        return min(room, key=lambda g: distance(X[row], centres[g]), default=None)

    while True:
        start = loss(X, of)
        for row in range(len(X)):
            before, own = list(of), of[row]
            movers = [row] if of.count(own) > k else [i for i, g in enumerate(of) if g == own]
            for mover in movers:
                # Rows yet to move stay where they are until their turn, out of the others' way.
                found = nearest(mover, own)
                of[mover] = own if found is None else found
            if loss(X, of) >= loss(X, before) or 0 < of.count(own) < k:
                of = before
        if start - loss(X, of) <= least_gain * start:
            return of


def neighbours(matrix: Sequence[Sequence[int]], k: int) -> list[int]:
    """Clusters of k rows that are neighbours most often; -1 for rows that are left over."""
    free, labels, label = set(range(len(matrix))), [-1] * len(matrix), 0
    while True:
        pairs = [(a, b) for a in sorted(free) for b in sorted(free) if a != b and matrix[a][b]]
        if not pairs:
            return labels
        members = [max(pairs, key=lambda pair: (matrix[pair[0]][pair[1]], -pair[0], -pair[1]))[0]]
        free.discard(members[0])
        while len(members) < k:
            near = {row: max(matrix[m][row] for m in members) for row in sorted(free)}
            best = max(near, key=lambda row: (near[row], -row), default=None)
            if best is None or not near[best]:
                break
            members.append(best)
            free.discard(best)
        if len(members) == k:
            for member in members:
                labels[member] = label
            label += 1


# Iterated local search


def uniforms(seed: int, stream: int) -> Iterator[float]:
    """Numbers from 0 to 1, 1 excluded."""
    return ((bits >> 11) * 2.0**-53 for bits in xoshiro(seed, stream))


def shuffle(values: list[int], chance: Iterator[float]) -> None:
    """Put values into random order."""
    for i in range(len(values) - 1, 0, -1):
        j = int(next(chance) * (i + 1))
        values[i], values[j] = values[j], values[i]


class IteratedSearch:
    """ILSM by its definition: every pair of clusters, every swap and every shift, by the SSE."""

    def __init__(self, X: np.ndarray, k: int, labels: Sequence[int], seed: int) -> None:
        self.points, self.k, self.chance = X.tolist(), k, uniforms(seed, 5)
        clusters = len(X) // k
        self.clusters = [[i for i, g in enumerate(labels) if g == c] for c in range(clusters)]

    def below(self, n: int) -> int:
        return int(next(self.chance) * n)

    def spread(self, rows: Sequence[int]) -> float:
        return spread([self.points[i] for i in rows]) if rows else 0.0

    def centre(self, rows: Sequence[int]) -> list[float]:
        return centroid([self.points[i] for i in rows])

    @property
    def sse(self) -> float:
        return math.fsum(self.spread(rows) for rows in self.clusters)

    def lowers(self, a: int, b: int, new_a: list[int], new_b: list[int]) -> bool:
        """Take two clusters on if they lower the SSE."""
        before = self.spread(self.clusters[a]) + self.spread(self.clusters[b])
        if self.spread(new_a) + self.spread(new_b) >= before * (1 - 1e-12):
            return False
        self.clusters[a], self.clusters[b] = new_a, new_b
        return True

    def improve(self, a: int, b: int) -> bool:
        """Swap and shift rows of two clusters."""
        changed = False
        for p, q in itertools.product(range(len(self.clusters[a])), range(len(self.clusters[b]))):
            new_a, new_b = list(self.clusters[a]), list(self.clusters[b])
            new_a[p], new_b[q] = new_b[q], new_a[p]
            changed |= self.lowers(a, b, new_a, new_b)
        for c, d in ((a, b), (b, a)):
            p = 0
            while p < len(self.clusters[c]) > self.k and len(self.clusters[d]) < 8 * self.k - 1:
                rest = without(self.clusters[c], p)
                if self.lowers(c, d, rest, [*self.clusters[d], self.clusters[c][p]]):
                    changed = True
                else:
                    p += 1
        return changed

    def search(self, hot: set[int]) -> None:
        """Local search; clusters that are hot may have changed since it last came to its end."""
        order = [c for c, rows in enumerate(self.clusters) if rows]
        while hot:
            shuffle(order, self.chance)
            found = 0
            for i in range(len(order)):
                if order[i] in hot:
                    order[i], order[found] = order[found], order[i]
                    found += 1
            now = set()
            for i in (*range(found, len(order)), *range(found)):
                for j in range(i + 1, len(order)):
                    if self.improve(order[i], order[j]):
                        assert i < found, "a pair changed that could not"
                        now |= {order[i], order[j]}
            hot = now

    def drawn(self) -> int:
        while True:
            cluster = self.below(len(self.clusters))
            if self.clusters[cluster]:
                return cluster

    def dissolve(self, samples: int) -> set[int]:
        """Send the rows of the worst of some clusters to their nearest; give what changed."""
        chosen = max((self.drawn() for _ in range(samples)), key=self.loss_of)
        rows, self.clusters[chosen], changed = self.clusters[chosen], [], set()
        for row in rows:
            room = [c for c, other in enumerate(self.clusters) if 0 < len(other) < 8 * self.k - 1]
            there = min(room, key=lambda c: self.distance(row, self.clusters[c]))
            self.clusters[there].append(row)
            changed.add(there)
        return changed

    def loss_of(self, cluster: int) -> float:
        return self.spread(self.clusters[cluster])

    def distance(self, row: int, rows: Sequence[int]) -> float:
        return distance(self.points[row], self.centre(rows))

    def distill(self) -> set[int]:
        """Make a cluster of rows that others can spare; give what changed."""
        spare = []
        for c, rows in enumerate(self.clusters):
            by_distance = sorted(rows, key=lambda row: self.distance(row, rows))
            spare += [(row, c) for row in reversed(by_distance[self.k :])]
        new = self.clusters.index([])
        taken = spare.pop(self.below(len(spare)))
        changed = {new}
        while True:
            row, home = taken
            self.clusters[new].append(row)
            self.clusters[home] = without(self.clusters[home], self.clusters[home].index(row))
            changed.add(home)
            if len(self.clusters[new]) == self.k:
                return changed
            taken = min(spare, key=lambda s: self.distance(s[0], self.clusters[new]))
            spare.remove(taken)

    def run(self, iterations: int, samples: int, temperature: float) -> list[int]:
        """Perturb, search and accept a number of times; give the labels of the best."""
        rows = sum(map(len, self.clusters))
        low, most = -(-rows // (2 * self.k - 1)), rows // self.k
        least = most - (most - low) // 5
        self.search(set(range(len(self.clusters))))
        best, least_sse = [list(c) for c in self.clusters], self.sse
        for _ in range(iterations):
            count = sum(map(bool, self.clusters))
            if least >= count >= most:
                break
            if count <= least or (count < most and next(self.chance) < 0.5):
                self.search(self.distill())
            else:
                self.search(self.dissolve(samples))
            if self.sse < least_sse * (1 - 1e-12):
                best, least_sse = [list(c) for c in self.clusters], self.sse
                continue
            worse = (self.sse - least_sse) / least_sse
            kept = math.exp(-worse / temperature) if temperature else 0.8
            if next(self.chance) >= kept:
                self.clusters = [list(c) for c in best]
        return labels_of([c for c in best if c], rows)


def without(rows: Sequence[int], at: int) -> list[int]:
    """Rows without the one at a place, which the last one takes."""
    left = list(rows)
    left[at] = left[-1]
    return left[:-1]


def is_grouping(groups: Sequence[Sequence[int]], columns: int) -> bool:
    """Whether each column is in exactly one group, and no group is empty."""
    listed = [column for group in groups for column in group]
    return sorted(listed) == list(range(columns)) and all(len(group) > 0 for group in groups)


def certain_links(before: np.ndarray, after: np.ndarray) -> int:
    """Rows whose own protected row is nearer than any other: DLD of Balasch i Masoliver (2010)."""
    rows = range(len(before))
    return sum(
        all(distance(before[i], after[i]) < distance(before[i], after[j]) for j in rows if j != i)
        for i in rows
    )


def grouping_score(
    X: np.ndarray, groups: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]
) -> tuple[float, float, float, float]:
    """IL, ID, DLD and score (Balasch i Masoliver, 2010) of groups of columns with clusters."""
    after = np.empty_like(X)
    for group, found in zip(groups, labels, strict=True):
        for i, label in enumerate(found):
            rows = [j for j, other in enumerate(found) if other == label]
            after[i, list(group)] = [math.fsum(X[rows, c]) / len(rows) for c in group]
    deviation = [float(np.std(column)) or 1.0 for column in X.T]
    old, new = X / deviation, after / deviation
    loss = information_loss(old, new) if len({*map(tuple, X.tolist())}) > 1 else 0.0
    near = [abs(b - a) <= 0.1 * abs(a) for a, b in zip(X.flat, after.flat, strict=True)]
    interval = 100 * sum(near) / len(near)
    linked = 100 * certain_links(old, new) / len(X)
    return loss, interval, linked, (loss + 0.5 * interval + 0.5 * linked) / 2


def holdings(values: Sequence[Hashable], who: Sequence[Hashable]) -> tuple[int, int]:
    """The different values that entities have, and those of them that nobody else has."""
    pairs = {(w, v) for w, v in zip(who, values, strict=True) if v is not None}
    return len(pairs), sum([v for _, v in pairs].count(v) == 1 for _, v in pairs)


def fixed_share(own: Sequence[int], other: Sequence[int], *, ordered: bool) -> float:
    """The share of the differences in one column that is gone among equals in the other."""
    ranks = [(sum(b < a for b in other) + sum(b <= a for b in other)) / 2 for a in other]

    def mean_difference(rows: Sequence[int]) -> float:
        pairs = list(combinations(rows, 2))
        if ordered:
            return sum((ranks[i] - ranks[j]) ** 2 for i, j in pairs) / len(pairs)
        return sum(other[i] != other[j] for i, j in pairs) / len(pairs)

    equals = [[i for i, v in enumerate(own) if v == value] for value in set(own)]
    equals = [rows for rows in equals if len(rows) > 1]
    within = sum(len(rows) * mean_difference(rows) for rows in equals)
    overall = mean_difference(range(len(own)))
    return 1 - within / sum(map(len, equals)) / overall


def homogeneity(
    rows: Sequence[Sequence[Hashable]],
    sensitive: Sequence[Hashable],
    who: Sequence[Hashable],
    k: int,
) -> tuple[list[int], list[int]]:
    """The sizes of the classes of k or more: of those with one sensitive value, and of all."""
    all_, same = [], []
    for found in members(rows).values():
        size = len({who[i] for i in found})
        if size >= k:
            all_.append(size)
            if len({sensitive[i] for i in found}) == 1:
                same.append(size)
    return same, all_


def common_ancestor(paths: Sequence[Sequence[str]]) -> str:
    """Find the first node that is above all, or is them; each path ends at the root."""
    first, *others = paths
    return next(node for i, node in enumerate(first) if all(one[i] == node for one in others))


def medoid(points: Sequence[Sequence[float]], weights: Sequence[float]) -> list[int]:
    """Find the rows that are nearest to the weighted mean, nearest first."""
    total = sum(weights)
    middle = [
        sum(w * p[j] for p, w in zip(points, weights, strict=True)) / total
        for j in range(len(points[0]))
    ]
    far = [sum((a - b) ** 2 for a, b in zip(p, middle, strict=True)) for p in points]
    return [i for i, d in enumerate(far) if d <= min(far) * (1 + 1e-9) + 1e-15]
