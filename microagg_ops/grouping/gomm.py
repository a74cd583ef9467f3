"""Groupings by genetic search: GOMM and D-GOMM of Balasch i Masoliver (2010).

The loop is our own: the operators have their own chromosomes, a generation is measured as a whole
so that clones and shared groups cost nothing and all cores work, and an operator can be retired.
A library of evolutionary algorithms would have carried a sort and a merge.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from microagg_ops.grouping.chromosome import (
    MUTATIONS,
    Chromosome,
    Key,
    columns_of,
    crossover,
    drawn,
    encoded,
    neighbours,
)
from microagg_ops.grouping.correlation import Grouping, ordered
from microagg_ops.grouping.fitness import Fitness, Measured
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    from numpy.random import Generator

CROSSOVER = "crossover"
# An operator that made nothing of use in this many generations is retired (D-GOMM).
PATIENCE = 5
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Found:
    """The best grouping that was found, and how it was searched for."""

    groups: Grouping
    measured: Measured
    generations: int
    groupings: int
    retired: tuple[str, ...]


@dataclass
class Operators:
    """The operators that are at work, with how many generations each has been useless."""

    dynamic: bool
    useless: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((CROSSOVER, *MUTATIONS), 0)
    )

    @property
    def at_work(self) -> list[str]:
        """Those that are not retired."""
        return [name for name, times in self.useless.items() if times < PATIENCE]

    @property
    def retired(self) -> tuple[str, ...]:
        """Those that are."""
        return tuple(name for name, times in self.useless.items() if times >= PATIENCE)

    def judge(self, useful: set[str]) -> None:
        """Count a generation in which some operators made what survived."""
        for name in self.at_work if self.dynamic else ():
            self.useless[name] = 0 if name in useful else self.useless[name] + 1


def gomm(
    fitness: Fitness,
    *,
    population: int,
    generations: int,
    seed: int,
    clock: Clock,
    dynamic: bool = False,
    threads: int | None = None,
) -> Found:
    """Evolution for the grouping with the least score.

    Parameters
    ----------
    fitness
        What measures groupings.
    population, generations
        How many chromosomes survive a generation, and how many generations there are.
    seed
        The same seed gives the same grouping, whatever the number of threads.
    clock
        When its budget is spent, the best grouping so far is given.
    dynamic
        Whether operators that do useless work are retired (D-GOMM).
    threads
        How many measure at once; by default one a core.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    operators = Operators(dynamic)
    with Pool(threads or os.cpu_count() or 1) as pool:
        search = Evolution(fitness, pool, clock)
        people = search.first(population, rng)
        done = 0
        while done < generations and operators.at_work and not clock.spent:
            children = list(offspring(people, population, operators.at_work, rng))
            search.measure([child for _, child in children], (done, generations))
            people, useful = selected(people, children, population, search.score)
            operators.judge(useful)
            done += 1
            clock.progress(done / generations)
        best = search.polished(people[0])
    return Found(
        ordered([columns_of(group) for group in best.key]),
        fitness.known[best.key],
        done,
        len(fitness.known),
        operators.retired,
    )


def offspring(
    people: Sequence[Chromosome], population: int, names: Sequence[str], rng: Generator
) -> Iterator[tuple[str, Chromosome]]:
    """Make half as many children as there are chromosomes: half of them by crossover."""
    for name in names:
        if name == CROSSOVER:
            for _ in range(max(1, population // 8)):
                one, other = (people[i] for i in rng.integers(0, len(people), 2).tolist())
                yield from ((name, child) for child in crossover(one, other, rng))
        else:
            for _ in range(max(1, population // 20)):
                parent = people[int(rng.integers(len(people)))]
                yield name, MUTATIONS[name](parent, rng)


def selected(
    people: Sequence[Chromosome],
    children: Sequence[tuple[str, Chromosome]],
    population: int,
    score: Callable[[Chromosome], float],
) -> tuple[list[Chromosome], set[str]]:
    """Merge people and children by their score; tell which operators have a child among them.

    Of equals the elder comes first, and of clones no more than a tenth of the population survive:
    else it is soon nothing but clones, which no operator betters, and D-GOMM ends too early.
    """
    merged = [("", person) for person in people]
    merged += [(name, child) for name, child in children if score(child) < float("inf")]
    merged.sort(key=lambda entry: score(entry[1]))
    clones: Counter[Key] = Counter()
    survivors = []
    for name, chromosome in merged:
        clones[chromosome.key] += 1
        if clones[chromosome.key] <= max(1, population // 10):
            survivors.append((name, chromosome))
    survivors = survivors[:population]
    return [chromosome for _, chromosome in survivors], {name for name, _ in survivors}


class Evolution:
    """What has been measured so far."""

    def __init__(self, fitness: Fitness, pool: Pool, clock: Clock) -> None:
        self.fitness, self.pool, self.clock = fitness, pool, clock

    def first(self, population: int, rng: Generator) -> list[Chromosome]:
        """Draw the first population; the single group is in it, so that none worse is found."""
        columns = len(self.fitness.columns)
        single = encoded([list(range(columns))])
        people = [single, *(drawn(columns, rng) for _ in range(population - 1))]
        self.fitness.known[single.key] = self.fitness.measure(single.key)
        self.measure(people, (0, 1))
        return selected(people[:1], [("", p) for p in people[1:]], population, self.score)[0]

    def polished(self, best: Chromosome) -> Chromosome:
        """Go to the best neighbour for as long as one is better: chance may have missed it."""
        while not self.clock.spent:
            near = list(neighbours(best))
            self.measure(near, (1, 1))
            least = min(near, key=self.score)
            if not self.score(least) < self.score(best):
                break
            best = least
        return best

    def score(self, chromosome: Chromosome) -> float:
        """Return the score of a chromosome; infinite where there was no time to measure it."""
        measured = self.fitness.known.get(chromosome.key)
        return float("inf") if measured is None else measured.score

    def measure(self, chromosomes: Iterable[Chromosome], at: tuple[int, int]) -> None:
        """Measure chromosomes, clones once, while there is time: first their groups."""
        fitness = self.fitness
        keys = dict.fromkeys(c.key for c in chromosomes)
        keys = {key: None for key in keys if key not in fitness.known}
        groups = dict.fromkeys(group for key in keys for group in key)
        unknown = [group for group in groups if group not in fitness.parts]
        for group, part in self.pool.each(fitness.aggregate, unknown):
            fitness.keep(group, part)
            self.clock.progress(at[0] / at[1])
            if self.clock.spent:
                return
        for key, measured in self.pool.each(fitness.measure, list(keys)):
            fitness.known[key] = measured
            self.clock.progress(at[0] / at[1])
            if self.clock.spent:
                return


class Pool:
    """Threads that can be left at once: what has not begun is not begun."""

    def __init__(self, threads: int) -> None:
        self.pool = ThreadPoolExecutor(threads)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *about: Any) -> None:
        self.pool.shutdown(cancel_futures=True)

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Yield each item with what was made of it, in their order."""
        futures = [self.pool.submit(work, item) for item in items]
        try:
            for item, future in zip(items, futures, strict=True):
                yield item, future.result()
        finally:
            for future in futures:
                future.cancel()
