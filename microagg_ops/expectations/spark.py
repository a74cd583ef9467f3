"""A Spark frame, counted where it lies.

Counts of values (with an entity key: classes, values and entities) are numbered in one partition
before they leave, as whole numbers alone: they are no more than the driver is about to hold.
`fetch` takes columns out for linkage.
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

HOLDS = {
    "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer",
    "float": "number", "double": "number", "decimal": "decimal", "boolean": "boolean",
    "date": "date", "timestamp": "timestamp", "timestamp_ntz": "timestamp", "string": "text",
    "varchar": "text", "char": "text",
}  # fmt: skip


@dataclass(frozen=True)
class SparkTable:
    """A frame of Spark."""

    frame: Any

    @cached_property
    def _kinds(self) -> dict[str, str]:
        fields = self.frame.schema.fields
        types = {field.name: field.dataType.simpleString() for field in fields}
        return {name: HOLDS.get(kind.partition("(")[0], "other") for name, kind in types.items()}

    def kinds(self) -> dict[str, str]:
        """Return the columns in their order, each with what it holds."""
        return self._kinds

    def rows(self) -> int:
        """Count the rows."""
        return int(self.frame.count())

    def sizes(self, columns: Sequence[str], entity: str | None) -> dict[int, int]:
        """Count the classes by the number of their entities."""
        found = self._grouped(columns, entity).groupBy("n").count().collect()
        return {int(size): int(count) for size, count in found}

    def null_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are NULL in some column."""
        import operator
        from functools import reduce

        missing = reduce(operator.or_, (self._value(name).isNull() for name in columns))
        return int(self.frame.filter(missing).count())

    def values(self, columns: Sequence[str], sensitive: str, entity: str | None) -> Values:
        """Count who has each value of a sensitive column in each class."""
        import numpy as np
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        names = [*columns, sensitive, *([entity] if entity else [])]
        counted = self._grouped(names, None)
        labels = [f"c{i}" for i in range(len(names))]
        of_class, value = labels[: len(columns)], labels[len(columns)]
        whose = sf.dense_rank().over(Window.orderBy(labels[-1])) if entity else sf.col("n")
        numbered = counted.select(
            sf.dense_rank().over(Window.orderBy(*of_class)).alias("class"),
            sf.dense_rank().over(Window.orderBy(sf.col(value).asc_nulls_first())).alias("value"),
            whose.cast("long").alias("last"),
        ).toArrow()
        rows = np.column_stack([c.to_numpy().astype(np.int64) for c in numbered.columns])
        return numbered_values(rows, entities=entity is not None)

    def total(self, column: str, weight: str | None) -> Total:
        """Sum a column up, each row by its weight."""
        from pyspark.sql import functions as sf

        check_ordered(self._kinds, [column, *([weight] if weight else [])])
        value = self._number(column)
        if weight:
            value = value * self._number(weight)
        found = self.frame.agg(sf.sum(value), sf.sum(sf.abs(value)), sf.count(value)).first()
        return Total(float(found[0] or 0), float(found[1] or 0), int(found[2]))

    def loss(self, columns: Mapping[str, str]) -> ByColumn:
        """Compute SSE/SST of protected columns from their originals in percent."""
        from pyspark.sql import functions as sf

        check_ordered(self._kinds, [*columns, *columns.values()])
        old = {name: self._number(before) for name, before in columns.items()}
        firsts = [f(old[n]) for n in columns for f in (sf.avg, sf.min, sf.max)]
        found = self.frame.agg(*firsts).first()
        sums, varies = [], []
        for i, name in enumerate(columns):
            mean, low, high = found[3 * i : 3 * i + 3]
            middle = sf.lit(float(mean or 0.0))
            before = sf.coalesce(old[name], middle)
            apart = before - sf.coalesce(self._number(name), middle)
            sums += [sf.sum(apart * apart), sf.sum((before - middle) * (before - middle))]
            varies.append(low is not None and low < high)
        squares = self.frame.agg(*sums).first()
        return losses_of(list(columns), [float(s or 0) for s in squares], varies)

    def traces(self) -> dict[int, int]:
        """Count the traces of a ledger's epoch by the number of their entities."""
        from pyspark.sql import functions as sf

        began = self.frame.filter(sf.col("part") == "series").select("since").first()[0]
        members = self.frame.filter((sf.col("part") == "member") & (sf.col("since") >= began))
        step = sf.struct("since", "class", "until", "changed")
        each = members.groupBy("entity").agg(sf.sort_array(sf.collect_list(step)).alias("trace"))
        shared = each.groupBy("trace").agg(sf.count(sf.lit(1)).alias("n"))
        return {int(size): int(count) for size, count in shared.groupBy("n").count().collect()}

    def fetch(self, columns: Sequence[str]) -> pa.Table:
        """Take columns out of Spark, NaN as NULL."""
        values = [self._value(name).alias(f"c{i}") for i, name in enumerate(columns)]
        return self.frame.select(*values).toArrow().rename_columns(list(columns))

    def _grouped(self, columns: Sequence[str], entity: str | None) -> Any:
        """Yield all combinations of columns, each with the entities that share it."""
        from pyspark.sql import functions as sf

        by = [f"c{i}" for i in range(len(columns))]
        named = [self._value(name).alias(label) for name, label in zip(columns, by, strict=True)]
        if not entity:
            return self.frame.select(*named).groupBy(*by).agg(sf.count(sf.lit(1)).alias("n"))
        nobody = sf.max(sf.col("entity").isNull().cast("long"))
        whose = self.frame.select(*named, self._value(entity).alias("entity")).groupBy(*by)
        return whose.agg((sf.count_distinct(sf.col("entity")) + nobody).alias("n"))

    def _value(self, name: str) -> Any:
        """Return a column so that equal values are equal: NaN is NULL, -0.0 is 0.0."""
        from pyspark.sql import functions as sf

        if name not in self._kinds:
            raise DataError(f"The table has no column {name!r}.", code="no_column")
        found = sf.col("`" + name.replace("`", "``") + "`")
        if self._kinds[name] != "number":
            return found
        return sf.nanvl(found.cast("double"), sf.lit(None).cast("double")) + sf.lit(0.0)

    def _number(self, name: str) -> Any:
        """Return a column as numbers; dates and moments in days since 1970."""
        from pyspark.sql import functions as sf

        kind, value = self._kinds[name], self._value(name)
        if kind == "date":
            value = sf.unix_date(value)
        if kind == "timestamp":
            value = sf.unix_micros(value.cast("timestamp")) / sf.lit(86_400e6)
        return value.cast("double")
