"""Blocks are tasks that refer to nothing else, and any engine that answers gives the same table."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.columns.dominance import Rule
from microagg_ops.columns.encoding import read
from microagg_ops.columns.strata import settled
from microagg_ops.engines.blocks import Block, Clusters, Search, find_clusters
from microagg_ops.engines.local import LOCAL, LocalEngine
from microagg_ops.methods import partition
from microagg_ops.methods.partition import Progress, no_progress
from microagg_ops.release.columns import Quasi
from microagg_ops.stages import stage_function
from microagg_ops.stages.artefacts import Protected
from tests.unit.stages.conftest import MakeRun, make_run

__all__ = ["make_run"]
NOTHING = Rule(k=3, n=1, share=1.0, p=0.0)


def block_of(points: np.ndarray, entities: Any = None, **more: Any) -> Block:
    rows = np.arange(len(points)) if entities is None else np.asarray(entities)
    given: dict[str, Any] = {
        "points": points,
        "entities": rows.astype(np.int32),
        "weights": np.ones(len(points)),
        "shown": (),
        "rule": NOTHING,
        "search": Search("mdav", 3),
    }
    return Block(**given | more)


class ElsewhereEngine(LocalEngine):
    """Blocks travel as bytes, and the last is partitioned first."""

    def clusters(
        self, blocks: Iterable[Block], progress: Progress = no_progress
    ) -> Iterator[Clusters]:
        sent = [pickle.dumps(block) for block in blocks]
        found = [find_clusters(pickle.loads(block)) for block in reversed(sent)]
        progress(1.0)
        yield from reversed(found)


def test_a_block_is_partitioned_as_its_rows_are() -> None:
    points = np.random.default_rng(0).normal(size=(40, 2))
    found = find_clusters(block_of(points))
    assert found.labels.tolist() == partition(points, 3).tolist()
    assert found.method == "mdav"


def test_a_block_that_cannot_be_cut_is_one_cluster() -> None:
    found = find_clusters(block_of(np.empty((5, 0)), search=None))
    assert (found.labels.tolist(), found.method, found.trajectory) == ([0] * 5, None, ())


def test_rows_of_an_entity_share_a_cluster() -> None:
    rng = np.random.default_rng(1)
    entities = np.concatenate([np.arange(20), rng.integers(0, 20, 30)])
    points = rng.normal(size=(50, 2))
    labels = find_clusters(block_of(points, entities)).labels
    assert all(len(set(labels[entities == entity])) == 1 for entity in range(20))
    assert min(len(set(entities[labels == label])) for label in set(labels)) >= 3


def test_clusters_that_break_the_rule_are_joined() -> None:
    points = np.random.default_rng(2).normal(size=(30, 2))
    weights = np.ones(30)
    weights[4] = 20.0
    strict = replace(NOTHING, share=0.8)
    alone = find_clusters(block_of(points)).labels
    joined = find_clusters(block_of(points, weights=weights, rule=strict)).labels
    assert (alone == alone[4]).sum() < 6 <= (joined == joined[4]).sum()


def test_a_median_that_is_one_entity_s_alone_is_joined() -> None:
    values = np.array([1.0, 2.0, 2.0, 30.0, 40.0, 50.0, 60.0, 70.0])
    column = read("a", Quasi("number", representative="median"), pa.chunked_array([values]))
    least = replace(NOTHING, k=2, share=0.8)
    search = Search("mdav", 2)
    plain = find_clusters(block_of(values[:, None], search=search)).labels
    shown = find_clusters(block_of(values[:, None], search=search, rule=least, shown=(column,)))
    assert shown.labels.max() <= plain.max()
    assert (
        not block_of(values[:, None], rule=least, shown=(column,))
        .breaks()(np.arange(8), shown.labels)
        .any()
    )


def test_a_search_tells_its_trajectory_and_keeps_to_its_parameters() -> None:
    points = np.random.default_rng(3).normal(size=(60, 2))
    how = Search("ilsmc", 3, seed=5, params={"iterations": 40})
    found = find_clusters(block_of(points, search=how))
    assert found.trajectory[-1].iterations == 40
    assert found.labels.tolist() == partition(points, 3, "ilsmc", seed=5, iterations=40).tolist()


def test_progress_counts_blocks_by_their_shares() -> None:
    rng, told = np.random.default_rng(4), list[float]()
    shares = (0.25, 0.75)
    tasks = [block_of(rng.normal(size=(30, 2)), share=share) for share in shares]
    assert len(list(LOCAL.clusters(tasks, told.append))) == 2
    assert told == sorted(told)
    assert 0.25 in told
    assert told[-1] == 1.0


def test_blocks_are_made_one_after_the_other() -> None:
    made: list[int] = []

    def blocks() -> Iterator[Block]:
        for i in range(3):
            made.append(i)
            yield block_of(np.random.default_rng(i).normal(size=(10, 2)))

    found = LOCAL.clusters(blocks())
    next(found)
    assert made == [0]


@pytest.mark.parametrize("nulls", ["own_class", "impute"])
def test_an_engine_elsewhere_gives_the_same_table(make_run: MakeRun, nulls: str) -> None:
    rng = np.random.default_rng(6)
    gaps = rng.random(300) < 0.2
    table = {
        "who": rng.integers(0, 150, 300),
        "a": pa.array(rng.normal(size=300), mask=gaps),
        "b": pa.array(rng.integers(0, 40, 300), mask=rng.random(300) < 0.1),
        "c": rng.choice(["x", "y", "z"], 300),
        "r": rng.choice(["n", "s", "w"], 300, p=[0.5, 0.45, 0.05]),
        "s": rng.integers(0, 9, 300),
    }
    quasi = {"a": {"type": "number"}, "c": {"type": "nominal"}}
    quasi["b"] = {"type": "integer", "representative": "median"}
    columns = {"quasi": quasi, "entity": "who", "sensitive": ["s"]}
    sections: dict[str, Any] = {
        "columns": columns, "strata": ["r"], "small_strata": "merge", "nulls": nulls,
        "aggregate": {"k": 4, "method": "ilsmc", "params": {"iterations": 30}},
    }  # fmt: skip
    found = []
    for engine in (LOCAL, ElsewhereEngine()):
        run = replace(make_run(table, **sections), engine=engine)
        for stage in ("standardize", "group", "aggregate"):
            stage_function(stage)(run)
        left = Protected.of(run)
        found.append((left.rows, left.origin, left.summary["method"], left.summary["clusters"]))
    assert found[0][0].equals(found[1][0])
    assert found[0][1].equals(found[1][1])
    assert found[0][2:] == found[1][2:]


def test_strata_are_settled_by_the_sizes_that_an_engine_counts() -> None:
    table, entities = pa.table({"r": ["a"] * 5 + ["b"] * 2}), np.arange(7)
    asked: list[int] = []

    def count(classes: np.ndarray, who: np.ndarray) -> np.ndarray:
        asked.append(len(classes))
        return LOCAL.class_sizes(classes, who)

    found = settled(table, ["r"], entities, 3, rule="drop", count=count)
    assert (found.dropped, asked) == ((1, 2), [7])
