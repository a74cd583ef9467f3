"""A release whose columns are recoded, from a warehouse and back."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from microagg_ops import check_release, load_release, microaggregate, run_release
from microagg_ops.errors import ReleaseError
from microagg_ops.verify import verify

QUASI = """
    age: {type: integer, bottom: 25, top: 80, round: 5}
    height_cm: {type: number, representative: medoid}
    bmi: {type: number, representative: medoid}
    admitted: {type: nominal, hierarchy: date, level: month}
    area: {type: nominal, hierarchy: {file: areas.csv}}
    smoker: {type: ordinal, cast: true, order: [0, 1]}
"""


@pytest.fixture
def recoded(release_file: Path, warehouse: Path) -> Path:
    text = release_file.read_text()
    start, end = text.index("    age:"), text.index("  sensitive")
    release_file.write_text(text[:start] + QUASI.lstrip("\n") + text[end:] + "nulls: own_class\n")
    with duckdb.connect(str(warehouse)) as con:
        areas = [
            row[0] for row in con.execute("select distinct area from clinic.patients").fetchall()
        ]
    lines = [f"{area};{'inner' if i % 2 else 'outer'};*" for i, area in enumerate(sorted(areas))]
    (release_file.parent / "areas.csv").write_text("\n".join(lines))
    return release_file


def test_it_is_published_as_it_was_recoded(recoded: Path, warehouse: Path) -> None:
    how = {"connections": {"warehouse": f"duckdb:///{warehouse}"}}
    done = run_release(recoded, reports=recoded.parent / "reports", run_id="r", **how)  # type: ignore[arg-type]
    assert done.k >= 3
    with duckdb.connect(str(warehouse)) as con:
        rows = con.sql("select * from pub.clinic_patients").fetchall()
        names = [row[0] for row in con.sql("describe pub.clinic_patients").fetchall()]
        kinds = {row[0]: row[1] for row in con.sql("describe pub.clinic_patients").fetchall()}
        real = con.sql("select height_cm, bmi from clinic.patients").fetchall()
    assert kinds["admitted"] == kinds["area"] == "VARCHAR"
    by_name = {name: {row[i] for row in rows} for i, name in enumerate(names)}
    assert min(by_name["age"]) >= 25 and max(by_name["age"]) <= 80
    places = names.index("height_cm"), names.index("bmi")
    assert {tuple(row[i] for i in places) for row in rows} <= set(real)
    assert all(len(one) in (1, 4, 7) for one in by_name["admitted"])
    manifest = recoded.parent / "reports" / "clinic_patients" / "r" / "manifest.json"
    found = verify(manifest, release=recoded, **how)  # type: ignore[arg-type]
    assert [one for one in found if one.holds is False] == []
    report = json.loads(manifest.with_name("report.json").read_text())
    assert report["verdict"] == "passed"


def test_the_digest_is_of_the_hierarchy_too(recoded: Path) -> None:
    before = load_release(recoded).digest
    csv = recoded.parent / "areas.csv"
    csv.write_text(csv.read_text().replace("inner", "centre"))
    assert load_release(recoded).digest != before


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "/columns/quasi/area/hierarchy/file: found a file that cannot be read"),
        (b"\xff\xfe\x00", "/columns/quasi/area/hierarchy/file: found a file that cannot be read"),
        (b"a;x\nb", "/columns/quasi/area/hierarchy: found rows of different lengths"),
        (b"", "/columns/quasi/area/hierarchy/levels: found []"),
    ],
)
def test_a_hierarchy_that_is_none_is_a_fault(
    recoded: Path, content: bytes | None, told: str
) -> None:
    csv = recoded.parent / "areas.csv"
    csv.unlink() if content is None else csv.write_bytes(content)
    (fault,) = check_release(recoded)
    assert str(fault).startswith(told)


@pytest.mark.parametrize("name", ["../areas.csv", "/etc/hostname", "sub/../../areas.csv"])
def test_a_hierarchy_lies_beside_the_release(recoded: Path, name: str) -> None:
    (recoded.parent.parent / "areas.csv").write_text("10x;a\n")
    recoded.write_text(recoded.read_text().replace("areas.csv", name))
    (fault,) = check_release(recoded)
    assert fault.pointer == "/columns/quasi/area/hierarchy/file"


def test_in_python_any_file_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "areas.csv").write_text("\ufeffa,north\nb,north\nc,south\n", "utf-8")
    frame = pd.DataFrame({"area": list("abcabc") * 3})
    how = {"type": "nominal", "hierarchy": {"file": str(tmp_path / "areas.csv")}, "level": 1}
    done = microaggregate(frame, quasi={"area": how}, k=6).frame
    assert set(done["area"]) == {"north", "south"}
    how = how | {"hierarchy": {"file": "nowhere.csv"}}
    with pytest.raises(ReleaseError, match="quasi/area/hierarchy/file: found a file that cannot"):
        microaggregate(frame, quasi={"area": how}, k=6)
