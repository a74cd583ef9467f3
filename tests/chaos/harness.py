"""Faults on purpose: end a run at a line of write, put or report, and judge what is left.

Each try is a release in a process of its own. A trace counts the lines of the functions that
write; at one of them, drawn by a seed, the process is killed, is sent a signal, or finds the disk
full. Afterwards the target must be the old table or the new one, whole; what the run said of it
must be true; and after a sweep no raw row may be left.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb

from microagg_ops.cli.main import main
from microagg_ops.staging.digests import content_digest
from microagg_ops.staging.owner import sweep

# No try may hang, however busy the machine is.
PATIENCE = 300.0
RESULTS = Path(__file__).with_name("results.json")
WATCHED = (
    "stages/publish.py", "stages/publication.py", "staging/store.py", "staging/private.py",
    "staging/owner.py", "warehouse/duckdb.py", "pipeline.py", "stages/report.py",
)  # fmt: skip
OLD = (
    "create or replace table pub.clinic_patients as select age, height_cm, bmi, admitted, "
    "diagnosis, region from clinic.patients limit 0"
)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def by(*numbers: int) -> Callable[[], None]:
    def act() -> None:
        for number in numbers:
            signal.raise_signal(number)

    return act


FAULTS: dict[str, Callable[[], None]] = {
    "killed": killed,
    "SIGTERM": by(signal.SIGTERM),
    "SIGHUP": by(signal.SIGHUP),
    "SIGQUIT": by(signal.SIGQUIT),
    "SIGINT, then SIGTERM": by(signal.SIGINT, signal.SIGTERM),
    "disk full": full,
}


@dataclass
class Row:
    """What became of the tries of one fault."""

    tries: int = 0
    published: int = 0
    mixed: int = 0
    raw_left: int = 0
    untrue: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class Lines:
    """Counts the lines of what writes, and acts at one of them."""

    at: int
    act: Callable[[], None]
    count: int = 0
    where: str = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        path = frame.f_code.co_filename
        watched = "microagg_ops" in path and path.endswith(WATCHED)
        if watched and event == "line":
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                self.where = f"{Path(path).name}:{frame.f_lineno}"
                self.act()
        return self if watched else None


@dataclass(frozen=True)
class Ground:
    """A warehouse, a release, and folders for what a run leaves."""

    folder: Path
    warehouse: Path
    release: Path

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def arguments(self) -> list[str]:
        reports = str(self.folder / "reports")
        connection = f"warehouse=duckdb://{self.warehouse}"
        return ["run", str(self.release), "--reports", reports, "--connection", connection]

    def reset(self) -> None:
        with duckdb.connect(str(self.warehouse)) as con:
            con.execute(OLD)
            con.execute(
                "insert into pub.clinic_patients select 50, 170, 25, date '2024-01-01', "
                "'old', 'old' from range(5)"
            )

    def target(self) -> str:
        with duckdb.connect(str(self.warehouse), read_only=True) as con:
            return content_digest(con.sql("from pub.clinic_patients").to_arrow_table())

    def attempt(self, at: int, fault: str) -> tuple[int, str, int]:
        """Run the release in a fresh process; give its exit code, its words and lines counted."""
        self.temporary.mkdir(exist_ok=True)
        said = self.folder / "said"
        lines = self.folder / "lines"
        lines.unlink(missing_ok=True)
        given = (str(at), fault, str(lines))
        with said.open("wb") as output:
            done = subprocess.run(
                [sys.executable, "-m", "tests.chaos.harness", *given, *self.arguments],
                env=os.environ | {"TMPDIR": str(self.temporary)},
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
                check=False,
            )
        counted = int(lines.read_text()) if lines.exists() else 0
        return done.returncode, said.read_text(errors="replace"), counted


def chaos(ground: Ground, seed: int, tries: int = 0, seconds: float = 1e9) -> dict[str, Row]:
    """Try faults until there were enough, or time is up."""
    draw = random.Random(seed)
    ground.reset()
    old = ground.target()
    code, said, lines = ground.attempt(0, "killed")
    assert code == 0, said
    new = ground.target()
    assert old != new and lines > 100, lines
    rows = {name: Row() for name in FAULTS}
    until = time.monotonic() + seconds
    for number in range(tries or sys.maxsize):
        if time.monotonic() > until:
            break
        name = list(FAULTS)[number % len(FAULTS)]
        ground.reset()
        # Half of the tries in the last part, where the target is written and told of.
        first = lines * 3 // 4 if draw.random() < 0.5 else 1
        at = draw.randint(first, lines)
        judge(rows[name], ground, ground.attempt(at, name), (old, new), at)
    return rows


def judge(
    row: Row, ground: Ground, outcome: tuple[int, str, int], tables: tuple[str, str], at: int
) -> None:
    """Count what must never be."""
    code, said, _ = outcome
    found = ground.target()
    old, new = tables
    row.tries += 1
    row.published += found == new
    mixed = found not in tables
    untrue = (code == 0 and found != new) or ("as it was" in said and found != old)
    # A run that failed by itself, and not by a kill, says so; then nothing may be published.
    untrue |= code > 0 and found == new and "commit_unknown" not in said
    sweep(ground.temporary)
    left = [path for path in ground.temporary.rglob("*") if path.is_file()]
    row.mixed, row.untrue = row.mixed + mixed, row.untrue + untrue
    row.raw_left += bool([path for path in left if path.suffix == ".parquet"])
    if mixed or untrue or left:
        row.examples.append(f"line {at}, exit {code}: {said[-300:]} {[p.name for p in left][:3]}")


def written(rows: dict[str, Row], seed: int) -> None:
    """Keep the results of a long run for the page of the documentation."""
    plain = {
        name: {
            key: getattr(row, key) for key in ("tries", "published", "mixed", "raw_left", "untrue")
        }
        for name, row in rows.items()
    }
    RESULTS.write_text(json.dumps({"seed": seed, "rows": plain}, indent=1) + "\n")


def victim(at: int, fault: str, lines: Path, arguments: list[str]) -> int:
    """Run the command line under the trace."""
    tracer = Lines(at, FAULTS[fault])
    sys.settrace(tracer)
    code = main(arguments)
    sys.settrace(None)
    lines.write_text(str(tracer.count))
    return code


if __name__ == "__main__":
    exit_code = victim(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    sys.stdout.flush()
    os._exit(exit_code)
