"""Random small releases: what a table may be, and what its release may say of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

Random = np.random.Generator
LEVELS = ["none", "some", "much", "most"]
NULLS = ("own_class", "own_class", "impute", "reject")
# A number that a binary fraction of ten places holds: sums of a few hundred are exact.
GRAIN = 1024


@dataclass(frozen=True)
class Case:
    """A table, and what its release says of it.

    Parameters
    ----------
    table
        The source, rows as they come.
    sections
        The release but for where it reads and writes.
    """

    table: pa.Table
    sections: dict[str, Any]

    @property
    def k(self) -> int:
        return int(self.sections["aggregate"]["k"])

    @property
    def quasi(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.sections["columns"]["quasi"]
        return found

    @property
    def strata(self) -> list[str]:
        return list(self.sections.get("strata", ()))

    @property
    def document(self) -> dict[str, Any]:
        return {
            "release": "r",
            "source": {"conn_id": "warehouse", "table": "source"},
            "publish": {"conn_id": "warehouse", "table": "target"},
        } | self.sections

    def of(self, table: pa.Table) -> Case:
        """The same release of another table."""
        return replace(self, table=table)


def numbers(rng: Random, n: int) -> list[Any]:
    return (rng.integers(1, 2**30, n) / GRAIN).tolist()


def integers(rng: Random, n: int) -> list[Any]:
    # Ages, or what no two people share.
    return rng.integers(0, int(rng.choice([100, 10**9])), n).tolist()


def decimals(rng: Random, n: int) -> list[Any]:
    return [Decimal(int(c)).scaleb(-2) for c in rng.integers(1, 10**9, n)]


def dates(rng: Random, n: int) -> list[Any]:
    return [datetime.date(1930, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 3e4, n)]


def timestamps(rng: Random, n: int) -> list[Any]:
    first = datetime.datetime(2020, 1, 1)
    return [first + datetime.timedelta(0, int(s)) for s in rng.integers(0, 10**8, n)]


def texts(values: list[str]) -> Callable[[Random, int], list[Any]]:
    return lambda rng, n: rng.choice(values, n).tolist()


def booleans(rng: Random, n: int) -> list[Any]:
    return rng.choice([True, False], n).tolist()


KINDS: dict[str, tuple[pa.DataType, Callable[[Random, int], list[Any]]]] = {
    "number": (pa.float64(), numbers),
    "integer": (pa.int64(), integers),
    "decimal": (pa.decimal128(14, 2), decimals),
    "date": (pa.date32(), dates),
    "timestamp": (pa.timestamp("us"), timestamps),
    "ordinal": (pa.string(), texts(LEVELS)),
    "nominal": (pa.string(), texts([f"code_{c}{c}7" for c in "pqrstuvw"])),
    "boolean": (pa.bool_(), booleans),
}
# Numbers and whole numbers can be computed back: they come more often.
OFTEN = [*KINDS, "number", "number", "number", "integer", "integer"]
MEDIANS = ("number", "integer", "decimal", "date", "timestamp")


def random_case(seed: int) -> Case:
    """Make a release; the same seed makes the same."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    sizes = [(2, 2 * k), (2 * k, 61), (61, 401)]
    n = max(k, int(rng.integers(*sizes[rng.choice(3, p=[0.25, 0.5, 0.25])])))
    columns: dict[str, pa.Array] = {"ssn": pa.array([f"ssn-{i:05}-{seed}" for i in range(n)])}
    quasi = random_quasi(rng, n, columns)
    roles: dict[str, Any] = {"identifiers": ["ssn"], "quasi": quasi, "sensitive": ["s"]}
    columns["s"] = pa.array(texts(["flu", "cold", "asthma", "gout"])(rng, n))
    sections: dict[str, Any] = {"columns": roles, "aggregate": {"k": k}}
    if rng.random() < 0.2:
        more = [{"method": "ilsmc", "params": {"iterations": 20}}, {"method": "lsc"}]
        sections["aggregate"] |= more[int(rng.integers(2))]
    sections["nulls"] = str(rng.choice(NULLS))
    if sections["nulls"] != "reject":
        punch(rng, n, quasi, columns)
    if rng.random() < 0.5:
        columns["region"] = pa.array(regions(rng, n, k))
        sections |= {"strata": ["region"], "small_strata": str(rng.choice(["merge", "drop"]))}
    if rng.random() < 0.4:
        people = np.maximum.accumulate(np.where(rng.random(n) < 0.7, np.arange(n), 0))
        columns["person"], roles["entity"] = pa.array([f"person-{p:05}" for p in people]), "person"
    if rng.random() < 0.35:
        columns["w"], roles["weight"] = pa.array(rng.integers(64, 256, n) / 64), "w"
    if len(quasi) > 1 and rng.random() < 0.3:
        first, *others = quasi
        sections["group"] = {"method": "fixed", "groups": [[first], others]}
        sections["validate"] = {"guarantee": "per_group"}
    if rng.random() < 0.3:
        limits = {"max_information_loss": 1.0, "max_linkage": 1.0, "totals": 1e6}
        sections["validate"] = sections.get("validate", {}) | limits
    sections["standardize"] = {"method": str(rng.choice(["zscore", "minmax", "robust", "none"]))}
    return Case(pa.table(columns), sections)


def random_quasi(rng: Random, n: int, columns: dict[str, pa.Array]) -> dict[str, dict[str, Any]]:
    """Choose quasi-identifiers, and put their cells beside the other columns."""
    quasi: dict[str, dict[str, Any]] = {}
    for i, kind in enumerate(rng.choice(OFTEN, rng.integers(1, 4)).tolist()):
        arrow, values = KINDS[kind]
        cells = values(rng, n)
        columns[f"q{i}"] = pa.array(cells if rng.random() < 0.95 else cells[:1] * n, arrow)
        quasi[f"q{i}"] = how = {"type": kind}
        if kind == "ordinal":
            how["order"] = LEVELS
        if kind in MEDIANS and rng.random() < 0.25:
            how["representative"] = "median"
    return quasi


def punch(
    rng: Random, n: int, quasi: dict[str, dict[str, Any]], columns: dict[str, pa.Array]
) -> None:
    """Make cells NULL: few, so that others must be suppressed beside them, or many."""
    for name in quasi:
        many = int(rng.choice([0, 1, 2, n // 4]))
        rows = rng.choice(n, min(many, n - 1), replace=False)
        cells = columns[name].to_pylist()
        columns[name] = pa.array(
            [None if i in rows else c for i, c in enumerate(cells)], columns[name].type
        )


def regions(rng: Random, n: int, k: int) -> list[str]:
    """Choose strata: one or two large ones, and small ones that cannot stay."""
    large = [f"region_{c}{c}9" for c in ("ab" if n > 6 * k else "a")]
    found = rng.choice(large, n).tolist()
    start = 0
    for name in ("islet_xx8", "islet_yy8")[: int(rng.integers(0, 3))]:
        many = int(rng.integers(1, k))
        if start + many + k <= n:
            found[start : start + many] = [name] * many
            start += many
    return found
