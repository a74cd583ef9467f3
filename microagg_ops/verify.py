"""Verify: recompute what the manifest of a run says, and tell what holds."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.checks.registry import left_out
from microagg_ops.errors import DataError, MicroaggError, ReleaseError
from microagg_ops.pipeline import files_of, make_run
from microagg_ops.release.document import load_release
from microagg_ops.release.files import FILES
from microagg_ops.release.model import Release
from microagg_ops.report.manifest import file_digest, key_id, read_manifest, signature
from microagg_ops.sql import TableName
from microagg_ops.stages.aggregate import methods_of
from microagg_ops.stages.extract import describe_source, input_digest, normalized, read_source
from microagg_ops.stages.publication import EXTERNAL, INTERNAL
from microagg_ops.stages.target import of_interval, typed
from microagg_ops.staging.digests import content_digest
from microagg_ops.staging.keys import derived, installation_key
from microagg_ops.staging.store import MemoryStaging, local

if TYPE_CHECKING:
    import pyarrow as pa

APPROVAL = "approval.json"
OTHER_KEY = "it is keyed, and the key is not here (MICROAGG_KEY, or the signing connection)"
NAMES = ("signature", "release", "reports", "approval", "output", "k", "input")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one claim of a manifest.

    Parameters
    ----------
    name
        The claim.
    holds
        Whether it holds; ``None`` where it could not be checked.
    told
        What was compared, or why it could not be.
    """

    name: str
    holds: bool | None
    told: str

    def __str__(self) -> str:
        state = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}[self.holds]
        return f"{state:<13}  {self.name}: {self.told}"


class _Unchecked(Exception):  # noqa: N818 - it is no error
    """Why something could not be checked."""


@dataclass(frozen=True)
class _Evidence:
    folder: Any
    manifest: Mapping[str, Any]
    release: Release | None
    connections: Mapping[str, str]

    @cached_property
    def key(self) -> bytes:
        """The key of keyed digests: of the signer, or of the installation."""
        from microagg_ops.warehouse.connection import password

        found = self.manifest["signature"]
        if found is None:
            return installation_key()
        try:
            return derived(password(found["conn_id"], self.connections).encode(), "run")
        except ReleaseError:
            return b""

    @property
    def has_key(self) -> bool:
        """Whether this is the key that the manifest was made with."""
        return bool(self.key) and key_id(self.key) == self.manifest["key_id"]


def verify(
    manifest: str | Path,
    *,
    release: str | Path | None = None,
    connections: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
) -> list[Finding]:
    """Recompute what can be recomputed of a run.

    Parameters
    ----------
    manifest
        Its ``manifest.json``; the reports are looked for beside it.
    release
        The release file, without which the input cannot be read again.
    connections
        Connection ids to URLs; others are looked up in ``AIRFLOW_CONN_<ID>``.
    skip
        What to leave out, of signature, release, reports, approval, output, k and input: the
        input, say, where the source has lived on.

    Raises
    ------
    ReleaseError
        If the manifest or the release file cannot be read.
    """
    for name in skip:
        if name not in NAMES:
            raise ReleaseError(f"There is nothing called {name!r} to skip: {', '.join(NAMES)}.")
    path = local(str(manifest))
    given = _Evidence(
        path.parent,
        read_manifest(path),
        load_release(release) if release is not None else None,
        connections or {},
    )
    checks: dict[str, Callable[[_Evidence], Iterator[Finding]]] = {
        "signature": _signature, "release": _release, "reports": _reports,
        "approval": _approval, "output": _output, "k": _k, "input": _input,
    }  # fmt: skip
    findings = []
    for name, check in checks.items():
        if name in skip:
            findings.append(Finding(name, None, "skipped"))
            continue
        try:
            findings += list(check(given))
        except _Unchecked as why:
            findings.append(Finding(name, None, str(why)))
    return findings


def _signature(given: _Evidence) -> Iterator[Finding]:
    from microagg_ops.warehouse.connection import password

    found = given.manifest["signature"]
    asked = given.release.report.sign_conn_id if given.release else None
    if found is None and asked is None:
        raise _Unchecked("the manifest is not signed")
    if found is None or (asked is not None and asked != found["conn_id"]):
        signed = "not signed" if found is None else f"signed by {found['conn_id']}"
        yield Finding("signature", False, f"the release asks for one by {asked}; it is {signed}")
        return
    try:
        key = password(found["conn_id"], given.connections)
    except ReleaseError as error:
        raise _Unchecked(str(error)) from None
    right = hmac.compare_digest(signature(given.manifest, key), found["value"])
    yield Finding("signature", right, f"{found['algorithm']} by {found['conn_id']}")


def _release(given: _Evidence) -> Iterator[Finding]:
    if given.release is None:
        raise _Unchecked("no release file was given")
    same = given.release.digest == given.manifest["release"]["sha256"]
    words = "the file is that of the run" if same else "the file is another, or was changed"
    yield Finding("release", same, words)
    if same:
        wrong = list(_contradictions(given.manifest, given.release))
        told = f"not what the file says: {', '.join(wrong)}" if wrong else "those of the file"
        yield Finding("claims", not wrong, told)


def _contradictions(manifest: Mapping[str, Any], release: Release) -> Iterator[str]:
    """Name the claims of a manifest that are not those of its release: nobody signed them."""
    method, output, source = manifest["method"], manifest["output"], manifest["input"]
    listed = sorted(name for names in method["groups"] for name in names)
    pages = [INTERNAL, *([EXTERNAL] if manifest["published"] else [])]
    claims: dict[str, tuple[Any, Any]] = {
        "the release": (manifest["release"]["name"], release.release),
        "the version": (manifest["release"]["version"], release.version),
        "the connections": (
            (source["conn_id"], output["conn_id"]),
            (release.source.conn_id, release.publish.conn_id),
        ),
        "the interval": (
            output["interval_column"],
            release.publish.interval_column if release.publish.mode == "append_interval" else None,
        ),
        "the parameters": (method["params"], dict(release.aggregate.params)),
        "k": (method["k"], release.aggregate.k),
        "the guarantee": (method["guarantee"], release.validate.guarantee),
        "the quasi-identifiers": (listed, sorted(release.quasi)),
        "the strata": (method["strata"], list(release.strata)),
        "the seed": (method["seed"], release.aggregate.seed),
        "the source": (source["table"], list(release.source.table.parts)),
        "the target": (output["table"], list(release.publish.table.parts)),
        "the columns": (sorted(output["columns"]), sorted(release.published_columns)),
        "the reports": (
            sorted(manifest["reports"]),
            sorted(f"{page}.{kind}" for page in pages for kind in release.report.formats),
        ),
        "the method": (method["aggregate"], methods_of(release, method["groups"])),
        "the checks": (left_out(manifest["checks"], release, method["groups"]), []),
        "the verdict": (manifest["verdict"] == "passed", all(manifest["checks"].values())),
    }
    if release.group.method == "fixed":
        claims["the groups"] = (method["groups"], [list(names) for names in release.group.groups])
    if release.group.method == "single":
        claims["the groups"] = (len(method["groups"]), 1)
    yield from (name for name, (said, asked) in claims.items() if said != asked)


def _reports(given: _Evidence) -> Iterator[Finding]:
    for name, said in given.manifest["reports"].items():
        try:
            content = (given.folder / name).read_bytes()
        except OSError:
            yield Finding(name, False, "it is not there, or cannot be read")
            continue
        if "hmac_sha256" in said and not given.has_key:
            yield Finding(name, None, OTHER_KEY)
            continue
        same = file_digest(name, content, given.key) == said
        yield Finding(name, same, "it is what was written" if same else "it was changed")


def _approval(given: _Evidence) -> Iterator[Finding]:
    claimed = (given.manifest["published"] or {}).get("approved_by")
    try:
        decision = json.loads((given.folder / APPROVAL).read_bytes())
        said = {key: decision[key] for key in ("approved", "by", "run_id", "release_digest")}
    except OSError:
        if given.release is not None and given.release.approve:
            yield Finding("approval", False, "the release asks for one, and there is none")
        elif claimed is not None:
            yield Finding("approval", False, "the manifest names one, and there is none")
        return
    except (ValueError, KeyError, TypeError):
        yield Finding("approval", False, f"{APPROVAL} cannot be read")
        return
    about = (given.manifest["run"]["run_id"], given.manifest["release"]["sha256"])
    if (said["run_id"], said["release_digest"]) != about:
        yield Finding("approval", False, "it is about another run or release file")
        return
    asked = given.release is not None and given.release.approve
    if given.manifest["published"] and (asked or claimed is not None) and said["by"] != claimed:
        yield Finding("approval", False, "the manifest names another person")
        return
    word = "approved" if said["approved"] is True else "rejected"
    yield Finding("approval", said["approved"] is True, f"{word} by {said['by']}")


def _output(given: _Evidence) -> Iterator[Finding]:
    said, table = given.manifest["output"], _published(given)
    if table is None:
        words = f"{'.'.join(said['table'])} is not there, or has other columns"
        yield Finding("output", False, words)
        return
    same = content_digest(table) == said["sha256"] and table.num_rows == said["rows"]
    yield Finding(
        "output", same, _told(".".join(said["table"]), table.num_rows, said["rows"], same)
    )


def _k(given: _Evidence) -> Iterator[Finding]:
    from microagg_ops.metrics import k_by_group

    table, method = _published(given), given.manifest["method"]
    if table is None:
        raise _Unchecked("there is no table to count in")
    groups = method["groups"]
    if method["guarantee"] == "joint":
        groups = [[name for names in groups for name in names]]
    found = min(k_by_group(table, groups, method["strata"]))
    words = f"every class has {found} rows or more; at least {method['k']} are claimed"
    yield Finding("k", found >= method["k"], words)


def _published(given: _Evidence) -> pa.Table | None:
    """Read the published table, or the part of it that the run wrote; none if it is not there."""
    from microagg_ops.warehouse import from_environment

    said = given.manifest["output"]
    if given.manifest["verdict"] != "passed":
        raise _Unchecked("a check failed in this run, so nothing was published")
    if given.manifest["published"] is None:
        raise _Unchecked("the manifest does not say that this run was published")
    table, mark = TableName(tuple(said["table"])), said["interval_column"]
    try:
        if said["conn_id"] == FILES:
            warehouse = files_of(given.release, given.connections)
        else:
            warehouse = from_environment(said["conn_id"], given.connections)
        described = warehouse.describe(table)
        wanted = [*said["columns"], *([mark] if mark else [])]
        if described is None and said["conn_id"] == FILES and given.release is None:
            raise _Unchecked("it is not here: paths begin where the release file lies, --release")
        if described is None or not set(wanted) <= set(described):
            return None
        rows = warehouse.read(table, {name: described[name] for name in wanted})
    except MicroaggError as error:
        raise _Unchecked(str(error)) from None
    if mark:
        rows = of_interval(rows, mark, _moments(given)[0])
    return typed(normalized(rows.select(list(said["columns"]))), said["columns"])


def _moments(given: _Evidence) -> list[datetime]:
    """Read the data interval of the run; a manifest may claim one that is none."""
    try:
        return [datetime.fromisoformat(text) for text in given.manifest["run"]["interval"]]
    except (TypeError, ValueError):
        raise _Unchecked("the manifest names no data interval that can be read") from None


def _input(given: _Evidence) -> Iterator[Finding]:
    release, said = given.release, given.manifest["input"]
    if release is None:
        raise _Unchecked("no release file was given, which says what to read")
    if release.digest != given.manifest["release"]["sha256"]:
        raise _Unchecked("the release file is another, and would read other rows")
    if release.engine.is_spark:
        raise _Unchecked("the rows were read and digested by Spark")
    start, end = _moments(given) if given.manifest["run"]["interval"] else (None, None)
    made = make_run(release, "unused", connections=given.connections, start=start, end=end)
    run = replace(made, staging=MemoryStaging())
    if not given.has_key:
        raise _Unchecked(OTHER_KEY)
    try:
        read_source(run, describe_source(run))
    except DataError as error:
        yield Finding("input", False, f"the source has changed: {error.message}")
        return
    except MicroaggError as error:
        raise _Unchecked(str(error)) from None
    same = input_digest(run) == said["hmac_sha256"]
    words = "the rows of the run" if same else "other content now"
    yield Finding("input", same, f"{'.'.join(said['table'])} holds {words}")


def _told(table: str, rows: int, before: int, same: bool) -> str:
    if same:
        return f"{table} holds the {rows:,} rows of the run"
    return f"{table} holds other content now ({rows:,} rows; {before:,} in the run)"
