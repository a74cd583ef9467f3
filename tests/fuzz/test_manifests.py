"""Manifests, verdicts and staged files that were changed: found, or refused in plain words."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import duckdb

from microagg_ops.pipeline import make_run, run_release, run_stage
from microagg_ops.release.document import load_release
from microagg_ops.release.model import STAGES
from microagg_ops.verify import verify
from tests.fuzz.guard import Guard, tries
from tests.fuzz.test_releases import CHANGES, places

# What is said for people, of the past, or of the machine; it claims nothing of the table.
FREE = ("run", "created", "versions", "stages", "seconds", "environment", "machine")


def claims(manifest: dict[str, Any]) -> dict[str, Any]:
    """Leave what a manifest claims: not the hour, nor the types, which help to read the digest."""
    told = {key: value for key, value in manifest.items() if key not in FREE}
    told["output"] = told.get("output", {}) | {"columns": sorted(manifest["output"]["columns"])}
    told["published"] = (told.get("published") or {}).get("approved_by")
    return told


def mutated(document: Any, draw: random.Random) -> bytes:
    """Write a document with a change or two, or with a few of its bytes changed."""
    if draw.random() < 0.7:
        document = copy.deepcopy(document)
        for _ in range(draw.choice([1, 1, 2])):
            if places(document):
                draw.choice(CHANGES)(document, draw)
        try:
            return json.dumps(document, default=str).encode()
        except (TypeError, ValueError, RecursionError):
            return b"{}"
    return torn(json.dumps(document).encode(), draw)


def torn(content: bytes, draw: random.Random) -> bytes:
    """Cut bytes short, change some, or write some twice."""
    if not content:
        return b"x"
    at, end = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return draw.choice([
        content[:at], content[:at] + content[end:], content[:end] + content[at:],
        content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :], b"",
    ])  # fmt: skip


def test_manifests(release_file: Path, warehouse: Path) -> None:
    connections = {"warehouse": f"duckdb:///{warehouse}"}
    reports = release_file.parent / "reports"
    run_release(release_file, connections=connections, reports=reports, run_id="r")
    path = reports / "clinic_patients" / "r" / "manifest.json"
    right, guard = json.loads(path.read_text()), Guard()
    seen = 0
    for seed in range(tries(100, 5_000)):
        content = mutated(right, random.Random(seed))
        path.write_bytes(content)
        found = guard.run(
            f"verify {seed}",
            verify,
            path,
            release=release_file,
            connections=connections,
            skip=("input",),
        )
        if found is None:
            seen += 1
            continue
        wrong = [one.name for one in found if one.holds is False]
        seen += bool(wrong)
        if not wrong and claims(json.loads(content)) != claims(right):
            guard.broken.append(f"{seed}: a claim was changed, and nothing is found")
    print(f"found: {seen}")
    guard.settle()


def test_staged_files(release_file: Path, warehouse: Path, tmp_path: Path) -> None:
    """A staged file that was changed never leads to another table than the right one."""
    connections = {"warehouse": f"duckdb:///{warehouse}"}
    release, guard = load_release(release_file), Guard()

    def run() -> Any:
        where = {"connections": connections, "reports": str(tmp_path / "reports"), "run_id": "r"}
        return make_run(release, str(tmp_path / "staging"), **where)

    for stage in STAGES:
        run_stage(stage, run())
    with duckdb.connect(str(warehouse)) as con:
        right = sorted(con.execute("from pub.clinic_patients").fetchall(), key=str)
    folder = tmp_path / "staging"
    files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != "owner.json")
    for seed in range(tries(40, 2_000)):
        draw = random.Random(seed)
        path = draw.choice(files)
        content = path.read_bytes()
        path.write_bytes(torn(content, draw))
        with duckdb.connect(str(warehouse)) as con:
            con.execute("drop table pub.clinic_patients")
        for stage in draw.choice([["publish"], ["validate", "publish"], ["aggregate", "publish"]]):
            if guard.run(f"{path.name} {seed}", run_stage, stage, run()) is None:
                break
        path.write_bytes(content)
        with duckdb.connect(str(warehouse)) as con:
            there = con.execute(
                "from duckdb_tables() where table_name = 'clinic_patients' and schema_name = 'pub'"
            ).fetchall()
            if (
                there
                and sorted(con.execute("from pub.clinic_patients").fetchall(), key=str) != right
            ):
                guard.broken.append(f"{path.name} {seed}: another table was published")
            if not there:
                con.execute("create table pub.clinic_patients as select 1 as a")
    guard.settle()
