"""t: the values of a sensitive column are spread in every class as in the table."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Claim, by_entities, classes_of, unmet, where
from microagg_ops.checks.evidence import Evidence, Groups, Published
from microagg_ops.release.model import Release


class TClose(Check):
    """No class is far from the table."""

    titles = {"t_close": "t-closeness"}
    units = {"t_close": "distance {}"}
    key = "`t: {column: 0.3}`"
    shown = "`t_close_<column>`"
    about = (
        "no class is farther from the table: earth mover's distance, or total variation for text"
    )

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for it in each column that has a limit."""
        yield from (f"t_close_{name}" for name in release.validate.t)

    def claims(self, evidence: Evidence) -> Iterator[Claim]:
        """Claim closeness of each column that has a limit."""
        from microagg_ops.expectations import ExpectTableToBeTClose

        release = evidence.release
        for name, how in release.validate.t.items():
            claim = f"in {where(release)} {name} is at most {how.t:g} from its spread in the table"
            options = {"sensitive": name, "t": how.t, "ordered": how.ordered}
            expectation = ExpectTableToBeTClose(**options, **classes_of(release, release.quasi))
            yield Claim(f"t_close_{name}", claim + by_entities(release), how.t, expectation)

    def recount(self, published: Published) -> Iterator[str]:
        """Tell of sensitive columns that are farther from the table than demanded."""
        from microagg_ops.metrics import t_closeness
        from microagg_ops.metrics.anonymity import is_close

        table, entity = published.table, published.release.columns.entity
        for name, how in published.release.validate.t.items():
            t = t_closeness(table, published.classes, name, entity, ordered=how.ordered)
            if not is_close(t, how.t):
                yield f"a class is {t:.4g} from the table in {name}, and {how.t:g} was allowed"

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise clusters that are built to meet it."""
        return unmet(release, groups, f"validate.t.{rest}", "raise")
