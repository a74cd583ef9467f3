"""The generator equals one written with Python's whole numbers, and is fair."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from microagg_ops.kernels import random
from tests.naive import xoshiro


@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (1, 0), (1, 7), (2**63 - 1, 3)])
def test_bits_are_those_of_the_definition(seed: int, stream: int) -> None:
    state, expected = random.seeded(seed, stream), xoshiro(seed, stream)
    assert [int(random.bits(state)) for _ in range(100)] == [next(expected) for _ in range(100)]


def test_seeds_and_streams_differ() -> None:
    starts = {tuple(random.seeded(seed, stream)) for seed in range(20) for stream in range(20)}
    assert len(starts) == 400


def test_numbers_below_n_are_even() -> None:
    state = random.seeded(5, 0)
    counts = Counter(random.below(state, 6) for _ in range(60_000))
    assert sorted(counts) == [0, 1, 2, 3, 4, 5]
    assert max(abs(many - 10_000) for many in counts.values()) < 500


def test_a_shuffle_keeps_the_values() -> None:
    values = np.arange(100)
    random.shuffle(random.seeded(3, 0), values)
    assert sorted(values) == list(range(100))
    assert list(values) != list(range(100))
