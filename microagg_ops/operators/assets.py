"""The asset of a published table: what a downstream DAG is scheduled on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.sdk import Asset, AssetAlias

from microagg_ops.release.document import load_release
from microagg_ops.release.files import FILES
from microagg_ops.release.model import Release
from microagg_ops.sql import TableName

if TYPE_CHECKING:
    from airflow.sdk import Context

#: What the event of a published table carries: aggregates, for events are stored in clear text.
CARRIED = {
    "release": "release",
    "digest": "digest",
    "k": "k",
    "rows": "rows",
    "loss": "information_loss",
}


def published_asset(release: str | Path | Release) -> Asset:
    """Return the asset of a release's published table, ``microagg://CONN_ID/SCHEMA.TABLE``.

    That of a file is its URI.

    Parameters
    ----------
    release
        A release file, or what `load_release` gave for one.
    """
    if not isinstance(release, Release):
        release = load_release(release)
    if release.publish.conn_id == FILES:
        return file_asset(release.folder, str(release.publish.table))
    return table_asset(release.publish.conn_id, release.publish.table)


def table_asset(conn_id: str, table: TableName) -> Asset:
    """Return the asset of a table; a part of its name may hold anything."""
    parts = (quote(part, safe="").replace(".", "%2E") for part in table.parts)
    return Asset(f"microagg://{conn_id}/{'.'.join(parts)}")


def file_asset(folder: str, file: str) -> Asset:
    """Return the asset of a file: its own URI."""
    at = file_at(folder, file)
    return Asset(at if "://" in at else Path(at).as_uri())


def file_at(folder: str, file: str) -> str:
    """Return where a file of a release is: its URI, or its whole path."""
    return file if "://" in file else str(Path(folder, file).resolve())


def announce(
    context: Context, outlets: list[Any], asset: Asset, summary: Mapping[str, Any]
) -> None:
    """Attach figures to the event of a published table: by its own asset, or through an alias."""
    events = context.get("outlet_events")
    if events is None:  # outside a DAG run
        return
    extra = {name: summary[key] for name, key in CARRIED.items() if summary.get(key) is not None}
    for outlet in outlets:
        if isinstance(outlet, AssetAlias):
            events[outlet].add(asset, extra=extra)
        elif isinstance(outlet, Asset) and outlet.uri == asset.uri:
            events[outlet].extra = extra
