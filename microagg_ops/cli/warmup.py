"""Compile every kernel ahead of time, so that no task waits for it: for an image, at its build."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from microagg_ops.cli.output import Output

ROWS, K = 120, 3


def warmup(output: Output) -> tuple[dict[str, Any], list[str]]:
    """Run everything that is compiled on a few made-up rows; the cache keeps what that compiles."""
    from microagg_ops.kernels import cache_root, every_kernel, is_ready

    began = time.monotonic()
    steps = list(steps_of_warmup())
    for done, (_, step) in enumerate(steps):
        output.progress("warmup", done / len(steps))
        step()
    output.progress("warmup", 1.0)
    kernels = every_kernel()
    folder = cache_root()
    outcome = {
        "kernels": len(kernels),
        "compiled": sum(bool(sum(one.stats.cache_misses.values())) for one in kernels.values()),
        # A kernel that no step has reached is compiled by the first task that needs it.
        "left": sorted(name for name, one in kernels.items() if not is_ready(one)),
        "cache": str(folder) if folder else None,
        "seconds": round(time.monotonic() - began, 1),
    }
    return outcome, told(outcome)


def told(outcome: dict[str, Any]) -> list[str]:
    """Say for people what was done."""
    ready = outcome["kernels"] - len(outcome["left"])
    lines = [
        f"{ready} of {outcome['kernels']} kernels are ready: {outcome['compiled']} compiled in "
        f"{outcome['seconds']} s, the others were there."
    ]
    if outcome["cache"] is None:
        lines.append("Nothing was kept: no folder can be written. Set NUMBA_CACHE_DIR.")
    else:
        lines.append(f"Kept in {outcome['cache']}.")
    return lines + [f"Not compiled yet: {name}." for name in outcome["left"]]


def steps_of_warmup() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what runs the kernels: every method, every kind of tour, the measures."""
    import numpy as np

    from microagg_ops.methods.best import HELD, MANY
    from microagg_ops.methods.bound import lower_bound
    from microagg_ops.methods.mdav import with_tree
    from microagg_ops.methods.partition import Clock, partition
    from microagg_ops.methods.plain import with_boxes
    from microagg_ops.methods.registry import METHODS
    from microagg_ops.methods.tours import TOURS

    points = np.random.default_rng(1).normal(size=(ROWS, 3))

    def find(method: str, **params: Any) -> Callable[[], Any]:
        width = 1 if METHODS[method].one_column else points.shape[1]
        return partial(partition, points[:, :width], K, method, seed=1, **params)

    # Small tables need neither: they are run here by name.
    yield "mdav by a tree", partial(with_tree, points, K, Clock())
    yield "mdav by boxes", partial(with_boxes, points, K, Clock())
    for method in METHODS.values():
        yield method.name, find(method.name, **method.briefly(4))
    # Large tables are kept in shorter numbers.
    many = np.random.default_rng(1).normal(size=(MANY + 1, 3))
    yield "best, many rows", partial(partition, many, K, "best", iterations=HELD + 1, schedule=1)
    yield "lower bound", partial(lower_bound, points, K, budget=1.0)
    yield "lower bound, many rows", partial(lower_bound, many[:3000], K, budget=1.0)
    for tour in TOURS:
        yield f"tsp_mhm {tour}", find("tsp_mhm", tour=tour)
    # One person in two has a value that the method does not see: clusters are mended.
    limits = {"sensitive": np.arange(ROWS) % 2, "l": 2, "t": 0.4}
    yield "limits on sensitive columns", find("mdav", **limits)
    yield "groups of columns", partial(grouped, points)
    yield from measures(points)


def grouped(points: Any) -> None:
    """Run what the search for groups of columns runs."""
    import numpy as np
    import pyarrow as pa

    from microagg_ops.columns.encoding import Encoded
    from microagg_ops.columns.space import NO_SCALE
    from microagg_ops.grouping.fitness import Fitness
    from microagg_ops.release.columns import Quasi

    columns = [Encoded("x", Quasi("number"), codes, pa.float64()) for codes in points.T]
    Fitness(columns, [NO_SCALE] * len(columns), K, np.ones(ROWS)).measure((1, 2, 4))


def measures(points: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what runs the kernels of the measures and attacks."""
    import numpy as np
    import pyarrow as pa

    from microagg_ops import metrics
    from microagg_ops.attacks.ground import Ground, Side
    from microagg_ops.columns.merging import neighbours
    from microagg_ops.metrics.values import matched

    names = [f"x{j}" for j in range(points.shape[1])]
    before = pa.table(dict(zip(names, points.T, strict=True)))
    after = pa.table(dict(zip(names, points.round(0).T, strict=True)))
    for measure in (metrics.distance_linkage, metrics.probabilistic_linkage, metrics.rank_linkage):
        yield measure.__name__, partial(measure, before, after)
    yield "k_anonymity", partial(metrics.k_anonymity, after, names)
    one = np.zeros(1, np.int32)
    yield "values of people", partial(matched, one, one, np.ones(1, np.int64))
    yield "joined clusters", partial(neighbours, points, np.arange(len(points)), np.arange(2))
    rows, nobody = np.arange(len(points)), np.zeros(len(points), np.int64)
    people = Side(points, nobody, rows, {})
    ground = Ground(tuple(names), np.zeros(len(names), bool), people, people, people, frozenset())
    yield "attacks", partial(ground.nearest, people, rows, names)
