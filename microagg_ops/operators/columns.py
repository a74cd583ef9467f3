"""The columns of a table, as keyword arguments of operators that run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from microagg_ops.operators.base import MicroaggOperator


class MicroaggColumnsOperator(MicroaggOperator):
    """What the operators share that count k when they run alone.

    Parameters
    ----------
    quasi
        Alone: the quasi-identifiers, or a mapping of them to a type, or to what a release file
        says of one: type, order, weight, representative.
    k
        Alone: the least number of entities that share a combination of them.
    sensitive
        Alone: the other columns to keep; columns that are not named do not leave.
    entity
        Alone: a column whose distinct values are counted for k; without it rows are counted.
    strata
        Alone: columns to keep whose values clusters do not cross.
    nulls
        Alone: what a NULL in a quasi-identifier means: reject, own_class or impute.
    l, t
        Alone: how diverse sensitive columns must be in every class, and how close to the table,
        as ``validate.l`` and ``validate.t`` of a release file say it.
    **kwargs
        As for `MicroaggOperator`.
    """

    option_names: ClassVar[tuple[str, ...]] = (
        "quasi", "k", "sensitive", "entity", "strata", "nulls", "l", "t",
    )  # fmt: skip

    def __init__(
        self,
        *,
        quasi: Sequence[str] | Mapping[str, Any] = (),
        k: int | None = None,
        sensitive: Sequence[str] = (),
        entity: str | None = None,
        strata: Sequence[str] = (),
        nulls: str = "reject",
        l: Mapping[str, Any] | None = None,  # noqa: E741
        t: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.quasi = quasi
        self.k = k
        self.sensitive = sensitive
        self.entity = entity
        self.strata = strata
        self.nulls = nulls
        self.l = l or {}
        self.t = t or {}
