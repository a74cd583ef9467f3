"""What the graph methods, `rcs` and `icsm` lose, beside the figures that the papers print."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from microagg_ops import partition
from microagg_ops.methods.mhm import cut_path
from microagg_ops.methods.partition import Clock, no_progress
from microagg_ops.methods.tours import tour_paths
from microagg_ops.metrics.loss import centroids, information_loss, sst
from tests.benchmarks.harness import Section
from tests.golden.test_published import standardized

DATA = Path(os.environ.get("MICROAGG_DATA", "."))
NAMES = ("tarragona", "census", "eia11")
KS = (3, 4, 5, 6)
SEEDS = 10
# 002, tables 4.2 to 4.4: least and greatest loss over 50 starts, for k = 3, 4, 5, 6.
RANGES = {
    ("census", "nearest_insertion"): "5.3596 6.0695 7.1946 7.9318 8.5190 9.4727 9.7624 11.2086",
    ("census", "farthest_insertion"): "5.3300 5.8995 7.1723 7.5853 8.5784 9.1748 9.6970 10.7363",
    ("census", "cheapest_insertion"): "5.5669 5.8766 7.2674 7.8052 8.7212 9.3847 10.1706 10.9089",
    ("census", "arbitrary_insertion"): "5.4235 5.8763 7.1272 7.8250 8.5072 9.2867 9.7081 10.7794",
    ("census", "mdav_lk"): "5.0256 5.1877 6.7774 7.0227 8.3100 8.7030 9.7675 10.2527",
    ("eia11", "nearest_insertion"): "0.3831 0.4238 0.5441 0.6179 0.8032 0.9760 0.9976 1.3334",
    ("eia11", "farthest_insertion"): "0.3872 0.4207 0.5524 0.6277 0.8190 0.9747 1.1245 1.2484",
    ("eia11", "cheapest_insertion"): "0.4692 0.5651 0.6322 0.8477 0.9910 1.2264 1.2605 1.6329",
    ("eia11", "arbitrary_insertion"): "0.3921 0.4944 0.5566 0.6699 0.8194 1.0621 1.0652 1.3476",
    ("eia11", "mdav_lk"): "0.3659 0.4097 0.5117 0.5693 0.7502 0.8932 1.0033 1.1113",
    (
        "tarragona",
        "nearest_insertion",
    ): "15.1107 20.1835 17.8032 24.5286 21.8365 28.9753 24.6538 33.0785",
    (
        "tarragona",
        "farthest_insertion",
    ): "15.4743 16.6623 18.1062 20.2105 21.3313 24.1988 24.9004 26.9613",
    (
        "tarragona",
        "cheapest_insertion",
    ): "15.2169 22.0271 18.3103 25.8916 22.3121 30.0828 25.2394 32.7082",
    (
        "tarragona",
        "arbitrary_insertion",
    ): "15.1310 18.9668 18.2072 25.8572 21.7333 29.1863 25.0093 33.2382",
    ("tarragona", "mdav_lk"): "15.0595 23.0830 19.1195 26.2806 23.0421 28.9522 25.1703 30.9656",
}


def printed(figure: str, name: str, k: int) -> Any:
    """What a paper prints, or None."""
    found = json.loads((DATA / "published.json").read_text())[figure]
    return found.get(name, {}).get(str(k))


def printed_range(name: str, what: str, k: int) -> tuple[float, float]:
    """The least and the greatest loss that the thesis prints."""
    values = [float(v) for v in RANGES[name, what].split()]
    at = 2 * KS.index(k)
    return values[at], values[at + 1]


def lost(X: np.ndarray, labels: np.ndarray) -> float:
    return information_loss(X, centroids(X, labels)[labels])


def timed(X: np.ndarray, k: int, method: str, **params: Any) -> tuple[float, float]:
    """The loss of a method and its seconds."""
    began = time.perf_counter()
    labels = partition(X, k, method, **params)
    return lost(X, labels), time.perf_counter() - began


def by_tour(X: np.ndarray, tour: str, seed: int, kicks: float = 10) -> dict[int, float]:
    """The loss of tsp_mhm for each k; the tour is the same for all of them."""
    least = dict.fromkeys(KS, np.inf)
    for _, path in tour_paths(X, tour, seed, Clock(), kicks):
        for k in KS:
            least[k] = min(least[k], 100 * cut_path(X, k, path, no_progress)[1] / sst(X))
    return least


def show(title: str, head: str, lines: Iterable[Iterable[Any]]) -> list[str]:
    """Return a table, and print it line by line as it grows."""
    page = [f"### {title}", "", f"| {head} |", f"|{'---|' * len(head.split(' | '))}"]
    print("\n".join(page), flush=True)
    for line in lines:
        cells = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in line)
        page.append(f"| {' | '.join(cells)} |")
        print(page[-1], flush=True)
    return [*page, ""]


def verdict(holds: bool) -> str:
    return "yes" if holds else "**no**"


def tours(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        for name in names:
            X = standardized(DATA, name)
            found = [by_tour(X, "strong", seed) for seed in range(SEEDS)]
            for k in KS:
                ours = [f[k] for f in found]
                average = printed("concorde_mhm_il", name, k)[0]
                mean = float(np.mean(ours))
                yield name, k, average, mean, min(ours), max(ours), verdict(mean <= 1.02 * average)

    head = "data | k | Concorde, average | strong, average | least | greatest | within 2 %"
    return show(f"tsp_mhm, strong tour, {SEEDS} seeds", head, lines())


def insertion(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        for name in names:
            X = standardized(DATA, name)
            for tour in ("nearest", "farthest", "cheapest", "arbitrary"):
                found = [by_tour(X, f"{tour}_insertion", seed) for seed in range(SEEDS)]
                for k in KS:
                    least, most = printed_range(name, f"{tour}_insertion", k)
                    mean = float(np.mean([f[k] for f in found]))
                    yield name, tour, k, least, most, mean, verdict(least <= mean <= most)

    head = "data | insertion | k | printed least | printed greatest | average | within"
    return show(f"tsp_mhm, insertion, {SEEDS} seeds", head, lines())


def mdav_lk(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        for name in names:
            X = standardized(DATA, name)
            for k in KS:
                found = [timed(X, k, "mdav_lk_mhm", seed=seed) for seed in range(3)]
                mean = float(np.mean([f[0] for f in found]))
                least, most = printed_range(name, "mdav_lk", k)
                seconds = float(np.mean([f[1] for f in found]))
                yield name, k, least, most, mean, seconds, verdict(mean <= most)

    head = "data | k | printed least | printed greatest | average | seconds | in range or below"
    return show("mdav_lk_mhm, 3 seeds", head, lines())


def compress(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        for name in names:
            X = standardized(DATA, name)
            for k in (*KS, 10):
                whole = [timed(X, k, "tsp_mhm", seed=s) for s in range(2)]
                small = [timed(X, k, "compress_tsp_mhm", seed=s) for s in range(2)]
                same = timed(X, k, "compress_tsp_mhm", kicks=10)
                mean = float(np.mean([f[0] for f in small]))
                figure = printed("compress_tsp_mhm_il", name, k)
                ratio = sum(f[1] for f in whole) / sum(f[1] for f in small)
                alike = whole[0][1] / same[1]
                yield name, k, figure, mean, verdict(mean <= 1.05 * figure), ratio, alike

    head = "data | k | printed | average | within 5 % | times faster | with as many kicks a row"
    return show("compress_tsp_mhm, c = 2, beside tsp_mhm, 2 seeds", head, lines())


def searches(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        for name in names:
            X = standardized(DATA, name)
            for k in (*KS, 10):
                mdav = printed("mdav_il", name, k)
                rcs, rcs_seconds = timed(X, k, "rcs")
                icsm, icsm_seconds = timed(X, k, "icsm")
                figure = printed("icsm_il", name, k)
                holds = verdict(icsm <= 1.03 * figure) if figure else ""
                seconds = f"{rcs_seconds:.2f}", f"{icsm_seconds:.2f}"
                yield name, k, mdav, rcs, verdict(rcs < mdav), figure, icsm, holds, *seconds

    head = (
        "data | k | mdav | rcs | better | icsm printed | icsm | within 3 % | rcs seconds "
        "| icsm seconds"
    )
    return show("rcs and icsm from MDAV, one run", head, lines())


def mf_tsp(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        for name in names[:2]:
            X = standardized(DATA, name)
            for k in (3, 4, 5, 10):
                yield name, k, printed("mf_tsp_2opt_il", name, k), *timed(X, k, "mf_tsp")

    return show("mf_tsp, 2-opt", "data | k | printed | loss | seconds", lines())


def large(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        X = np.random.default_rng(0).normal(size=(1_000_000, 5))
        partition(X[:100], 5, "mhm")
        yield "mhm", len(X), timed(X, 5, "mhm")[1]
        for method in ("mdav", "npn_mhm", "mdav_mhm", "compress_tsp_mhm", "tsp_mhm"):
            partition(X[:100], 5, method)
            yield method, 20_000, timed(X[:20_000], 5, method)[1]

    return show("Larger tables, 5 normal columns, k = 5", "method | rows | seconds", lines())


class Alarm(Exception):
    """What a signal raises."""


def latency(X: np.ndarray, method: str, after: float, params: dict[str, Any]) -> float | None:
    """Seconds from a signal to the end of a method; None if it ended before."""

    def ring(number: int, frame: Any) -> None:
        raise Alarm

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, after)
    began = time.perf_counter()
    try:
        partition(X, 5, method, **params)
    except Alarm:
        return time.perf_counter() - began - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def kill(names: Sequence[str]) -> list[str]:
    def lines() -> Iterable[Iterable[Any]]:
        X = np.random.default_rng(0).normal(size=(20_000, 10))
        start = np.arange(20_000) // 5
        cases: list[tuple[str, dict[str, Any]]] = [
            ("npn_mhm", {}),
            ("tsp_mhm", {}),
            ("tsp_mhm", {"tour": "repetitive_nearest_neighbour"}),
            ("tsp_mhm", {"tour": "farthest_insertion"}),
            ("tsp_mhm", {"tour": "cheapest_insertion"}),
            ("compress_tsp_mhm", {}),
            ("mdav_lk_mhm", {}),
            ("rcs", {"start": start}),
            ("icsm", {"start": start}),
        ]
        for method, params in cases:
            partition(X[:200], 5, method, **{k: v for k, v in params.items() if k != "start"})
            found = [latency(X, method, after, params) for after in (0.5, 1.7, 4.1, 7.3)]
            waits = [f"{wait:.2f}" if wait is not None else "ended" for wait in found]
            yield method, params.get("tour", ""), *waits

    head = "method | tour | at 0.5 s | at 1.7 s | at 4.1 s | at 7.3 s"
    return show("Seconds from a signal to the end, 20,000 rows of 10 columns, k = 5", head, lines())


TABLES: tuple[Callable[[Sequence[str]], list[str]], ...] = (
    tours, insertion, mdav_lk, compress, searches, mf_tsp, large, kill,
)  # fmt: skip
QUICK: tuple[Callable[[Sequence[str]], list[str]], ...] = (searches, mf_tsp)


def measure(quick: bool) -> Section:
    """Make the tables."""
    names = NAMES[:1] if quick else NAMES
    text = [line for table in (QUICK if quick else TABLES) for line in table(names)]
    about = "Information loss (%) on the data sets of the papers, and the figures that they print."
    return Section("Paths, tours and exchanges", about, [], text)
