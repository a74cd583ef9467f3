"""A release on Spark, Parquet to Parquet: seconds of each stage, and memory of driver and workers.

Seconds are told by the clock and of processors: on a busy machine only the latter mean anything.

``python -m tests.benchmarks.spark 1000000 [block_rows]``
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from microagg_ops.pipeline import run_release

CHUNK = 500_000
COLUMNS = 8
RELEASE = """
release: wide
source: {{conn_id: lake, table: wide}}
columns:
  quasi: {{{quasi}}}
aggregate: {{method: mdav, k: 5}}
validate: {{max_information_loss: 0.9, totals: 0.001}}
engine: {{name: spark, conn_id: cluster, block_rows: {block}}}
publish: {{conn_id: lake, table: pub.wide}}
"""


def processes() -> Iterator[int]:
    """This process and all below it."""
    below: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                below.setdefault(int(fields[1]), []).append(int(entry))
        except OSError:
            continue
    waiting = [os.getpid()]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += below.get(one, [])


def resident() -> int:
    """Bytes that these processes hold, pages that they share counted once (PSS)."""
    held = 0
    for process in processes():
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        held += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return held


def worked() -> float:
    """Seconds of processors that these processes, and those of them that are gone, have used."""
    ticks = 0
    for process in processes():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def seed(folder: Path, rows: int) -> None:
    """Write a table of clusters, in files of half a million rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 4, (200, COLUMNS))
    (folder / "wide").mkdir()
    for number in range(-(-rows // CHUNK)):
        some = min(CHUNK, rows - number * CHUNK)
        points = centres[rng.integers(0, len(centres), some)] + rng.normal(size=(some, COLUMNS))
        table = pa.table({f"x{i}": points[:, i] for i in range(COLUMNS)})
        pq.write_table(table, folder / "wide" / f"part-{number:04}.parquet")


def main(rows: int, block: int) -> None:
    """Run and tell."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seed(folder, rows)
        quasi = ", ".join(f"x{i}: {{type: number}}" for i in range(COLUMNS))
        (folder / "release.yaml").write_text(RELEASE.format(quasi=quasi, block=block))
        most, began, done = [0], [0.0, 0.0], threading.Event()

        def watch() -> None:
            while not done.wait(0.5):
                most[0] = max(most[0], resident())

        threading.Thread(target=watch, daemon=True).start()

        def progress(stage: str, share: float) -> None:
            now = [time.monotonic(), worked()]
            if share:
                clock, used = (after - before for before, after in zip(began, now, strict=True))
                print(f"{rows:,} {stage}: {clock:.0f} s, {used:.0f} s of processors", flush=True)
            began[:] = now

        cluster = (
            '{"conn_type": "spark", "host": "local[2]", "extra": {"spark.driver.memory": "2g"}}'
        )
        found = run_release(
            folder / "release.yaml",
            connections={"lake": f"parquet://{folder}", "cluster": cluster},
            reports=folder / "reports",
            progress=progress,
        )
        done.set()
        print(
            f"{rows:,} rows, {-(-rows // block)} blocks or more: {worked():.0f} s of processors, "
            f"{most[0] / 2**30:.1f} GiB at most, information loss {found.information_loss:.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 250_000)
    os._exit(0)
