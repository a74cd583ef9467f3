"""The connection to PostgreSQL is cut between COMMIT and its answer: the truth is found out."""

from __future__ import annotations

import pyarrow as pa
import pytest

from microagg_ops.errors import WarehouseError
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Rows
from microagg_ops.warehouse.base import Commit
from microagg_ops.warehouse.postgres import PostgresWarehouse
from tests.chaos.proxy import Proxy, cutting
from tests.postgres import Postgres

T = TableName.parse("t")
NEW = pa.table({"a": pa.array([2, 3], pa.int64())})


def armed(proxy: Proxy) -> Rows:
    """Rows whose commit is the one to be cut off."""
    return Rows(NEW, {}, None, Commit(proxy.armed.set))


@pytest.fixture
def database(postgres: Postgres) -> str:
    name = "commit_cut"
    postgres.execute(f"drop database if exists {name} with (force)", f"create database {name}")
    postgres.execute("create table t (a bigint)", "insert into t values (1)", database=name)
    return name


def content(server: Postgres, database: str) -> list[int]:
    return [a for (a,) in server.fetch("select a from t order by a", database)]


def through(port: int, database: str) -> PostgresWarehouse:
    return PostgresWarehouse(f"postgresql://postgres@127.0.0.1:{port}/{database}")


def test_a_commit_whose_answer_is_lost_is_found_to_be_made(
    postgres: Postgres, database: str
) -> None:
    with cutting(postgres.port, "after") as proxy:
        rows = armed(proxy)
        through(proxy.port, database).write(T, rows)
        assert proxy.cut.is_set()
    assert rows.commit.done
    assert content(postgres, database) == [2, 3]


def test_a_commit_that_never_came_is_found_to_be_undone(postgres: Postgres, database: str) -> None:
    with cutting(postgres.port, "before") as proxy:
        rows = armed(proxy)
        with pytest.raises(WarehouseError) as caught:
            through(proxy.port, database).write(T, rows)
        assert proxy.cut.is_set()
    assert (caught.value.code, caught.value.retryable) == ("undone", True)
    assert not rows.commit.done
    assert content(postgres, database) == [1]


@pytest.mark.parametrize(("when", "left"), [("before", [1]), ("after", [2, 3])])
def test_a_server_that_is_gone_leaves_the_fate_unknown(
    postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch, when: str, left: list[int]
) -> None:
    monkeypatch.setattr("microagg_ops.warehouse.postgres.PATIENCE", 0.5)
    with (
        cutting(postgres.port, when, closes=True) as proxy,  # type: ignore[arg-type]
        pytest.raises(WarehouseError, match="cannot be asked") as caught,
    ):
        through(proxy.port, database).write(T, armed(proxy))
    assert caught.value.code == "commit_unknown"
    assert content(postgres, database) == left
