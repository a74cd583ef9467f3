"""The gate: what may leave of a figure that was computed from raw rows.

Whoever reads an outside figure also has the published table, what else was said of it, and perhaps
most of the raw rows. So a figure leaves only

* if many entities stand behind it: `MINIMUM` times k at least, none with more than 1/k of it;
* rounded: one step is what k of all entities could change, k/n of the figure's scale;
* about published cells alone, so that nothing suppressed, dropped or imputed is part of it;

and a count leaves only if it, in each column, and what it leaves there of a total that is known, is
0 or has k entities; otherwise it is said to be below k, or withheld.
Everything else is a function of the published table, or of the release file, and tells nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: How many of a column are counted, and how many others there are, if that is known.
Part = tuple[int, int | None]
Count = int | str | None
#: With fewer entities than this many times k only the verdict and k leave.
MINIMUM = 10
FEWER = "fewer than k"


@dataclass(frozen=True, slots=True)
class Gate:
    """What decides on the figures of one table.

    Parameters
    ----------
    k
        The least number of entities that share a published value.
    entities
        The entities of the published table.
    """

    k: int
    entities: int

    @property
    def is_open(self) -> bool:
        """Whether there are enough entities for any figure to leave."""
        return self.entities >= MINIMUM * self.k

    def figure(
        self,
        value: float | None,
        scale: float,
        parts: NDArray[np.float64] | None = None,
    ) -> float | None:
        """Round a figure to what k entities allow; withhold one that few of them make up.

        Parameters
        ----------
        value
            The figure, over all entities of the table.
        scale
            What the figure is measured in: 100 for a percentage, the published standard deviation
            for a mean. It must be known to everybody.
        parts : (entities,)
            What each entity adds to the sum behind the figure; none is negative.
        """
        if value is None or not math.isfinite(value) or not self.is_open or self.is_few(parts):
            return None
        step = nice(abs(scale) * self.k / self.entities)
        if not step:
            return 0.0 if value == 0 else None
        digits = max(0, -math.floor(math.log10(step)))
        return round(round(value / step) * step, digits) + 0.0

    def is_few(self, parts: NDArray[np.float64] | None) -> bool:
        """Whether an entity makes up more than 1/k of a sum."""
        if parts is None or not len(parts):
            return False
        return bool(parts.max() * self.k > parts.sum() * (1 + 1e-9))

    def count(self, many: int, entities: int, parts: Sequence[Part] | None = None) -> Count:
        """Tell a count of cells or rows.

        Parameters
        ----------
        many
            The count.
        entities
            The entities that it is about.
        parts
            What it is the sum of, by column: how many it is there, and how many others there are
            where both together can be seen in the published table (else ``None``). By default the
            count is of one column, and nothing is known of the others.
        """
        if not self.is_open:
            return None
        parts = [(min(many, entities), None)] if parts is None else parts
        known = [(one, other) for one, other in parts if other is not None and one + other > 0]
        # Each word below has two numbers behind it at least. Of two that are known together one
        # could be told by a word alone, as long as they are not 2k - 1 or more.
        wide = all(one + other >= 2 * self.k - 1 for one, other in known)
        if self.k == 2 and not wide:
            return None
        if not many:  # with k = 2, were none told as 0, fewer than two would be one
            return FEWER if self.k == 2 else 0
        if any(self._few(one) for one, _ in parts if one) or any(
            self._few(one) or self._few(other) for one, other in known
        ):
            return FEWER if wide and min(many, entities) < self.k else None
        return many

    def _few(self, many: int) -> bool:
        """Whether a count is too small to be told; with k = 2 none is one of them."""
        return (0 if self.k > 2 else -1) < many < self.k


def nice(step: float) -> float:
    """Round a step up to 1, 2 or 5 times a power of ten; 0 for what is no step."""
    if step <= 0 or not math.isfinite(step):
        return 0.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= step * (1 - 1e-9))


#: What a stage may say to others of its run: XComs, events, metrics and logs are kept in clear text
#: and read by many. All that is not named stays in staging. Why each may leave:
#: names of methods, columns and groups, `release`, `interval`, `k` and `mode` are in the release
#: file; `rows`, `clusters`, `k…`, `checks` and `digest` can be computed from the published table,
#: but for `k…` of entities (see `told_k`); `seconds` and `uris` are not about the rows; figures,
#: counts and shares in warnings went through the gate. Warnings of standardize stay: a column that
#: is constant has no other cell, not even where it was suppressed.
TOLD: Mapping[str, tuple[str, ...]] = {
    "extract": ("release", "interval", "columns"),
    "standardize": ("method", "columns"),
    "group": ("method", "groups"),
    "aggregate": ("method", "k", "rows", "clusters", "seconds", "checks"),
    "validate": ("passed", "k", "checks", "k_joint", "k_by_group", "warnings", "data_docs"),
    "report": ("verdict", "uris"),
    "publish": ("release", "table", "mode", "rows", "k", "digest", "uris"),
    "approve": ("approved", "by", "at", "release", "release_digest", "run_id"),
}


def told_outside(stage: str, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Take what may leave of a stage's summary: what is named, and what the gate let through."""
    found = {name: summary[name] for name in TOLD[stage] if name in summary}
    return found | dict(summary.get("outside", {}))


def told_k(k: int, counted: Mapping[str, Any]) -> dict[str, Any]:
    """Tell k as it was asked for, where entities were counted.

    Rows can be counted in the published table, entities cannot: who knows both knows how many rows
    are somebody's second.
    """
    least = {"k": min(counted["k"], k)}
    return least | ({"k_joint": None, "k_by_group": []} if counted.get("k_by_group") else {})
