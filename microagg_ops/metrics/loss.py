"""Information loss: how much of the spread of the data the protection removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def sse(before: ArrayLike, after: ArrayLike) -> float:
    """Sum of squared differences between two arrays of rows by columns."""
    import numpy as np

    return float(((np.asarray(before, float) - np.asarray(after, float)) ** 2).sum())


def sst(before: ArrayLike) -> float:
    """Sum of squared differences from the column means."""
    import numpy as np

    values = np.asarray(before, float)
    return sse(values, values.mean(axis=0, keepdims=True))


def information_loss(before: ArrayLike, after: ArrayLike) -> float:
    """SSE/SST in percent; 0 where there was no spread to lose."""
    spread = sst(before)
    return 100.0 * sse(before, after) / spread if spread > 0 else 0.0


def centroids(points: NDArray[np.float64], labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Mean of each cluster, clusters by columns."""
    import numpy as np

    from microagg_ops.kernels import sums

    means: NDArray[np.float64] = sums.centroids(
        np.ascontiguousarray(points.T, np.float64), labels, int(labels.max()) + 1
    )
    return means
