"""The manifest: digests of what went into a run and came out of it, signed if a key is given."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from microagg_ops.errors import ReleaseError
from microagg_ops.release.model import Release
from microagg_ops.staging.keys import keyed_digest

MANIFEST = "manifest.json"
ALGORITHM = "HMAC-SHA256"
# Manifests of earlier runs that are read, at most.
EARLIER = 50
LARGEST = 1 << 24


def make_manifest(
    release: Release,
    figures: Mapping[str, Any],
    columns: Mapping[str, str],
    files: Mapping[str, bytes],
    key: bytes,
) -> dict[str, Any]:
    """Say what can be recomputed: release file, input, output, reports, and how it was made.

    Whoever may read the published table may read the manifest: digests of what stays inside are
    keyed, and figures went through the gate.
    """
    identity, data, method = figures["identity"], figures["data"], figures["method"]
    # How long a search takes by itself tells of raw rows, and nobody needs it: it ends there again.
    search = (figures["search"] or {}) if release.aggregate.budget else {}
    return {
        "schema_version": 2,
        "release": {
            "name": release.release,
            "version": release.version,
            "sha256": identity["release_digest"],
        },
        "run": {"run_id": identity["run_id"], "interval": identity["interval"]},
        "created": identity["created"],
        "verdict": figures["verdict"],
        "published": published_when(figures["publication"]),
        "checks": {check["name"]: check["passed"] for check in figures["checks"]},
        "input": {
            "conn_id": release.source.conn_id,
            "table": list(release.source.table.parts),
            "hmac_sha256": identity["input_digest"],
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
            "guarded": search.get("guarded"),
        },
        "information_loss": figures["outside"]["information_loss"],
        "reports": {name: file_digest(name, content, key) for name, content in files.items()},
        "key_id": key_id(key),
        "versions": figures["versions"],
        "environment": figures["environment"],
        "signature": None,
    }


def published_when(publication: Mapping[str, Any]) -> dict[str, Any] | None:
    """Say when the table left, and who agreed; nothing if it did not."""
    if publication["state"] != "published":
        return None
    return {"at": publication["at"], "approved_by": publication["decided_by"]}


def file_digest(name: str, content: bytes, key: bytes) -> dict[str, str]:
    """Digest a report: keyed where it stays inside, for its figures could be tried out."""
    if name.startswith("external."):
        return {"sha256": hashlib.sha256(content).hexdigest()}
    return {"hmac_sha256": keyed_digest(key, name, content)}


def key_id(key: bytes) -> str:
    """Name a key without telling it, so that whoever has another one can say so."""
    return keyed_digest(key, "id", b"")[:16]


def signed(manifest: Mapping[str, Any], conn_id: str, key: str) -> dict[str, Any]:
    """Sign a manifest with the key of a connection."""
    value = signature(manifest, key)
    return {
        **manifest,
        "signature": {"algorithm": ALGORITHM, "conn_id": conn_id, "value": value},
    }


def signature(manifest: Mapping[str, Any], key: str) -> str:
    """Sign a manifest without its signature: HMAC of its JSON, keys sorted, without spaces."""
    plain = {name: part for name, part in manifest.items() if name != "signature"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def as_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Write a manifest down."""
    return (json.dumps(manifest, indent=2, allow_nan=False) + "\n").encode()


def read_manifest(path: Any) -> dict[str, Any]:
    """Read a manifest, and refuse what is none."""
    from microagg_ops.release.faults import shape_faults

    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ReleaseError(
                f"The manifest {path} is larger than {LARGEST >> 20} MiB.", code="no_manifest"
            )
        manifest = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        raise ReleaseError(
            f"The manifest {path} cannot be read ({reason}).",
            code="no_manifest",
            hint="It lies beside the reports of a run.",
        ) from None
    try:
        found = list(shape_faults(manifest, "manifest"))
    except RecursionError:
        found = [("", "", "not nested as deeply", "")]
    faults = [f"{at or '/'}: {allowed}" for at, _, allowed, _ in found]
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
