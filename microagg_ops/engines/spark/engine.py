"""What stages ask of a table that is spread over executors.

A frame is a table that Spark holds. Stages see what comes back: counts, moments, a sample; rows
stay where they are, but for `sample` and `distinct`, which the caller limits.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.engines.spark.answers import ANSWER, Ask, asked, block_told, quietly, told
from microagg_ops.engines.spark.session import refused
from microagg_ops.release.condition import Condition, parameters
from microagg_ops.warehouse.base import Warehouse, naive_utc

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.sql import TableName

#: A table that Spark holds.
Frame = Any
BLOCK = "block"
# The name of a column that holds a parameter of a condition.
BOUND = "microagg :{}"
# Hashes of rows are cut into this number of parts, of which a sample takes some.
PARTS = 1 << 30


def column(name: str) -> Any:
    """Name a column, whatever its name holds."""
    from pyspark.sql import functions as sf

    return sf.col("`" + name.replace("`", "``") + "`")


@dataclass(frozen=True)
class SparkEngine:
    """Apache Spark.

    Parameters
    ----------
    session
        Its session.
    """

    session: Any

    def source(
        self,
        warehouse: Warehouse,
        table: TableName,
        names: Sequence[str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> Frame:
        """Read columns of a table of Spark or Parquet, of the rows that meet a condition."""
        frame = self.whole(warehouse, table)
        if where is not None:
            # Moments are bound as columns of their own, which are not selected.
            bound = {BOUND.format(name): lit(values or {}, name) for name in parameters(where.text)}
            with refused("to read the source"):
                text = spoken(where, frame.columns)
                frame = frame.withColumns(bound).where(text) if bound else frame.where(text)
        return frame.select(*map(column, names))

    def whole(self, warehouse: Warehouse, table: TableName) -> Frame:
        """Find a table; a folder of Parquet must be seen by driver and executors alike."""
        from microagg_ops.engines.spark.tables import SparkWarehouse
        from microagg_ops.errors import ReleaseError
        from microagg_ops.warehouse.parquet import ParquetWarehouse, data_files

        if isinstance(warehouse, SparkWarehouse):
            return warehouse.frame(table)
        path = warehouse.found(table) if isinstance(warehouse, ParquetWarehouse) else None
        if path is None:
            raise ReleaseError(
                f"Spark cannot read {str(table)!r} of a {warehouse.kind} warehouse.",
                code="no_spark",
                hint="Name a connection of type parquet or spark, or take engine: local.",
            )
        with refused("to read the source"):
            return self.session.read.parquet(*(str(file) for file in data_files(path)))

    def store(self, frame: Frame, folder: Path) -> Frame:
        """Write rows into staging, and give them as they are there."""
        with refused("to write into staging"):
            frame.write.mode("overwrite").parquet(str(folder))
        return self.stored(folder)

    def stored(self, folder: Path) -> Frame:
        """Open rows that are in staging."""
        with refused("to read from staging"):
            return self.session.read.parquet(str(folder))

    def ask(self, frame: Frame, task: Ask) -> list[Any]:
        """Ask the rows of each partition; the answers come in no order."""
        with refused("to count rows"):
            answers = frame.mapInArrow(partial(asked, task), f"{ANSWER} string").toArrow()
        return told(answers[ANSWER].to_pylist())

    def ask_all(self, frame: Frame, task: Callable[[pa.Table], Any]) -> list[Any]:
        """Ask all rows at one place: for a table that one executor holds."""
        return self.ask(frame.coalesce(1), partial(_of_all, task))

    def drop(self, folder: Path) -> None:
        """Remove rows from staging that nobody needs any more."""
        shutil.rmtree(folder, ignore_errors=True)

    def numbers(self, frame: Frame, task: Callable[[pa.RecordBatch], Any]) -> Frame:
        """Turn rows into one number each, NaN where there is none."""
        return frame.mapInArrow(partial(_numbers, task), "value double")

    def quantiles(self, numbers: Frame, shares: Sequence[float]) -> tuple[float, ...]:
        """Find quantiles of numbers, exactly, interpolated between neighbours."""
        from pyspark.sql import functions as sf

        there = numbers.filter(~sf.isnan("value"))
        with refused("to find quantiles"):
            found = there.agg(sf.percentile("value", list(shares))).first()[0]
        return tuple(found)

    def with_column(
        self, frame: Frame, name: str, task: Callable[[pa.RecordBatch], pa.Array]
    ) -> Frame:
        """Add a column of whole numbers that a task makes of each batch."""
        from pyspark.sql.types import IntegerType, StructType

        schema = StructType([*frame.schema.fields]).add(name, IntegerType())
        return frame.mapInArrow(partial(_appended, name, task), schema)

    def each_block(
        self, frame: Frame, many: int, task: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> Frame:
        """Run a task on the rows of each block.

        It gives columns of ``schema``, with `BLOCK` and `ANSWER`. Spark would put small blocks into
        one task; they are small in bytes, and not in work.
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        wanted = from_arrow_schema(schema, prefer_timestamp_ntz=True)

        def done(block: pa.Table) -> pa.Table:  # Spark looks at its hints: no partial function
            return block_told(task, schema, block)

        done.__annotations__.clear()
        return frame.repartition(2 * many, BLOCK).groupBy(BLOCK).applyInArrow(done, wanted)

    def answers(self, frame: Frame) -> list[Any]:
        """Collect what blocks answered, in the order of the blocks; raise the first error."""
        with refused("to count rows"):
            found = frame.filter(column(ANSWER).isNotNull()).select(ANSWER, BLOCK).toArrow()
        return told(found.sort_by(BLOCK)[ANSWER].to_pylist())

    def count(self, frame: Frame, by: Sequence[str], entity: str | None) -> pa.Table:
        """Count rows, and entities, by the values of columns: ``rows``, ``entities`` come last."""
        from pyspark.sql import functions as sf

        rows = sf.count(sf.lit(1)).alias("rows")
        whom = sf.count_distinct(column(entity)) if entity else sf.count(sf.lit(1))
        with refused("to count rows"):
            return frame.groupBy(*map(column, by)).agg(rows, whom.alias("entities")).toArrow()

    def holders(self, frame: Frame, name: str, entity: str | None) -> pa.Table:
        """Count who has each value of a column, an entity being one, split over its values.

        Whole numbers are counted and divided here, so that the sums depend on no order.
        """
        import pyarrow as pa
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        if entity is None:
            counted = self.count(frame, [name], None)
            return pa.table({"value": counted[name], "share": counted["rows"].cast("double")})
        pairs = frame.select(column(entity).alias("whose"), column(name).alias("value")).distinct()
        among = sf.count(sf.lit(1)).over(Window.partitionBy("whose"))
        with refused("to count values"):
            found = pairs.withColumn("among", among).groupBy("value", "among").count().toArrow()
        shares: dict[Any, float] = {}
        rows = found.sort_by([("among", "ascending")]).to_pylist()
        for row in rows:
            shares[row["value"]] = shares.get(row["value"], 0.0) + row["count"] / row["among"]
        values = pa.array(list(shares), found.schema.field("value").type)
        return pa.table({"value": values, "share": list(shares.values())})

    def nulls(self, frame: Frame, names: Sequence[str]) -> dict[str, int]:
        """Count the rows that are NULL in each of some columns."""
        from pyspark.sql import functions as sf

        counts = [sf.count_if(column(name).isNull()) for name in names]
        with refused("to count rows"):
            found = frame.agg(*counts).first()
        return {name: int(many) for name, many in zip(names, found, strict=True)}

    def missing(self, frame: Frame, name: str) -> int:
        """Count the rows that are NULL in a column."""
        with refused("to count rows"):
            return int(frame.filter(column(name).isNull()).count())

    def distinct(self, frame: Frame, name: str, most: int) -> pa.Array:
        """Collect the different values of a column, as many at most."""
        with refused("to count values"):
            found = frame.select(column(name)).distinct().limit(most).toArrow()
        return found.column(0).combine_chunks()

    def sample(self, frame: Frame, share: float) -> pa.Table:
        """Draw rows by a hash of what they hold: the same ones, whatever their order."""
        from pyspark.sql import functions as sf

        if share < 1.0:
            part = sf.pmod(sf.xxhash64(*map(column, frame.columns)), sf.lit(PARTS))
            frame = frame.filter(part < int(share * PARTS))
        with refused("to draw a sample"):
            return frame.toArrow()

    def without_nan(self, frame: Frame, names: Iterable[str]) -> Frame:
        """Write NaN as NULL, which it counts as."""
        from pyspark.sql import functions as sf

        floating = {f.name for f in frame.schema.fields
                    if f.dataType.typeName() in ("float", "double")}  # fmt: skip
        null = {
            name: sf.when(~sf.isnan(column(name)), column(name))
            for name in names
            if name in floating
        }
        return frame.withColumns(null) if null else frame

    def numbered(self, frame: Frame, entity: str, *, ranked: bool) -> Frame:
        """Replace the keys of entities by numbers: ranks, or digests where there are too many."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        key = column(entity)
        if ranked:
            number = sf.dense_rank().over(Window.orderBy(key))
        else:
            digest = sf.sha2(key.cast("string"), 256).substr(1, 15)
            number = sf.conv(digest, 16, 10)
        return frame.withColumn(entity, number.cast("long"))

    def together(self, frame: Frame, entity: str, by: Sequence[str]) -> Frame:
        """Put all rows of an entity that agree in some columns into the first of their blocks."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        same = Window.partitionBy(column(entity), *map(column, by))
        return frame.withColumn(BLOCK, sf.min(BLOCK).over(same))

    def with_pattern(self, frame: Frame, names: Sequence[str], to: str) -> Frame:
        """Add which of some columns are NULL, as the bits of a whole number."""
        from pyspark.sql import functions as sf

        bits = [sf.when(column(name).isNull(), 1 << i).otherwise(0).cast("long")
                for i, name in enumerate(names)]  # fmt: skip
        return frame.withColumn(to, sum(bits[1:], start=bits[0]))

    def only_blocks(self, frame: Frame) -> Frame:
        """Leave out rows that are in no block: their number is below 0."""
        return frame.filter(column(BLOCK) >= 0)

    def one_block(self, frame: Frame) -> Frame:
        """Make all rows one block."""
        from pyspark.sql import functions as sf

        return frame.withColumn(BLOCK, sf.lit(0))

    def found(self, frame: Frame, columns: Sequence[str], entity: str | None) -> dict[str, Any]:
        """Say how many rows who knows some columns finds, by one entity of each class by chance."""
        from pyspark.sql import functions as sf

        rows = sf.count(sf.lit(1)).alias("rows")
        whom = (sf.count_distinct(column(entity)) if entity else rows).alias("size")
        classes = frame.groupBy(*map(column, columns)).agg(rows, whom)
        with refused("to count classes"):
            uniques, expected, least = classes.agg(
                sf.sum(sf.when(sf.col("size") == 1, sf.col("rows")).otherwise(0)),
                sf.sum(sf.col("rows") / sf.col("size")),
                sf.min("size"),
            ).first()
        return {"uniques": int(uniques), "expected": float(expected), "highest": 1.0 / least}

    def digest(self, frame: Frame) -> list[int]:
        """Digest what rows hold, whatever their order: their number, and sums of their SHA-256."""
        from pyspark.sql import functions as sf

        hashed = frame.select(sf.sha2(sf.to_json(sf.struct(*map(column, frame.columns))), 256)
                              .alias("digest"))  # fmt: skip
        parts = [
            sf.sum(sf.conv(sf.substring("digest", at, 15), 16, 10).cast("decimal(38,0)"))
            for at in (1, 16, 31, 46)
        ]
        with refused("to digest rows"):
            found = hashed.agg(sf.count(sf.lit(1)), *parts).first()
        return [int(part or 0) for part in found]

    def renamed(self, frame: Frame, names: Mapping[str, str]) -> Frame:
        """Take columns under other names."""
        return frame.select(*(column(old).alias(new) for old, new in names.items()))

    def sorted(self, frame: Frame) -> Frame:
        """Sort rows by all their columns, NULL last."""
        return frame.orderBy(*(column(name).asc_nulls_last() for name in frame.columns))


def spoken(where: Condition, names: Sequence[str]) -> str:
    """Write a condition in the SQL of Spark, whichever warehouse the rows are of."""
    from microagg_ops.engines.spark.tables import SparkWarehouse
    from microagg_ops.warehouse.connection import Connection

    speaker = SparkWarehouse(Connection("spark"))
    speaker.check_condition(where)
    return speaker.condition(where, names, lambda n: backquoted(BOUND.format(n)), backquoted)


def lit(values: Mapping[str, datetime], name: str) -> Any:
    """Make a column of a moment."""
    from pyspark.sql import functions as sf

    return sf.lit(naive_utc(values[name]).replace(tzinfo=UTC))


def backquoted(name: str) -> str:
    """Quote a name in the SQL of Spark."""
    return "`" + name.replace("`", "``") + "`"


def _of_all(task: Callable[[pa.Table], Any], batches: Iterable[pa.RecordBatch]) -> Any:
    import pyarrow as pa

    return task(pa.Table.from_batches(list(batches)))


def _numbers(
    task: Callable[[pa.RecordBatch], Any], batches: Iterable[pa.RecordBatch]
) -> Iterable[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"value": pa.array(quietly(task, batch))})


def _appended(
    name: str, task: Callable[[pa.RecordBatch], pa.Array], batches: Iterable[pa.RecordBatch]
) -> Iterable[pa.RecordBatch]:
    for batch in batches:
        yield batch.append_column(name, quietly(task, batch))
