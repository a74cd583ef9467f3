"""Checks of other packages: what they may do, and what they must not."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.checks import CHECKS, AddedCheck
from microagg_ops.errors import DisclosureError
from microagg_ops.plugins import plugins
from microagg_ops.release import faults
from microagg_ops.release.document import find_faults
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.publish import passed_table
from tests.unit.stages.conftest import MakeRun, make_run
from tests.unit.stages.test_validate import put_protected, until

__all__ = ["make_run"]

SECRET = 93.25
ROWS = {"a": [1.0, 2.0, 8.0, SECRET], "s": ["x", "x", "y", "y"]}
# Clusters that are not built for l, so that a check may fail.
UNAWARE = {"k": 2, "aware": False}
COLUMNS = {"quasi": {"a": {"type": "number"}}, "sensitive": ["s"]}
Install = Callable[..., None]


def forget() -> None:
    for found in (plugins, faults.schema, faults._validator):
        found.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package with one check, as pip would; its module has what is given."""
    packages = 0

    def make(body: str, name: str = "odd", **how: Any) -> None:
        nonlocal packages
        packages += 1
        module, words = f"added_{abs(hash((tmp_path, packages)))}", {"claim": "nothing is odd"}
        how = {"about": "Nothing is odd.", "advice": "Be less odd.", **words, **how}
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[microagg_ops.checks]\n{name} = {module}:CHECK\n")
        (tmp_path / f"{module}.py").write_text(
            "import numpy as np\nfrom microagg_ops.checks import AddedCheck\n"
            f"CHECK = AddedCheck(name={name!r}, where='{module}:odd', **{how!r})\n{body}\n"
        )
        forget()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield make
    monkeypatch.undo()
    forget()


def asked(make_run: MakeRun, params: Any = None, name: str = "odd", **limits: Any) -> Run:
    checks = {name: params or {}}
    limits = {"checks": checks, **limits}
    return until(make_run(ROWS, columns=COLUMNS, aggregate=UNAWARE, validate=limits))


def found(run: Run) -> dict[str, Any]:
    """Validate, whatever comes of it; what was found by the name of the check."""
    with suppress(DisclosureError):
        stage_function("validate")(run)
    return {one["name"]: one for one in run.document("validate", "verdict")["checks"]}


def test_it_holds_where_nothing_breaks_it(install: Install, make_run: MakeRun) -> None:
    install(
        "def odd(rows, *, least, most=9):\n"
        "    names = rows.table.column_names\n"
        "    return [not least <= rows.table.num_rows <= most, names != ['a', 's']]",
        claim="there are {least} to {most} rows",
    )
    good = found(run := asked(make_run, {"least": 4}))["check_odd"]
    assert (good["passed"], good["observed"], good["threshold"]) == (True, 0, 0)
    assert good["claim"] == "there are 4 to 9 rows"
    assert passed_table(run).num_rows == 4
    bad = found(run := asked(make_run, {"least": 5}))["check_odd"]
    assert (bad["passed"], bad["observed"], bad["error"]) == (False, 1, "")
    with pytest.raises(DisclosureError):
        passed_table(run)


def test_publish_asks_again_on_the_bytes(install: Install, make_run: MakeRun) -> None:
    install("def odd(rows): return rows.table['a'].to_numpy() > 60")
    run = asked(make_run)
    assert found(run)["check_odd"]["passed"]
    put_protected(run, pa.table({"a": [70.0, 70.0, 70.0, 70.0], "s": list("xxyy")}))
    verdict = run.document("validate", "verdict")
    verdict["file"] = run.staging.digest("aggregate", "protected.parquet")
    files = {"verdict.json": json.dumps(verdict).encode()}
    run.staging.put("validate", files, run.staging.summary("validate"))
    with pytest.raises(DisclosureError, match="it does not hold that nothing is odd"):
        passed_table(run)


def test_the_source_is_there_for_who_needs_it(install: Install, make_run: MakeRun) -> None:
    body = "def odd(rows): return rows.microdata.before['a'].codes > 90"
    install(body, needs_source=True)
    assert found(run := asked(make_run))["check_odd"]["observed"] == 1
    # Publish has no source, and relies on the verdict.
    assert not list(CHECKS[-1].recount(_published(run)))


def test_without_the_source_it_fails(install: Install, make_run: MakeRun) -> None:
    install("def odd(rows): return [False]", needs_source=True)
    run = asked(make_run)
    manifest = run.staging.summary("extract")
    run.staging.put("extract", {"source.json": b'{"kind": "", "types": {}}'}, manifest)
    one = found(run)["check_odd"]
    assert (one["passed"], one["observed"]) == (False, None)
    assert "source rows are not there" in one["error"]


FAULTY = {
    "an error that quotes a cell": "raise ValueError(f'{rows.table.to_pydict()} {93.25}')",
    "an error of ours that quotes a cell": (
        "from microagg_ops.errors import DataError; raise DataError(f'{rows.table.to_pydict()}')"
    ),
    "cells": "return rows.table['a'].to_numpy()",
    "the largest cell": "return max(rows.table['a'].to_pylist())",
    "a text with cells": "return str(rows.table.to_pydict())",
    "one truth": "return False",
    "nothing": "return None",
    "nothing at all to judge": "return np.zeros(0, bool)",
    "a truth that is not known": "return [False, None]",
    "counts": "return np.zeros(4, int)",
    "a table of truths": "return np.zeros((2, 2), bool)",
}


@pytest.mark.parametrize("answer", FAULTY.values(), ids=FAULTY)
def test_what_is_faulty_fails_and_tells_no_cell(
    install: Install, make_run: MakeRun, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(f"def odd(rows):\n    {answer}")
    run = asked(make_run)
    with caplog.at_level(logging.DEBUG), pytest.raises(DisclosureError) as caught:
        stage_function("validate")(run)
    one = found(run)["check_odd"]
    assert (one["passed"], one["observed"]) == (False, None)
    assert one["error"] == "the check itself failed"
    told = [json.dumps(run.document("validate", "verdict")), caplog.text, str(caught.value)]
    for text in told:
        assert not [cell for cell in ("93.25", "50.625", "1.5") if cell in text]


@pytest.mark.parametrize(
    "how", [{"claim": "{never} is odd"}, {"claim": "{0} is odd"}, {"where": "no_such:odd"}]
)
def test_what_is_declared_wrongly_fails(
    install: Install, make_run: MakeRun, how: dict[str, Any]
) -> None:
    where = how.pop("where", None)
    install("def odd(rows): return [False]" + (f"\nCHECK = AddedCheck('odd', '', '', '', {where!r})"
                                              if where else ""), **how)  # fmt: skip
    document = {"checks": {"odd": {}}}
    if where:
        assert [f.pointer for f in _faults(document)] == ["/validate/checks/odd"]
    else:
        assert found(asked(make_run))["check_odd"]["error"] == "the check itself failed"


@pytest.mark.parametrize(
    "check", ["None", "odd", "AddedCheck('other', '', '', '', 'x:odd')", "odd.missing"]
)
def test_an_entry_point_to_something_else_is_refused(
    install: Install, make_run: MakeRun, check: str
) -> None:
    install(f"def odd(rows): return [False]\nCHECK = {check}")
    (fault,) = _faults({"checks": {"odd": {}}})
    assert fault.pointer == "/validate/checks/odd"
    assert "cannot be loaded" in fault.found


def test_parameters_are_those_that_it_takes(install: Install) -> None:
    install("def odd(rows, *, least, most=9): return [False]")
    told = {f.pointer: f for f in _faults({"checks": {"odd": {"last": 1}}})}
    assert told["/validate/checks/odd/last"].allowed == "least, most"
    assert told["/validate/checks/odd/least"].found == "nothing"
    assert not _faults({"checks": {"odd": {"least": 1}}})
    (unknown,) = _faults({"checks": {"off": {}}})
    assert (unknown.found, unknown.allowed, unknown.suggestion) == ("an unknown key", "odd", "")
    (slip,) = _faults({"checks": {"odds": {}}})
    assert slip.suggestion == "odd"
    (shape,) = _faults({"checks": {"odd": 3}})
    assert (shape.found, shape.allowed) == ("3", "a mapping")


WEAKENING = """
from contextlib import suppress


def odd(rows):
    if hasattr(rows, "labels"):
        rows.linkage, rows.information_loss, rows.totals.clear()
    rows.release.validate.l.clear()
    rows.release.columns.quasi.clear()
    for names in rows.groups:
        names.clear()
    if hasattr(rows, "labels"):
        for array in (*rows.labels, rows.microdata.weights, rows.microdata.entities):
            with suppress(ValueError):  # what is Arrow's cannot be written to
                array.setflags(write=True)
                array[:] = 0
    return [False]
"""


@pytest.mark.parametrize("needs_source", [False, True])
def test_it_weakens_no_other_check(install: Install, make_run: MakeRun, needs_source: bool) -> None:
    limits = {"l": {"s": 2}, "max_linkage": 1.0, "totals": 1e-9, "dominance": {"share": 0.5}}
    plain = until(make_run(ROWS, columns=COLUMNS, aggregate=UNAWARE, validate=limits))
    usual = found(plain)
    assert not usual["l_diverse_s"]["passed"]
    assert not usual["dominance"]["passed"]
    install(WEAKENING, needs_source=needs_source)
    run = asked(make_run, **limits)
    weakened = found(run)
    assert weakened.pop("check_odd")["passed"]
    assert weakened == usual
    for key in ("k", "warnings"):
        assert run.staging.summary("validate")[key] == plain.staging.summary("validate")[key]
    assert "a class has too few values of s" in "".join(_recounted(run))


@pytest.mark.parametrize("name", ["k_anonymous", "schema", "l_diverse_s", "check"])
def test_the_name_of_another_check_is_not_taken(
    install: Install, make_run: MakeRun, name: str
) -> None:
    install("def odd(rows): return [False]", name=name)
    run = asked(make_run, name=name)
    put_protected(run, pa.table({"a": [1.5, 1.5, 8.5, SECRET], "s": list("xxyy")}))
    told = found(run)
    assert not told["k_anonymous"]["passed"]
    assert told[f"check_{name}"]["passed"]
    assert run.staging.summary("validate")["k"] == 1


def test_no_name_of_a_check_begins_with_that_of_another() -> None:
    names = [name for check in CHECKS for name in check.titles]
    assert len(set(names)) == len(names)
    for name in names:
        assert [other for other in names if other.startswith(f"{name}_")] == []


def test_where_it_is_gone_nothing_is_published(install: Install, make_run: MakeRun) -> None:
    install("def odd(rows): return [False]")
    run = asked(make_run)
    assert found(run)["check_odd"]["passed"]
    plugins.cache_clear()
    here = plugins("checks")
    here.clear()
    with pytest.raises(DisclosureError, match="the check odd passes"):
        passed_table(run)


def test_a_check_says_what_it_takes() -> None:
    check = AddedCheck("odd", "", "{most} at most", "", "tests.unit.checks.test_added:some")
    assert list(check.params) == ["most"]
    assert check.stated({}) == "3 at most"
    assert check.broken(None, {"most": 1}) == 2  # type: ignore[arg-type]
    entry = EntryPoint("odd", "tests.unit.checks.test_added:some", "microagg_ops.checks")
    assert entry.load() is some


def some(rows: Any, *, most: int = 3) -> Any:
    return np.arange(4) > most


def _published(run: Run) -> Any:
    from microagg_ops.checks import Published

    return Published(run.release, run.table("aggregate", "protected"), [["a"]])


def _recounted(run: Run) -> list[str]:
    return [fault for check in CHECKS for fault in check.recount(_published(run))]


def _faults(validate: dict[str, Any]) -> list[Any]:
    document = {
        "release": "r", "source": {"conn_id": "w", "table": "source"}, "columns": COLUMNS,
        "aggregate": {"k": 2}, "publish": {"conn_id": "w", "table": "target"}, "validate": validate,
    }  # fmt: skip
    return list(find_faults(document))
