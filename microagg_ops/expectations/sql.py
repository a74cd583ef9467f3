"""A table in PostgreSQL or DuckDB, counted where it lies.

Names are quoted and nothing is pasted. Of the counts of values only whole numbers leave the
database: one row for each class and value, with numbers in place of both; with an entity key one
for each class, value and entity. The nearest row, which linkage asks for, is no question for SQL:
`fetch` takes the columns out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.expectations.tables import Total, check_ordered, losses_of, numbered_values
from microagg_ops.metrics.loss import ByColumn
from microagg_ops.metrics.values import Values

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

TYPE_OF = {"postgresql": "pg_typeof", "duckdb": "typeof"}
# The beginning of a type's name, and what the type holds.
HOLDS = {
    "smallint": "integer", "integer": "integer", "bigint": "integer", "tinyint": "integer",
    "hugeint": "integer", "usmallint": "integer", "uinteger": "integer", "ubigint": "integer",
    "utinyint": "integer", "uhugeint": "integer", "real": "number", "double": "number",
    "float": "number", "numeric": "decimal", "decimal": "decimal", "boolean": "boolean",
    "date": "date", "timestamp": "timestamp", "text": "text", "varchar": "text",
    "character": "text", "enum": "text", "uuid": "text",
}  # fmt: skip


@dataclass(frozen=True)
class SqlTable:
    """A table, a view or a query of a database.

    Parameters
    ----------
    connection
        An open connection of SQLAlchemy.
    source
        What to select from.
    """

    connection: sa.Connection
    source: Any

    @property
    def dialect(self) -> str:
        """The name of the database."""
        name = self.connection.dialect.name
        if name not in TYPE_OF:
            raise DataError(
                f"{name} is not counted in: only {' and '.join(TYPE_OF)} are.",
                code="bad_engine",
                hint="Hand the table over as a pandas frame.",
            )
        return name

    @cached_property
    def _kinds(self) -> dict[str, str]:
        import sqlalchemy as sa

        whole = sa.select(sa.text("*")).select_from(self.source).limit(0)
        names = list(map(str, self.connection.execute(whole).keys()))
        of = getattr(sa.func, TYPE_OF[self.dialect])
        # One row, even of an empty table: its NULLs have types too.
        one = sa.select(sa.literal_column("1").label("one")).subquery()
        columns = [column(name).label(f"c{i}") for i, name in enumerate(names)]
        row = sa.select(*columns).select_from(self.source).limit(1).subquery()
        joined = one.join(row, sa.true(), isouter=True)
        query = sa.select(*(sa.cast(of(c), sa.Text) for c in row.c)).select_from(joined)
        found = self.connection.execute(query).one()
        return dict(zip(names, map(kind_of_sql, found), strict=True))

    def kinds(self) -> dict[str, str]:
        """Return the columns in their order, each with what it holds."""
        return self._kinds

    def rows(self) -> int:
        """Count the rows."""
        import sqlalchemy as sa

        return int(self._one(sa.select(sa.func.count()).select_from(self.source))[0])

    def sizes(self, columns: Sequence[str], entity: str | None) -> dict[int, int]:
        """Count the classes by the number of their entities."""
        import sqlalchemy as sa

        counted = self._grouped(columns, entity).subquery()
        many = sa.select(counted.c.n, sa.func.count()).group_by(counted.c.n)
        return {int(size): int(count) for size, count in self.connection.execute(many)}

    def null_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are NULL in some column."""
        import sqlalchemy as sa

        missing = sa.or_(*(self._value(name).is_(None) for name in columns))
        return int(self._one(sa.select(sa.func.count()).select_from(self.source).where(missing))[0])

    def values(self, columns: Sequence[str], sensitive: str, entity: str | None) -> Values:
        """Count who has each value of a sensitive column in each class."""
        import numpy as np
        import sqlalchemy as sa

        names = [*columns, sensitive, *([entity] if entity else [])]
        counted = self._grouped(names, None).subquery()
        found = [counted.c[f"c{i}"] for i in range(len(names))]
        of_class, value = found[: len(columns)], found[len(columns)]
        if self.dialect == "postgresql" and self._kinds[sensitive] == "text":
            value = sa.collate(sa.cast(value, sa.Text), "C")  # the order of all other engines
        numbered = sa.select(
            sa.func.dense_rank().over(order_by=of_class),
            sa.func.dense_rank().over(order_by=value.asc().nulls_first()),
            sa.func.dense_rank().over(order_by=found[-1]) if entity else counted.c.n,
        )
        rows = np.array([tuple(row) for row in self.connection.execute(numbered)], np.int64)
        return numbered_values(rows.reshape(-1, 3), entities=entity is not None)

    def total(self, column: str, weight: str | None) -> Total:
        """Sum a column up, each row by its weight."""
        import sqlalchemy as sa

        check_ordered(self._kinds, [column, *([weight] if weight else [])])
        value = self._number(column)
        if weight:
            value = value * self._number(weight)
        query = sa.select(sa.func.sum(value), sa.func.sum(sa.func.abs(value)), sa.func.count(value))
        total, size, rows = self._one(query.select_from(self.source))
        return Total(float(total or 0), float(size or 0), int(rows))

    def loss(self, columns: Mapping[str, str]) -> ByColumn:
        """Compute SSE/SST of protected columns from their originals in percent."""
        import sqlalchemy as sa

        check_ordered(self._kinds, [*columns, *columns.values()])
        old = {name: self._number(before) for name, before in columns.items()}
        firsts = [f(old[n]) for n in columns for f in (sa.func.avg, sa.func.min, sa.func.max)]
        found = self._one(sa.select(*firsts).select_from(self.source))
        sums, varies = [], []
        for i, name in enumerate(columns):
            mean, low, high = found[3 * i : 3 * i + 3]
            middle = sa.literal(float(mean or 0.0), sa.Double)
            before = sa.func.coalesce(old[name], middle)
            apart = before - sa.func.coalesce(self._number(name), middle)
            sums += [sa.func.sum(apart * apart), sa.func.sum((before - middle) * (before - middle))]
            varies.append(low is not None and low < high)
        squares = self._one(sa.select(*sums).select_from(self.source))
        return losses_of(list(columns), [float(s or 0) for s in squares], varies)

    def traces(self) -> dict[int, int]:
        """Count the traces of a ledger's epoch by the number of their entities."""
        import sqlalchemy as sa
        from sqlalchemy.dialects.postgresql import aggregate_order_by

        ledger = self.source.alias("ledger")
        began = sa.select(column("since")).select_from(ledger)
        began = began.where(column("part") == "series")
        parts: list[Any] = [sa.cast(sa.func.coalesce(column(name), 0), sa.Text)
                            for name in ("since", "until", "changed")]  # fmt: skip
        between: Any = sa.literal_column("'/'")
        after: Any = sa.literal_column("';'")
        step = sa.func.concat_ws(between, column("class"), *parts)
        steps = sa.select(
            column("entity").label("entity"), step.label("step"), column("since").label("n")
        )
        steps = steps.select_from(self.source).where(column("part") == "member")
        inner = steps.where(column("since") >= began.scalar_subquery()).subquery()
        trace = sa.func.string_agg(inner.c.step, aggregate_order_by(after, inner.c.n))
        each = sa.select(trace.label("trace")).group_by(inner.c.entity).subquery()
        shared = sa.select(sa.func.count().label("n")).select_from(each).group_by(each.c.trace)
        many = shared.subquery()
        sizes = sa.select(many.c.n, sa.func.count()).group_by(many.c.n)
        return {int(size): int(count) for size, count in self.connection.execute(sizes)}

    def fetch(self, columns: Sequence[str]) -> pa.Table:
        """Take columns out of the database, NaN as NULL."""
        import pyarrow as pa
        import sqlalchemy as sa

        values = [self._value(name).label(f"c{i}") for i, name in enumerate(columns)]
        rows = self.connection.execute(sa.select(*values).select_from(self.source)).all()
        cells = zip(*rows, strict=True) if rows else [()] * len(columns)
        return pa.table({n: pa.array(c) for n, c in zip(columns, cells, strict=True)})

    def _one(self, query: Any) -> Sequence[Any]:
        return tuple(self.connection.execute(query).one())

    def _grouped(self, columns: Sequence[str], entity: str | None) -> Any:
        """Return a query of all combinations of columns, each with the entities that share it."""
        import sqlalchemy as sa

        named = [self._value(name).label(f"c{i}") for i, name in enumerate(columns)]
        if entity:
            named.append(self._value(entity).label("entity"))
        inner = sa.select(*named).select_from(self.source).subquery()
        count: Any = sa.func.count()
        if entity:
            nobody = sa.case((inner.c.entity.is_(None), 1), else_=0)
            count = sa.func.count(inner.c.entity.distinct()) + sa.func.max(nobody)
        by = [inner.c[f"c{i}"] for i in range(len(columns))]
        return sa.select(*by, count.label("n")).group_by(*by)

    def _value(self, name: str) -> Any:
        """Return a column so that equal values are equal: NaN is NULL, -0.0 is 0.0."""
        import sqlalchemy as sa

        if name not in self._kinds:
            raise DataError(f"The table has no column {name!r}.", code="no_column")
        kind, found = self._kinds[name], column(name)
        none: Any = sa.literal_column("'NaN'")
        if kind == "number":
            real = sa.cast(found, sa.Double)
            return sa.func.nullif(real + sa.literal_column("0.0"), sa.cast(none, sa.Double))
        if kind == "decimal" and self.dialect == "postgresql":
            return sa.func.nullif(found, sa.cast(none, sa.Numeric))
        return found

    def _number(self, name: str) -> Any:
        """Return a column as numbers; dates and moments in days since 1970."""
        import sqlalchemy as sa

        kind, value = self._kinds[name], self._value(name)
        if kind in ("date", "timestamp"):
            return sa.cast(sa.extract("epoch", value), sa.Double) / sa.literal_column("86400.0")
        if kind == "boolean":
            value = sa.cast(value, sa.Integer)
        return sa.cast(value, sa.Double)


def column(name: str) -> Any:
    """Name a column; whatever the name holds, it is merely a name."""
    import sqlalchemy as sa

    return sa.column(sa.quoted_name(name, quote=True))


def kind_of_sql(name: str) -> str:
    """Return what a SQL type holds, in the words of a release file."""
    if name.endswith("]"):
        return "other"  # an array
    first = name.lower().partition("(")[0].partition(" ")[0].partition("_")[0]
    return HOLDS.get(first, "other")
