"""Kill a run of a series between publication and ledger, again and again, in fresh processes.

Each run publishes a table that differs from the last one. A trace counts the lines of our modules
from the moment at which the target is written until publish returns; at one of them, drawn by a
seed, the process is killed. The next run begins with what that one left.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb

from microagg_ops.series.ledger import Ledger, read_ledger
from microagg_ops.stages import Run, stage_function
from microagg_ops.staging.digests import content_digest, from_parquet
from tests import naive_series, series

PATIENCE = 300.0
KEY = {"MICROAGG_KEY": "the key of the tests of series"}


@dataclass
class Window:
    """Counts the lines of our modules after the target is written, and kills at one of them."""

    at: int
    is_open: bool = False
    count: int = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if "microagg_ops" not in code.co_filename:
            return None
        if event == "return" and code.co_qualname == "write" and "publish" in code.co_filename:
            self.is_open = True
        elif event == "line" and self.is_open:
            self.count += 1
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def schedule_in(folder: Path, kind: str) -> series.Schedule:
    """The release of a chain of runs; its ledger is a file or a table."""
    place: dict[str, object] = {} if kind == "file" else {
        "ledger": {"conn_id": "w", "table": "ledger"}
    }  # fmt: skip
    return series.Schedule(folder, {"protect": "history", "patience": 0} | place)


def main(folder: str, kind: str, number: str, at: str) -> None:
    """Run once; write down how many lines there were to be killed at."""
    window = Window(int(at))

    def at_publish(stage: str) -> Callable[[Run], Any]:
        def traced(run: Run) -> None:
            sys.settrace(window)
            try:
                stage_function(stage)(run)
            finally:
                sys.settrace(None)

        return traced if stage == "publish" else stage_function(stage)

    series.stage_function = at_publish  # type: ignore[assignment]
    schedule = schedule_in(Path(folder), kind)
    schedule.runs = int(number)
    rows = {name: values[: 60 + 5 * int(number)] for name, values in series.people(600, 3).items()}
    assert schedule.run(rows) == "published"
    Path(folder, "lines").write_text(str(window.count))


@dataclass
class Chain:
    """Runs of one series, most of them killed.

    Parameters
    ----------
    folder, kind
        Where, and where its ledger is.
    rng
        What draws lines.
    """

    folder: Path
    kind: str
    rng: random.Random
    runs: int = 0
    killed: int = 0
    lines: int = 0
    behind: int = 0
    faults: list[str] = field(default_factory=list)

    def run(self, at: int) -> int:
        """Run in a fresh process; give its exit code."""
        given = (str(self.folder), self.kind, str(self.runs), str(at))
        done = subprocess.run(
            [sys.executable, "-m", "tests.chaos.ledger", *given],
            env=os.environ | KEY,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        self.runs += 1
        if done.returncode not in (0, -signal.SIGKILL):
            self.faults.append(done.stderr.decode(errors="replace")[-2000:])
        return done.returncode

    def attempts(self, many: int) -> None:
        """Run once in peace, kill so many, and run once in peace."""
        self.run(0)
        self.lines = int((self.folder / "lines").read_text())
        while self.killed < many and not self.faults:
            at = self.rng.randint(1, self.lines)  # a later run may have fewer, and live
            self.killed += self.run(at) == -signal.SIGKILL
            self.judge(f"killed at line {at}")
        self.run(0)
        self.judge("in peace")

    def judge(self, when: str) -> None:
        """Compare ledger and next ledger with the target: one of them must be true of it."""
        with duckdb.connect(str(self.folder / "warehouse.duckdb"), read_only=True) as con:
            target = content_digest(con.sql("from patients").to_arrow_table())
            ledgers = [self.ledger(con, which) for which in ("", "_next")]
            true = [one for one in ledgers if one and one.last and one.last.digest == target]
            if not true:
                self.faults.append(f"{when}: no ledger is true of the target")
                return
            con.register("told", true[-1].table())
            sql = naive_series.HISTORY_K.replace("ledger", "told")
            ((k,),) = con.sql(sql).fetchall()
        self.behind += ledgers[0] is not true[-1]
        # Each killed run had published: all before it must be remembered.
        if (k < 5) or len(true[-1].publications) != self.runs:
            known = len(true[-1].publications)
            self.faults.append(f"{when}: k is {k}, {known} of {self.runs} publications known")

    def ledger(self, con: duckdb.DuckDBPyConnection, which: str) -> Ledger | None:
        """Read a ledger as it is kept."""
        if self.kind == "file":
            path = self.folder / "private" / f"ledger.parquet{which}"
            return read_ledger(from_parquet(path.read_bytes())) if path.exists() else None
        if (f"ledger{which}",) not in con.sql("select table_name from duckdb_tables()").fetchall():
            return None
        rows = con.sql(f"from ledger{which}").to_arrow_table()
        return read_ledger(rows) if rows.num_rows else None


if __name__ == "__main__":
    main(*sys.argv[1:])
