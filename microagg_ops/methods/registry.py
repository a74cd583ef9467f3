"""The methods there are, each with its traits: what others need to know of it without its name.

A package adds a method of its own by an entry point of the group ``microagg_ops.methods`` that
leads to a `Method`; it is then a method like any other, in release files too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from microagg_ops.plugins import plugins

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Function = Callable[..., NDArray[np.int32]]

# What every method takes; the rest are parameters of its own.
COMMON = ("points", "k", "seed", "clock")


@dataclass(frozen=True)
class Method:
    """A way to find clusters.

    Parameters
    ----------
    name, about
        Its name, and what it does in a line.
    where
        ``module:function``, imported when it is first used:
        ``f(points, k, *, seed, clock, **params) -> labels``.
    refines
        Whether it begins with the partition of another method.
    one_column
        Whether it takes one column alone, and then finds the least loss there is.
    """

    name: str
    about: str
    where: str = field(repr=False)
    refines: bool = False
    one_column: bool = False

    def load(self) -> Function:
        """Import the method's function."""
        module, _, function = self.where.partition(":")
        found: Function = getattr(import_module(module), function)
        return found

    @cached_property
    def params(self) -> Mapping[str, Any]:
        """Its parameters and their defaults."""
        import inspect

        found = inspect.signature(self.load()).parameters
        return {name: one.default for name, one in found.items() if name not in COMMON}

    @property
    def searches(self) -> bool:
        """Whether it goes on for as long as it is let, and has a result at any time."""
        return "iterations" in self.params

    @property
    def starts(self) -> bool:
        """Whether a search may begin with what it finds."""
        return not self.refines and not self.one_column

    def briefly(self, iterations: int = 1) -> dict[str, Any]:
        """Set its parameters so that it ends soon."""
        return {"iterations": iterations} if self.searches else {}


class Registry(Mapping[str, Method]):
    """Methods by name: those of this package, then those of others, found when first asked for."""

    def __init__(self, own: tuple[Method, ...]) -> None:
        self._own = {method.name: method for method in own}

    @cached_property
    def _all(self) -> dict[str, Method]:
        added = (found.load() for name, found in plugins("methods").items())
        return self._own | {m.name: m for m in added if m.name not in self._own}

    def __getitem__(self, name: str) -> Method:
        return self._own.get(name) or self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def _own(name: str, where: str, about: str, **traits: bool) -> Method:
    return Method(name, about, f"microagg_ops.methods.{where}", **traits)


METHODS = Registry(
    (
        _own(
            "mdav", "mdav:mdav",
            "Maximum distance to average vector, exact, by a tree. Fixed size, deterministic.",
        ),
        _own(
            "fmdav", "fmdav:fmdav",
            "MDAV by brute force with the improvements of F-MDAV, to compare with. Quadratic.",
        ),
        _own(
            "vmdav", "vmdav:vmdav",
            "MDAV whose clusters grow to 2k - 1 rows where rows are close. Quadratic.",
        ),
        _own(
            "best", "best:best",
            "The lowest loss within the budget: annealing and chains, from MDAV's partition on.",
            refines=True,
        ),
        _own(
            "ls", "ls:ls",
            "Local search: rows swap clusters and shift until none helps. Quadratic.",
            refines=True,
        ),
        _own(
            "lsc", "ls:lsc",
            "Local search that skips pairs of clusters that did not change: ls, but faster.",
            refines=True,
        ),
        _own(
            "ilsm", "ilsm:ilsm",
            "Iterated local search: clusters are dissolved and distilled. Anytime, quadratic.",
            refines=True,
        ),
        _own(
            "ilsmc", "ilsm:ilsmc",
            "Iterated local search that skips pairs that did not change: ilsm, but faster.",
            refines=True,
        ),
        _own(
            "optimal", "optimal:optimal",
            "The least possible loss, for one column alone. Fast, deterministic.",
            one_column=True,
        ),
        _own(
            "mhm", "mhm:mhm",
            "Best clusters along a given path. Variable size, deterministic, linear.",
        ),
        _own(
            "npn_mhm", "tsp_mhm:npn_mhm",
            "Best clusters along the path of nearest points. Variable size, deterministic.",
        ),
        _own(
            "mdav_mhm", "tsp_mhm:mdav_mhm",
            "Best clusters along the path through those of MDAV; never worse than MDAV.",
        ),
        _own(
            "mdav_lk_mhm", "tsp_mhm:mdav_lk_mhm",
            "Best clusters along the path through those of MDAV, made shorter by a search.",
        ),
        _own(
            "tsp_mhm", "tsp_mhm:tsp_mhm",
            "Best clusters along a short tour of all rows. Variable size, quadratic.",
        ),
        _own(
            "compress_tsp_mhm", "tsp_mhm:compress_tsp_mhm",
            "Best clusters along a tour of small clusters: tours for larger tables.",
        ),
        _own(
            "mf_tsp", "mf_tsp:mf_tsp",
            "Clusters of rows that are neighbours on paths from every row. Fixed size, cubic.",
        ),
        _own(
            "rcs", "rcs:rcs",
            "Random cluster shuffling of the partition of another method. Variable size.",
            refines=True,
        ),
        _own(
            "icsm", "icsm:icsm",
            "Migrations, exchanges and circles of records until none helps. Anytime, quadratic.",
            refines=True,
        ),
    )
)  # fmt: skip


def for_one_column() -> str:
    """Name the method that finds the least loss of a single column."""
    return next(method.name for method in METHODS.values() if method.one_column)
