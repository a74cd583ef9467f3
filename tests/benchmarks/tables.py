"""Generated tables, always the same for the same shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Table = Callable[[int, int], np.ndarray]


def normal(rows: int, columns: int) -> np.ndarray:
    """Independent normal columns: the hardest case for anything that prunes by distance."""
    return np.random.default_rng([rows, columns]).normal(size=(rows, columns))


def real_shaped(rows: int, columns: int) -> np.ndarray:
    """What a register looks like: heavy tails, correlated columns, whole numbers, equal rows.

    A few hidden factors make the columns; every third one is an amount with a long tail, every
    third a small count. One row in twenty is a copy of another. Standardized. The factors weigh the
    same whatever the number of rows, so that times at several sizes can be set side by side.
    """
    rng = np.random.default_rng([rows, columns, 1])
    factors = rng.normal(size=(rows, max(2, columns // 4)))
    X = factors @ np.random.default_rng(columns).normal(size=(factors.shape[1], columns))
    X += 0.5 * rng.normal(size=X.shape)
    X[:, ::3] = np.exp(X[:, ::3])
    X[:, 1::3] = rng.poisson(np.exp(np.clip(X[:, 1::3] / 2, None, 4)))
    copies = rng.choice(rows, rows // 20, replace=False)
    X[copies] = X[rng.choice(rows, len(copies))]
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))
