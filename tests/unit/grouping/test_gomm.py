"""The genetic search for groups of columns."""

from __future__ import annotations

import math
import multiprocessing
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from microagg_ops.grouping import gomm as module
from microagg_ops.grouping.chromosome import MUTATIONS, Key, encoded, neighbours
from microagg_ops.grouping.fitness import Fitness, Measured
from microagg_ops.grouping.gomm import CROSSOVER, PATIENCE, Found, Operators, gomm, selected
from microagg_ops.methods.partition import Clock
from tests import naive
from tests.clocks import ticking
from tests.unit.grouping.test_fitness import fitness_of


def table(rows: int = 60, columns: int = 5) -> np.ndarray:
    """Columns of which the first two and the others are alike."""
    rng = np.random.default_rng(7)
    base = rng.gamma(2.0, 1.0, (rows, 2))
    which = np.minimum(np.arange(columns) // 2, 1)
    return base[:, which] + 0.3 * rng.gamma(2.0, 1.0, (rows, columns))


def found(fitness: Fitness | None = None, **given: Any) -> Found:
    how: dict[str, Any] = {"population": 20, "generations": 15, "seed": 0, "clock": Clock()}
    return gomm(fitness or fitness_of(table(), 12), **how | given)


def groupings(columns: list[int]) -> Iterator[list[list[int]]]:
    """Every grouping of columns."""
    if not columns:
        yield []
        return
    first, *rest = columns
    for groups in groupings(rest):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("k", [3, 12])
def test_the_best_of_all_groupings_is_found(dynamic: bool, k: int) -> None:
    fitness = fitness_of(table(), k)
    every = list(groupings(list(range(5))))
    assert len(every) == 52
    least = min(fitness.measure(encoded(groups).key).score for groups in every)
    best = found(fitness, dynamic=dynamic)
    assert best.measured.score == least
    assert naive.is_grouping(best.groups, 5)
    assert fitness.measure(encoded(best.groups).key) == best.measured


def test_more_groups_win_as_k_grows() -> None:
    assert len(found(fitness_of(table(), 2)).groups) <= len(found(fitness_of(table(), 20)).groups)


def test_the_seed_decides_whatever_the_number_of_threads() -> None:
    # Few generations, so that searches differ.
    some = [found(threads=t, generations=1, population=4, seed=3) for t in (1, 2, 5)]
    assert some[0] == some[1] == some[2]
    others = {found(generations=1, population=4, seed=seed).groupings for seed in range(5)}
    assert len(others) > 1


def test_clones_are_measured_once_and_so_are_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: Counter[Any] = Counter()
    aggregated: Counter[int] = Counter()
    measure, aggregate = Fitness.measure, Fitness.aggregate

    def count_measure(self: Fitness, key: Key) -> Measured:
        measured[key] += 1
        return measure(self, key)

    def count_aggregate(self: Fitness, group: int) -> Any:
        aggregated[group] += 1
        return aggregate(self, group)

    monkeypatch.setattr(Fitness, "measure", count_measure)
    monkeypatch.setattr(Fitness, "aggregate", count_aggregate)
    fitness = fitness_of(table(), 12)
    best = found(fitness)
    assert best.groupings == len(measured) == len(fitness.known) <= 52
    assert set(measured.values()) == {1}
    del aggregated[0b11111]  # the single group is measured by itself, before there are threads
    assert set(aggregated.values()) == {1}


def test_selection_merges_and_prefers_the_elder() -> None:
    good, fair, bad = encoded([[0, 1, 2]]), encoded([[0, 1], [2]]), encoded([[0], [1], [2]])
    worth = {good.key: 1.0, fair.key: 2.0, bad.key: 3.0}
    kept, useful = selected([good, bad], [("a", fair), ("b", bad)], 2, lambda c: worth[c.key])
    assert kept == [good, fair]
    assert useful == {"", "a"}
    kept, useful = selected([fair], [("a", encoded([[2], [0, 1]]))], 1, lambda c: worth[c.key])
    assert kept[0] is fair and useful == {""}
    kept, _ = selected([good], [("a", fair)], 5, lambda c: worth[c.key] if c == good else math.inf)
    assert kept == [good]  # what there was no time to measure does not survive


def test_clones_are_a_tenth_of_the_population_at_most() -> None:
    good, bad = encoded([[0, 1]]), encoded([[0], [1]])
    kept, _ = selected([good] * 30, [("a", bad)] * 30, 20, lambda c: float(len(c.groups)))
    assert kept == [good, good, bad, bad]


def test_an_operator_is_retired_after_five_useless_generations() -> None:
    operators = Operators(dynamic=True)
    for _ in range(PATIENCE - 1):
        operators.judge({CROSSOVER})
    operators.judge({"element_move", CROSSOVER})
    assert operators.at_work == [CROSSOVER, "element_move"]
    for _ in range(PATIENCE):
        operators.judge({"group_split", CROSSOVER})
    assert operators.at_work == [CROSSOVER]
    assert operators.retired == tuple(MUTATIONS)
    still = Operators(dynamic=False)
    for _ in range(2 * PATIENCE):
        still.judge(set())
    assert len(still.at_work) == 6


def test_a_dynamic_search_ends_when_nothing_helps_any_more() -> None:
    dynamic, plain = found(dynamic=True, generations=60), found(generations=60)
    assert plain.generations == 60 and plain.retired == ()
    assert dynamic.generations < 60
    assert dynamic.retired == (CROSSOVER, *MUTATIONS)
    assert dynamic.measured == plain.measured


def test_without_time_the_single_group_is_given() -> None:
    best = found(clock=Clock(budget=0.0))
    assert best.groups == [[0, 1, 2, 3, 4]]
    assert (best.generations, best.groupings) == (0, 1)


def test_a_budget_ends_a_long_search() -> None:
    fitness = fitness_of(np.random.default_rng(0).normal(size=(1000, 12)), 3)
    clock = ticking(budget=50)
    best = found(fitness, clock=clock, generations=10_000, population=200)
    assert best.generations < 50
    assert clock.seconds < 100
    assert naive.is_grouping(best.groups, 12)


def test_a_kill_ends_it_and_leaves_no_thread() -> None:
    fitness = fitness_of(np.random.default_rng(0).normal(size=(1000, 12)), 3)
    before = threading.active_count()
    calls = 0

    def interrupted(share: float) -> None:
        nonlocal calls
        calls += 1
        if calls == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(fitness, clock=Clock(progress=interrupted), population=200)
    assert calls == 20
    assert threading.active_count() == before


def test_progress_grows_to_one() -> None:
    told: list[float] = []
    found(clock=Clock(progress=told.append))
    assert told == sorted(told)
    assert told[-1] == 1.0


def in_child(queue: Any) -> None:
    queue.put(found())


def test_a_forked_child_finds_the_same() -> None:
    expected = found()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(10)
    assert child.exitcode == 0


def test_a_table_without_2k_rows_stays_in_one_group() -> None:
    best = found(fitness_of(table(rows=5), 3))
    assert best.groups == [[0, 1, 2, 3, 4]]


def test_the_last_step_goes_down_to_the_best_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "drawn", lambda columns, rng: encoded([list(range(columns))]))
    monkeypatch.setattr(module, "offspring", lambda *given: iter(()))
    fitness = fitness_of(table(), 12)
    best = found(fitness, generations=1)
    near = [fitness.measure(c.key).score for c in neighbours(encoded(best.groups))]
    assert len(best.groups) > 1
    assert best.measured.score == min(near)
