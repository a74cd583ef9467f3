"""Group: decide which quasi-identifiers are aggregated together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.operators.base import MicroaggOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.alone import Alone


class MicroaggGroupOperator(MicroaggOperator):
    """Group the quasi-identifiers of a release; alone: of a table, into the XCom.

    Parameters
    ----------
    quasi
        Alone: the columns, or a mapping of them to a type, or to what a release file says of one.
    nulls
        Alone: what a NULL means: reject, own_class or impute.
    groups
        Alone: the groups; without them all columns make one.
    standardize
        Alone: zscore, minmax, robust or none.
    **kwargs
        As for `MicroaggOperator`.
    """

    stage = "group"
    option_names = ("quasi", "nulls", "groups", "standardize")

    def __init__(
        self,
        *,
        quasi: Sequence[str] | Mapping[str, Any] = (),
        nulls: str = "reject",
        groups: Sequence[Sequence[str]] = (),
        standardize: str = "zscore",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.quasi = quasi
        self.nulls = nulls
        self.groups = groups
        self.standardize = standardize

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Give the groups."""
        return alone.group(self.source_place(), self.options_of(context))
