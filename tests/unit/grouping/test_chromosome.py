"""Chromosomes, and the operators that keep them groupings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg_ops.grouping.chromosome import (
    MUTATIONS,
    Chromosome,
    columns_of,
    crossing_site,
    crossover,
    drawn,
    encoded,
    injected,
    neighbours,
)
from tests import naive


def valid(found: Chromosome) -> bool:
    """Whether both parts tell the same grouping."""
    return (
        naive.is_grouping(found.parts, len(found.objects))
        and sorted(found.groups) == sorted(set(found.objects))
        and naive.is_grouping([columns_of(group) for group in found.key], len(found.objects))
    )


def sizes(found: Chromosome) -> list[int]:
    return sorted(map(len, found.parts))


@st.composite
def parents(draw: st.DrawFn) -> tuple[Chromosome, Chromosome, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    columns = draw(st.integers(1, 8))
    return drawn(columns, rng), drawn(columns, rng), rng


def test_both_parts_of_a_chromosome() -> None:
    found = encoded([[2, 3], [], [0, 1, 4]])
    assert found == Chromosome((1, 1, 0, 0, 1), (0, 1))
    assert found.parts == [[2, 3], [0, 1, 4]]
    clone = Chromosome((7, 7, 5, 5, 7), (7, 5))
    assert clone.key == found.key == (0b01100, 0b10011)
    assert encoded([[0, 1], [2, 3, 4]]).key != found.key


@given(parents())
def test_children_are_groupings(
    made: tuple[Chromosome, Chromosome, np.random.Generator],
) -> None:
    one, other, rng = made
    assert valid(one) and valid(other)
    assert all(map(valid, crossover(one, other, rng)))
    for mutation in MUTATIONS.values():
        assert valid(mutation(one, rng))
    assert all(map(valid, neighbours(one)))


@given(parents())
def test_a_child_has_groups_of_one_parent_and_is_else_like_the_other(
    made: tuple[Chromosome, Chromosome, np.random.Generator],
) -> None:
    one, other, rng = made
    site = crossing_site(one, rng)
    assert site and all(group in one.parts for group in site)
    child = injected(site, other)
    assert child.parts[: len(site)] == site
    taken = {column for group in site for column in group}
    left = [column for column in range(len(one.objects)) if column not in taken]
    for a in left:
        for b in left:
            together = other.objects[a] == other.objects[b]
            assert (child.objects[a] == child.objects[b]) == together


@given(parents())
def test_mutations_do_what_their_names_say(
    made: tuple[Chromosome, Chromosome, np.random.Generator],
) -> None:
    parent, _, rng = made
    many = len(parent.groups)
    eliminated = MUTATIONS["group_eliminate"](parent, rng)
    assert len(eliminated.groups) == max(1, many - 1)
    split = MUTATIONS["group_split"](parent, rng)
    assert len(split.groups) - many in ((1,) if min(sizes(parent)) > 1 else (0, 1))
    assert sizes(MUTATIONS["element_swap"](parent, rng)) == sizes(parent)
    moved = MUTATIONS["element_move"](parent, rng)
    if many > 1:
        assert moved.key != parent.key
        assert moved.key in {near.key for near in neighbours(parent)}
        assert many - len(moved.groups) in (0, 1)
    else:
        assert moved.key == parent.key


def test_a_split_is_even_and_a_created_group_can_be_all() -> None:
    rng = np.random.default_rng(0)
    single = encoded([list(range(6))])
    assert sizes(MUTATIONS["group_split"](single, rng)) == [3, 3]
    alone = encoded([[column] for column in range(3)])
    found = {MUTATIONS["group_create"](alone, rng).key for _ in range(200)}
    assert len(found) == 5  # every grouping of three columns, the single group among them


@pytest.mark.parametrize("columns", [1, 2])
def test_few_columns_are_no_error(columns: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        one, other = drawn(columns, rng), drawn(columns, rng)
        crossover(one, other, rng)
        for mutation in MUTATIONS.values():
            mutation(one, rng)
