"""Contributors: k entities are behind every published value, none of them imputed."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Finding
from microagg_ops.checks.evidence import Evidence, Groups
from microagg_ops.columns.dominance import parts
from microagg_ops.columns.encoding import decode, read
from microagg_ops.release.model import Release


class Contributors(Check):
    """k entities are behind every value, where cells are imputed."""

    titles = {"contributors": "Contributors"}
    units = {"contributors": "{} entities"}
    key = "(with `nulls: impute`)"
    shown = "`contributors`"
    about = "k entities are behind every published value, none of them imputed"

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Count who is behind each value."""
        release = evidence.release
        if release.nulls == "impute" and evidence.has_source:
            claim = f"every published value comes from {release.k} entities or more, none imputed"
            least = fewest(evidence)
            yield Finding("contributors", claim, release.k, least, least >= release.k, {})

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise another rule for NULL."""
        return (
            "nulls",
            "Cells were published that too few entities are behind: run the release again from the "
            "start, with nulls: own_class if it fails again.",
        )


def fewest(evidence: Evidence) -> int:
    """Find the least number of entities that contribute to a published value."""
    import numpy as np
    import pyarrow as pa

    rows, least = evidence.microdata, []
    for names, labels in zip(evidence.groups, evidence.labels, strict=True):
        least.append(int(parts(rows.weights, labels, rows.entities).entities().min()))
        for name in names:
            if name not in evidence.behind:
                continue
            behind, old = evidence.behind[name], rows.before[name]
            cells = pa.chunked_array([decode(old, behind.codes)])
            codes = read(name, old.how, cells, old.categories).codes
            # Of a value that should be another one nobody knows whose it is.
            same = evidence.after[name].codes == codes[behind.labels]
            least.append(int(np.where(same, behind.entities[behind.labels], 0).min()))
    return min(least)
