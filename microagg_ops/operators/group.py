"""Group: decide which quasi-identifiers are aggregated together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.operators.base import MicroaggOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.single_stage import Alone


class MicroaggGroupOperator(MicroaggOperator):
    """Group the quasi-identifiers of a release; alone: of a table, into the XCom.

    Parameters
    ----------
    quasi
        Alone: the columns, or a mapping of them to a type, or to what a release file says of one.
    nulls
        Alone: what a NULL means: reject, own_class or impute.
    groups
        Alone: the groups, or what a release file says of them, such as ``{"method": "correlated",
        "size": 3}``; without them all columns make one.
    k
        Alone: the least class size, where groups are searched for (gomm, dgomm).
    standardize
        Alone: zscore, minmax, robust or none.
    **kwargs
        As for `MicroaggOperator`.
    """

    stage = "group"
    option_names = ("quasi", "nulls", "groups", "standardize", "k")

    def __init__(
        self,
        *,
        quasi: Sequence[str] | Mapping[str, Any] = (),
        nulls: str = "reject",
        groups: Sequence[Sequence[str]] | Mapping[str, Any] = (),
        standardize: str = "zscore",
        k: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.quasi = quasi
        self.nulls = nulls
        self.groups = groups
        self.standardize = standardize
        self.k = k

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Return the groups."""
        return alone.group(self.source_place(), self.options_of(context))
