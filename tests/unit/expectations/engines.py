"""One table in every engine, as Great Expectations and as our own classes see it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import great_expectations as gx
import pandas as pd
import pyarrow as pa
import sqlalchemy as sa

from microagg_ops.expectations.spark import SparkTable
from microagg_ops.expectations.sql import SqlTable
from microagg_ops.expectations.tables import FrameTable, Table
from tests.postgres import Postgres

NUMBERS = itertools.count()


class Engine:
    """Where a table can lie."""

    def holding(self, table: pa.Table) -> Any:
        """A context that gives the table as our classes see it."""
        raise NotImplementedError

    def validate(self, table: pa.Table, expectation: Any) -> Any:
        """What Great Expectations says of the table."""
        raise NotImplementedError


def context() -> Any:
    made = gx.get_context(mode="ephemeral")
    made.variables.progress_bars = {"globally": False}
    return made


class Pandas(Engine):
    @contextmanager
    def holding(self, table: pa.Table) -> Iterator[Table]:
        yield FrameTable(table.to_pandas(types_mapper=pd.ArrowDtype))

    def validate(self, table: pa.Table, expectation: Any) -> Any:
        asset = context().data_sources.add_pandas("s").add_dataframe_asset("a")
        batch = asset.add_batch_definition_whole_dataframe("b")
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
        return batch.get_batch({"dataframe": frame}).validate(expectation)


@dataclass
class Sql(Engine):
    url: str
    engine: sa.Engine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url)

    def write(self, table: pa.Table) -> str:
        raise NotImplementedError

    @contextmanager
    def holding(self, table: pa.Table) -> Iterator[Table]:
        name = self.write(table)
        with self.engine.connect() as connection:
            yield SqlTable(connection, sa.table(name))

    def validate(self, table: pa.Table, expectation: Any) -> Any:
        name = self.write(table)
        source = context().data_sources.add_sql("s", connection_string=self.url)
        batch = source.add_table_asset("a", table_name=name).add_batch_definition_whole_table("b")
        return batch.get_batch().validate(expectation)


class DuckDB(Sql):
    def write(self, table: pa.Table) -> str:
        name = f"t{next(NUMBERS)}"
        with self.engine.begin() as connection:
            connection.exec_driver_sql("register", ("given", table))
            connection.exec_driver_sql(f"create table {name} as from given")
        return name


@dataclass
class Server(Sql):
    plain: str = ""

    def write(self, table: pa.Table) -> str:
        name = f"t{next(NUMBERS)}"
        with adbc.connect(self.plain, autocommit=True) as con, con.cursor() as cursor:
            cursor.adbc_ingest(name, table)
        return name


@dataclass
class Spark(Engine):
    session: Any

    def frame(self, table: pa.Table) -> Any:
        return self.session.createDataFrame(table)

    @contextmanager
    def holding(self, table: pa.Table) -> Iterator[Table]:
        yield SparkTable(self.frame(table))

    def validate(self, table: pa.Table, expectation: Any) -> Any:
        asset = context().data_sources.add_spark("s").add_dataframe_asset("a")
        batch = asset.add_batch_definition_whole_dataframe("b")
        return batch.get_batch({"dataframe": self.frame(table)}).validate(expectation)


def postgres_engine(server: Postgres) -> Server:
    url = server.url()
    return Server(url.replace("postgresql://", "postgresql+psycopg2://"), plain=url)
