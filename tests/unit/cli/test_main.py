"""The command line: what it prints, where, and the exit code that goes with it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from microagg_ops import pipeline
from microagg_ops.cli.main import main
from microagg_ops.release.model import STAGES

QUASI = "age, height_cm, bmi, admitted, region"


@dataclass
class Done:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)


Microagg = Callable[..., Done]


@pytest.fixture
def microagg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Microagg:
    """The command line, in a folder of its own and with temporary files of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AIRFLOW_CONN_WAREHOUSE", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))

    def call(*argv: str | Path) -> Done:
        capsys.readouterr()
        code = main([str(argument) for argument in argv])
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def connection(warehouse: Path) -> tuple[str, str]:
    """The arguments that lead to the warehouse."""
    return "--connection", f"warehouse=duckdb://{warehouse}"


def edit(release_file: Path, old: str, new: str) -> None:
    text = release_file.read_text()
    assert text.count(old) == 1
    release_file.write_text(text.replace(old, new))


def rows(warehouse: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(warehouse), read_only=True) as con:
        return con.execute(query).fetchall()


def targets(warehouse: Path) -> list[tuple[Any, ...]]:
    """The tables of schema pub."""
    return rows(warehouse, "select table_name from duckdb_tables() where schema_name = 'pub'")


def left_in_temporary(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "tmp").iterdir())


def test_check_of_a_good_file(microagg: Microagg, release_file: Path) -> None:
    done = microagg("check", release_file)
    assert (done.code, done.out, done.err) == (0, f"{release_file} is a release.\n", "")


def test_check_of_a_bad_file(microagg: Microagg, release_file: Path) -> None:
    edit(release_file, "k: 3", "k: 1, sede: 3")
    done = microagg("check", release_file)
    assert done.code == 2
    assert done.out.splitlines() == [
        f"{release_file}:14: /aggregate/sede: found an unknown key; allowed: aware, budget, k, "
        "method, params, seed, threads. Did you mean 'seed'?",
        f"{release_file}:14: /aggregate/k: found 1; allowed: 2 or more.",
    ]


def test_check_as_json(microagg: Microagg, release_file: Path) -> None:
    good = microagg("check", release_file, "--json")
    nothing = {"faults": [], "warnings": [], "source": False}
    assert good.result == {"file": str(release_file)} | nothing
    edit(release_file, "k: 3", "k: 1")
    bad = microagg("check", release_file, "--json")
    assert bad.code == 2
    assert bad.result["faults"] == [
        {
            "pointer": "/aggregate/k",
            "found": "1",
            "allowed": "2 or more",
            "suggestion": "",
            "line": 14,
        }
    ]


def test_check_of_no_file(microagg: Microagg) -> None:
    done = microagg("check", "none.yaml", "--json")
    assert (done.code, done.out, done.error["error"]) == (2, "", "no_release")


def test_run_publishes(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str]
) -> None:
    done = microagg("run", release_file, *connection)
    assert done.code == 0
    assert done.out.startswith("Published 600 rows to pub.clinic_patients.\nk = 3, ")
    assert "passed  k_anonymous" in done.out
    assert rows(warehouse, "select count(*) from pub.clinic_patients") == [(600,)]


def test_run_publishes_what_the_release_promises(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str]
) -> None:
    microagg("run", release_file, *connection)
    classes = f"select count(*) n from pub.clinic_patients group by {QUASI}"
    assert rows(warehouse, f"select min(n) >= 3 from ({classes})") == [(True,)]


def test_run_writes_its_report_and_leaves_no_staging(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], tmp_path: Path
) -> None:
    microagg("run", release_file, *connection, "--reports", "audit", "--run-id", "first")
    folder = tmp_path / "audit" / "clinic_patients" / "first"
    assert sorted(path.name for path in folder.iterdir()) == [
        "external.html", "external.json", "manifest.json", "report.html", "report.json",
    ]  # fmt: skip
    assert left_in_temporary(tmp_path) == []


def test_run_tells_the_joint_k_beside_that_of_each_group(
    microagg: Microagg, release_file: Path, connection: tuple[str, str]
) -> None:
    groups = "group: {method: fixed, groups: [[age, bmi], [height_cm, admitted]]}"
    edit(release_file, "aggregate: {k: 3}", f"{groups}\naggregate: {{k: 3}}")
    refused = microagg("run", release_file, *connection)
    assert refused.code == 1
    assert "over all of them jointly it is 1" in refused.err
    edit(release_file, groups, f"{groups}\nvalidate: {{guarantee: per_group}}")
    done = microagg("run", release_file, *connection)
    assert done.code == 0
    assert "\nk = 3, 3 in the groups, 1 jointly, information loss" in done.out
    again = microagg("run", release_file, *connection, "--json")
    assert (again.result["k_joint"], again.result["k_by_group"]) == (1, [3, 3])


def test_run_as_json(microagg: Microagg, release_file: Path, connection: tuple[str, str]) -> None:
    done = microagg("run", release_file, *connection, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.result["table"] == "pub.clinic_patients"
    assert done.result["k"] >= 3
    names = ("k_anonymous", "schema", "dominance", "p_percent")
    assert done.result["checks"] == dict.fromkeys(names, True)
    assert set(done.result["reports"]) == {
        "html", "json", "external_html", "external_json", "manifest",
    }  # fmt: skip


def test_run_finds_a_connection_in_the_environment(
    microagg: Microagg, release_file: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", f"duckdb://{warehouse}")
    assert microagg("run", release_file).code == 0


def test_a_failed_check_is_1_and_nothing_is_published(
    microagg: Microagg,
    release_file: Path,
    warehouse: Path,
    connection: tuple[str, str],
    tmp_path: Path,
) -> None:
    with release_file.open("a") as file:
        file.write("validate: {max_information_loss: 0}\n")
    done = microagg("run", release_file, *connection, "--json")
    assert (done.code, done.out, done.error["error"]) == (1, "", "check_failed")
    assert done.error["retryable"] is False
    assert "information loss is at most 0 %" in done.error["message"]
    assert targets(warehouse) == []
    assert left_in_temporary(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("k: 3", "k: 1", "bad_release"),
        ("clinic.patients}", "clinic.nobody}", "no_table"),
        ("[diagnosis]", "[diagnose]", "no_column"),
        ("k: 3", "k: 100000", "too_few"),
        ("{conn_id: warehouse, table: clinic", "{conn_id: lake, table: clinic", "no_connection"),
    ],
)
def test_a_bad_release_or_bad_data_is_2(
    microagg: Microagg,
    release_file: Path,
    warehouse: Path,
    connection: tuple[str, str],
    old: str,
    new: str,
    code: str,
) -> None:
    edit(release_file, old, new)
    done = microagg("run", release_file, *connection, "--json")
    assert (done.code, done.out, done.error["error"]) == (2, "", code)
    assert targets(warehouse) == []


def test_an_unreachable_warehouse_is_3(
    microagg: Microagg, release_file: Path, tmp_path: Path
) -> None:
    url = f"warehouse=duckdb://{tmp_path}/none.duckdb"
    done = microagg("run", release_file, "--connection", url, "--json")
    assert (done.code, done.out) == (3, "")
    assert (done.error["error"], done.error["retryable"]) == ("unreachable", True)
    assert not (tmp_path / "none.duckdb").exists()


def test_an_error_is_a_line_for_people(microagg: Microagg, release_file: Path) -> None:
    done = microagg("run", release_file)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "microagg: There is no connection 'warehouse'. "
        "Set AIRFLOW_CONN_WAREHOUSE, or give warehouse=URL with --connection.\n"
    )


def test_an_unforeseen_error_is_3_and_shows_no_data(
    microagg: Microagg,
    release_file: Path,
    connection: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(stage: str) -> Any:
        raise ValueError("canary_4711")

    monkeypatch.setattr(pipeline, "stage_function", fails)
    done = microagg("run", release_file, *connection)
    assert done.code == 3
    assert "Unexpected ValueError" in done.err
    assert "canary_4711" not in done.out + done.err


def test_an_interrupt_is_3_and_leaves_nothing(
    microagg: Microagg,
    release_file: Path,
    warehouse: Path,
    connection: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = pipeline.stage_function

    def interrupted(stage: str) -> Any:
        if stage == "group":
            raise KeyboardInterrupt
        return function(stage)

    monkeypatch.setattr(pipeline, "stage_function", interrupted)
    done = microagg("run", release_file, *connection, "--json")
    assert (done.code, done.error["error"]) == (3, "interrupted")
    assert targets(warehouse) == []
    assert left_in_temporary(tmp_path) == []


def test_stages_one_by_one_publish_what_run_publishes(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str]
) -> None:
    microagg("run", release_file, *connection)
    table = "select * from pub.clinic_patients order by all"
    at_once = rows(warehouse, table)
    with duckdb.connect(str(warehouse)) as con:
        con.execute("drop table pub.clinic_patients")
    for stage in STAGES:
        done = microagg(stage, release_file, *connection, "--staging", "staging")
        assert done.code == 0
        assert [line.split()[:2] for line in done.err.splitlines()] == [[stage, "done"]]
        assert done.out.startswith(f"{stage}: ")
    assert rows(warehouse, table) == at_once


def test_a_stage_may_be_run_twice(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str]
) -> None:
    for stage in STAGES:
        first, second = (
            microagg(stage, release_file, *connection, "--staging", "s", "--run-id", "r", "--json")
            for _ in range(2)
        )
        assert (first.code, second.code) == (0, 0)
        if stage != "aggregate":  # it tells its time
            assert first.result == second.result
    assert rows(warehouse, "select count(*) from pub.clinic_patients") == [(600,)]


@pytest.mark.parametrize("stage", STAGES[1:])
def test_a_stage_without_extract_says_so(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], stage: str
) -> None:
    done = microagg(stage, release_file, *connection, "--staging", "staging", "--json")
    assert (done.code, done.error["error"]) == (3, "staging_missing")
    assert "Stage 'extract' has not finished" in done.error["message"]


@pytest.mark.parametrize(
    ("stage", "missing"),
    [("aggregate", "standardize"), ("validate", "aggregate"), ("publish", "validate")],
)
def test_a_stage_too_early_says_which_is_missing(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], stage: str, missing: str
) -> None:
    microagg("extract", release_file, *connection, "--staging", "staging")
    done = microagg(stage, release_file, *connection, "--staging", "staging", "--json")
    assert (done.code, done.error["error"]) == (3, "staging_missing")
    assert f"Stage {missing!r} has not finished" in done.error["message"]


def test_a_stage_after_a_change_of_the_release_is_refused(
    microagg: Microagg, release_file: Path, connection: tuple[str, str]
) -> None:
    microagg("extract", release_file, *connection, "--staging", "staging")
    edit(release_file, "k: 3", "k: 4")
    done = microagg("standardize", release_file, *connection, "--staging", "staging", "--json")
    assert (done.code, done.error["error"]) == (3, "release_changed")


def test_a_stage_of_another_interval_is_refused(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str]
) -> None:
    bounded = 'clinic.patients, where: "admitted >= :start and admitted < :end"}'
    edit(release_file, "clinic.patients}", bounded)
    edit(release_file, "clinic_patients}", "clinic_patients, mode: append_interval}")
    began = ("--staging", "staging", "--start", "2024-01-01", "--end", "2026-01-01")
    for stage in STAGES[:-1]:
        assert microagg(stage, release_file, *connection, *began).code == 0
    other = ("--staging", "staging", "--start", "2023-01-01", "--end", "2024-01-01")
    done = microagg("publish", release_file, *connection, *other, "--json")
    assert (done.code, done.error["error"]) == (3, "interval_changed")
    assert targets(warehouse) == []
    assert microagg("publish", release_file, *connection, *began).code == 0


def test_an_interval_may_be_written_in_another_time_zone(
    microagg: Microagg, release_file: Path, connection: tuple[str, str]
) -> None:
    here = ("--start", "2024-01-01", "--end", "2026-01-01")
    there = ("--start", "2024-01-01T02:00+02:00", "--end", "2026-01-01T00:00Z")
    microagg("extract", release_file, *connection, "--staging", "staging", *here)
    done = microagg("group", release_file, *connection, "--staging", "staging", *there)
    assert done.code == 0


def test_cleanup_removes_the_staging(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], tmp_path: Path
) -> None:
    microagg("extract", release_file, *connection, "--staging", "staging")
    assert (tmp_path / "staging").is_dir()
    done = microagg("cleanup", "--staging", "staging", "--json")
    assert (done.code, done.result) == (0, {"removed": True})
    assert not (tmp_path / "staging").exists()


def test_cleanup_spares_a_folder_of_other_files(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "home" / "extract").mkdir(parents=True)
    (tmp_path / "home" / "thesis.txt").write_text("")
    done = microagg("cleanup", "--staging", "home", "--json")
    assert (done.code, done.error["error"]) == (2, "not_staging")
    assert (tmp_path / "home" / "thesis.txt").exists()


def test_cleanup_of_nothing_is_fine(microagg: Microagg) -> None:
    done = microagg("cleanup", "--staging", "staging")
    assert (done.code, done.out) == (0, "There was nothing in staging.\n")


def test_methods_are_listed(microagg: Microagg) -> None:
    assert microagg("methods").out.startswith("mdav ")
    assert "mdav" in microagg("methods", "--json").result["methods"]


def test_a_connection_needs_an_id(microagg: Microagg, release_file: Path) -> None:
    done = microagg("run", release_file, "--connection", "duckdb:///x.duckdb")
    assert (done.code, done.err) == (2, "microagg: --connection must be ID=URL.\n")


@pytest.mark.parametrize("given", ["--start", "--end"])
def test_an_interval_needs_both_ends(microagg: Microagg, release_file: Path, given: str) -> None:
    done = microagg("run", release_file, given, "2026-01-01", "--json")
    assert (done.code, done.error["error"]) == (2, "no_interval")


def test_an_interval_bounds_the_rows(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str]
) -> None:
    bounded = 'clinic.patients, where: "admitted >= :start and admitted < :end"}'
    edit(release_file, "clinic.patients}", bounded)
    span = ("--start", "2024-01-01", "--end", "2025-01-01")
    within = "admitted >= date '2024-01-01' and admitted < date '2025-01-01'"
    ((expected,),) = rows(warehouse, f"select count(*) from clinic.patients where {within}")
    done = microagg("run", release_file, *connection, *span, "--json")
    assert 0 < expected < 600
    assert done.result["rows"] == expected


def test_a_condition_on_the_interval_needs_one(
    microagg: Microagg, release_file: Path, connection: tuple[str, str]
) -> None:
    edit(release_file, "clinic.patients}", 'clinic.patients, where: "admitted < :end"}')
    done = microagg("run", release_file, *connection, "--json")
    assert (done.code, done.error["error"]) == (2, "no_interval")


@pytest.mark.parametrize(
    "argv",
    [
        ["frobnicate"],
        [],
        ["check"],
        ["extract", "release.yaml"],
        ["run", "release.yaml", "--start", "yesterday", "--end", "today"],
    ],
)
def test_what_the_command_line_does_not_know_is_2(microagg: Microagg, argv: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        microagg(*argv)
    assert caught.value.code == 2
