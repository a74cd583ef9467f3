"""The manifest: digests of what went into a run and came out of it, signed if a key is given."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from microagg_ops.errors import ReleaseError
from microagg_ops.release import Release

MANIFEST = "manifest.json"
ALGORITHM = "HMAC-SHA256"
# Manifests of earlier runs that are read, at most.
EARLIER = 50


def make_manifest(
    release: Release,
    figures: Mapping[str, Any],
    columns: Mapping[str, str],
    files: Mapping[str, bytes],
) -> dict[str, Any]:
    """Say what can be recomputed: release file, input, output, reports, and how it was made."""
    identity, data, method = figures["identity"], figures["data"], figures["method"]
    search = figures["search"] or {}
    return {
        "schema_version": 1,
        "release": {
            "name": release.release,
            "version": release.version,
            "sha256": identity["release_digest"],
        },
        "run": {"run_id": identity["run_id"], "interval": identity["interval"]},
        "created": identity["created"],
        "verdict": figures["verdict"],
        "checks": {check["name"]: check["passed"] for check in figures["checks"]},
        "input": {
            "conn_id": release.source.conn_id,
            "table": list(release.source.table.parts),
            "rows": data["rows"],
            "entities": data["entities"],
            "sha256": identity["input_digest"],
        },
        "output": {
            "conn_id": release.publish.conn_id,
            "table": list(release.publish.table.parts),
            "interval_column": release.publish.interval_column
            if release.publish.mode == "append_interval"
            else None,
            "columns": dict(columns),
            "rows": data["published_rows"],
            "sha256": identity["output_digest"],
        },
        "method": {
            **{name: method[name] for name in ("aggregate", "k", "groups", "strata", "seed")},
            "guarantee": figures["risk"]["guarantee"],
            "params": method["params"],
            "iterations": search.get("iterations"),
            "schedule": search.get("schedule"),
        },
        "information_loss": figures["utility"]["information_loss"],
        "reports": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        "versions": figures["versions"],
        "environment": figures["environment"],
        "signature": None,
    }


def signed(manifest: Mapping[str, Any], conn_id: str, key: str) -> dict[str, Any]:
    """Sign a manifest with the key of a connection."""
    value = signature(manifest, key)
    return {
        **manifest,
        "signature": {"algorithm": ALGORITHM, "conn_id": conn_id, "value": value},
    }


def signature(manifest: Mapping[str, Any], key: str) -> str:
    """Give the HMAC of a manifest without its signature: its JSON, keys sorted, without spaces."""
    plain = {name: part for name, part in manifest.items() if name != "signature"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def as_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Write a manifest down."""
    return (json.dumps(manifest, indent=2, allow_nan=False) + "\n").encode()


def read_manifest(path: Any) -> dict[str, Any]:
    """Read a manifest, and refuse what is none."""
    from microagg_ops.schema_faults import shape_faults

    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        raise ReleaseError(
            f"The manifest {path} cannot be read ({reason}).",
            code="no_manifest",
            hint="It lies beside the reports of a run.",
        ) from None
    faults = [f"{at or '/'}: {allowed}" for at, _, allowed, _ in shape_faults(manifest, "manifest")]
    if faults:
        raise ReleaseError(f"{path} is no manifest: {'; '.join(faults[:5])}.", code="no_manifest")
    return dict(manifest)


def earlier_manifests(folder: Any) -> list[dict[str, Any]]:
    """Read the manifests of other runs of the release, latest first; skip what is none."""
    found = []
    try:
        others = sorted(
            (one for one in folder.parent.iterdir() if one.name != folder.name),
            key=lambda one: str(one.name),
        )[-EARLIER:]
    except OSError:
        return []
    for one in others:
        try:
            found.append(read_manifest(one / MANIFEST))
        except ReleaseError:
            continue
    return sorted(found, key=lambda manifest: str(manifest["created"]), reverse=True)
