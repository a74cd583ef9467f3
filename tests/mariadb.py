"""A real MariaDB, where Debian's package is installed, started and stopped by the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest

from tests.postgres import _free_port, _own

PATIENCE = 60.0


@contextmanager
def start_mariadb(folder: Path) -> Iterator[str]:
    """Run a server in a folder until the block ends; gives the URL of an empty database."""
    server, install = shutil.which("mariadbd"), shutil.which("mariadb-install-db")
    if not server or not install:
        pytest.skip("MariaDB is not installed (mariadb-server of Debian)")
    _own(folder)
    user = "nobody" if os.getuid() == 0 else None
    where = ["--no-defaults", f"--datadir={folder / 'data'}"]
    (folder / "data").mkdir()
    _own(folder)
    made = subprocess.run(
        [install, *where, "--auth-root-authentication-method=normal", "--skip-test-db"],
        user=user, cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr + made.stdout
    port = _free_port()
    process = subprocess.Popen(
        [
            server, *where, f"--port={port}", "--bind-address=127.0.0.1",
            f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}",
            "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0",
            "--innodb-lock-wait-timeout=5",
        ],
        user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _made_database(port)
        yield f"mysql://root@127.0.0.1:{port}/tested"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _made_database(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with pymysql.connect(host="127.0.0.1", port=port, user="root") as con:
                con.cursor().execute("create database tested character set utf8mb4")
                return
        except pymysql.err.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
