"""How an Airflow connection becomes a warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.errors import ReleaseError

if TYPE_CHECKING:
    from microagg_ops.warehouse import Connection, Warehouse


def airflow_warehouse(conn_id: str) -> Warehouse:
    """Find a warehouse by its Airflow connection."""
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException

    from microagg_ops.warehouse import connect
    from microagg_ops.warehouse.registry import kind_of

    try:
        found = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise ReleaseError(
            f"There is no Airflow connection {conn_id!r}.",
            code="no_connection",
            hint="Add it in Airflow, or correct the conn_id.",
        ) from None
    if kind_of(found.conn_type or "") is None:
        return through_hook(found)
    return connect(connection_of(found))


def through_hook(found: Any) -> Warehouse:
    """Take the engine of the hook that a provider has for a connection of its type."""
    from airflow.sdk.exceptions import AirflowException

    from microagg_ops.warehouse.generic import GenericWarehouse

    try:
        hook = found.get_hook()
    except AirflowException:
        raise ReleaseError(
            f"No installed provider has a hook for connections of type {found.conn_type!r}.",
            code="no_connection",
            hint="Install the Airflow provider of the database.",
        ) from None
    return GenericWarehouse(hook.get_sqlalchemy_engine())


def connection_of(found: Any) -> Connection:
    """Take over the fields of an Airflow connection."""
    from microagg_ops.warehouse import Connection

    return Connection(
        found.conn_type or "",
        found.host or "",
        found.port,
        found.login or "",
        found.password or "",
        found.schema or "",
        found.extra_dejson,
    )
