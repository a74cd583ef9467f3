"""Connections without Airflow: by the same variables and URLs that Airflow reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from microagg_ops.errors import ReleaseError
from microagg_ops.warehouse.base import Warehouse
from microagg_ops.warehouse.registry import GENERIC, kind_of

# The extras that are options of a driver: all that libpq knows beside the fields of a connection,
# and what others have. Hooks keep options of their own there, which a driver would refuse.
DRIVER_OPTIONS = frozenset(
    (
        "application_name", "channel_binding", "charset", "client_encoding", "connect_timeout",
        "driver", "fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "hostaddr",
        "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
        "load_balance_hosts", "options", "passfile", "require_auth", "requirepeer", "service",
        "ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcertmode", "sslcrl",
        "sslcrldir", "sslkey", "sslmode", "sslnegotiation", "sslpassword", "sslrootcert", "sslsni",
        "target_session_attrs", "tcp_user_timeout",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Connection:
    """Where a warehouse is; the fields are those of an Airflow connection."""

    conn_type: str
    host: str = ""
    port: int | None = None
    login: str = ""
    password: str = field(default="", repr=False)
    schema: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, text: str) -> Connection:
        """Read a URL, or the JSON that Airflow takes too."""
        if text.lstrip().startswith("{"):
            return cls._from_json(text)
        url = urlsplit(text)
        if not url.scheme:
            raise ValueError("no scheme")
        host = unquote(url.hostname or "")
        if url.scheme in ("duckdb", "delta"):
            # The rest of the URL is a path: three slashes begin an absolute one.
            return cls(url.scheme, host=unquote(url.netloc + url.path))
        if url.scheme == "sqlite":
            return cls("sqlite", host=unquote(url.path.removeprefix("/")))
        return cls(
            url.scheme,
            host,
            url.port,
            unquote(url.username or ""),
            unquote(url.password or ""),
            unquote(url.path.lstrip("/")),
            _extra(url.query),
        )

    @classmethod
    def _from_json(cls, text: str) -> Connection:
        given = json.loads(text)
        extra = given.get("extra") or {}
        return cls(
            str(given["conn_type"]),
            given.get("host") or "",
            int(given["port"]) if given.get("port") else None,
            given.get("login") or "",
            given.get("password") or "",
            given.get("schema") or "",
            dict(json.loads(extra) if isinstance(extra, str) else extra),
        )

    @property
    def path(self) -> str:
        """The file of an embedded database."""
        if self.extra.get("database"):
            return str(self.extra["database"])
        # Airflow reads duckdb:///data/x.duckdb as a schema that lost its first slash.
        return self.host or (f"/{self.schema}" if self.schema else "")

    @property
    def passed(self) -> dict[str, str]:
        """The extras that are for the driver; a form leaves empty what nobody filled in."""
        return {
            name: str(int(value) if isinstance(value, bool) else value)
            for name, value in self.extra.items()
            if name in DRIVER_OPTIONS and isinstance(value, str | int | float) and value != ""
        }

    def url(self, scheme: str) -> str:
        """Return a URL for a driver; it holds the password, so it is never shown."""
        login = quote(self.login, safe="")
        password = f":{quote(self.password, safe='')}" if self.password else ""
        at = f"{login}{password}@" if login else ""
        port = f":{self.port}" if self.port else ""
        # Not every driver reads a plus as the space that it is in a form.
        query = f"?{urlencode(self.passed, quote_via=quote)}" if self.passed else ""
        host = quote(self.host, safe="")  # the folder of a socket is a host too
        return f"{scheme}://{at}{host}{port}/{quote(self.schema)}{query}"


def _extra(query: str) -> dict[str, Any]:
    """Read the extras of a URL; Airflow writes those that are no mere texts as JSON."""
    found: dict[str, Any] = dict(parse_qsl(query))
    return found | dict(json.loads(found.pop("__extra__", "{}")))


def connect(connection: Connection) -> Warehouse:
    """Choose the warehouse for a connection; nothing is opened yet."""
    return (kind_of(connection.conn_type) or GENERIC).open(connection)


def from_environment(conn_id: str, given: Mapping[str, str] | None = None) -> Warehouse:
    """Find a warehouse by connection id, as the CLI and Python do.

    Parameters
    ----------
    conn_id
        The connection id of a release file.
    given
        Connection ids to URLs; ids that are not there are looked up in ``AIRFLOW_CONN_<ID>``.
    """
    found = find(conn_id, given)
    with readable(conn_id):
        return connect(found)


def password(conn_id: str, given: Mapping[str, str] | None = None) -> str:
    """Return the password of a connection, found as `from_environment` finds it."""
    found = find(conn_id, given).password
    if not found:
        raise ReleaseError(
            f"The connection {conn_id!r} has no password to sign with.", code="no_connection"
        )
    return found


def find(conn_id: str, given: Mapping[str, str] | None = None) -> Connection:
    """Find a connection among those given and in the environment."""
    variable = f"AIRFLOW_CONN_{conn_id.upper()}"
    text = (given or {}).get(conn_id) or os.environ.get(variable)
    if not text:
        raise ReleaseError(
            f"There is no connection {conn_id!r}.",
            code="no_connection",
            hint=f"Set {variable}, or give {conn_id}=URL with --connection.",
        )
    with readable(conn_id):
        return Connection.parse(text)


@contextmanager
def readable(conn_id: str) -> Iterator[None]:
    """Refuse a connection that cannot be read, without showing it."""
    try:
        yield
    except (ValueError, KeyError, TypeError):
        raise ReleaseError(
            f"The connection {conn_id!r} is neither a URL nor the JSON of an Airflow connection.",
            code="no_connection",
            hint="Write duckdb:///data/warehouse.duckdb or postgresql://user@host/database.",
        ) from None
