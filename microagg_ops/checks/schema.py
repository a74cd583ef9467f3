"""The schema: the columns, their order and their types are those declared."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Claim
from microagg_ops.checks.evidence import Evidence, Groups
from microagg_ops.release.model import Release


class Schema(Check):
    """The table has the columns that were declared."""

    titles = {"schema": "Columns and types"}
    units = {"schema": "{} differences"}
    key = "(always)"
    shown = "`schema`"
    about = "columns, order and types are those declared"

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for it always."""
        yield "schema"

    def claims(self, evidence: Evidence) -> Iterator[Claim]:
        """Claim that the table has the columns that were declared."""
        from microagg_ops.expectations import ExpectTableSchemaToBeAsDeclared

        claim = "the columns, their order and their types are those declared"
        declared = evidence.declared
        types = {name: kind for name, kind in declared.items() if kind is not None}
        expectation = ExpectTableSchemaToBeAsDeclared(columns=list(declared), types=types)
        yield Claim("schema", claim, 0, expectation, beside=False)

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Point to the columns."""
        return (
            "columns",
            "The columns to publish are not those that the release names: compare columns and "
            "strata with the source.",
        )
