"""Tables in and out of databases: Arrow where the driver speaks it, bound values always."""

from __future__ import annotations

from microagg_ops.warehouse.base import Rows, Warehouse
from microagg_ops.warehouse.connection import Connection, connect, from_environment

__all__ = ["Connection", "Rows", "Warehouse", "connect", "from_environment"]
