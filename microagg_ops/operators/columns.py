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
        says of one: type, order, weight, representative, cast, hierarchy and so on.
    k
        Alone: the least number of entities that share a combination of them.
    sensitive
        Alone: the other columns to keep; columns that are not named do not leave.
    may_leave
        Alone: why columns may leave that could name people, as ``columns.may_leave`` of a release
        file says it: ``{"income": "amounts are what the table is about"}``.
    entity
        Alone: a column whose distinct values are counted for k; without it rows are counted.
    strata
        Alone: columns to keep whose values clusters do not cross.
    nulls
        Alone: what a NULL in a quasi-identifier means: reject, own_class or impute.
    k_of
        Alone: lists of quasi-identifiers that must have k by themselves:
        ``[["age", "sex"], ["postcode"]]``.
    l, t
        Alone: how diverse sensitive columns must be in every class, and how close to the table,
        as ``validate.l`` and ``validate.t`` of a release file say it.
    checks
        Alone: the checks of other packages that must pass, each by its name with its parameters.
    **kwargs
        As for `MicroaggOperator`.
    """

    option_names: ClassVar[tuple[str, ...]] = (
        "quasi", "k", "sensitive", "may_leave", "entity", "strata", "nulls",
        "k_of", "l", "t", "checks",
    )  # fmt: skip

    def __init__(
        self,
        *,
        quasi: Sequence[str] | Mapping[str, Any] = (),
        k: int | None = None,
        sensitive: Sequence[str] = (),
        may_leave: Mapping[str, str] | None = None,
        entity: str | None = None,
        strata: Sequence[str] = (),
        nulls: str = "reject",
        k_of: Sequence[Sequence[str]] = (),
        l: Mapping[str, Any] | None = None,  # noqa: E741
        t: Mapping[str, Any] | None = None,
        checks: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.quasi = quasi
        self.k = k
        self.sensitive = sensitive
        self.may_leave = may_leave or {}
        self.entity = entity
        self.strata = strata
        self.nulls = nulls
        self.k_of = k_of
        self.l = l or {}
        self.t = t or {}
        self.checks = checks or {}
