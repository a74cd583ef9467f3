"""How long MDAV and its kin take on tables of growing size, and what they lose."""

from __future__ import annotations

from functools import partial

from microagg_ops import partition
from tests.benchmarks.harness import Panel, Section, exponent, grow
from tests.benchmarks.tables import normal, real_shaped

METHODS = ("mdav", "fmdav", "vmdav")
KINDS = (
    ("13 normal columns, k = 10", normal, 13, 10),
    ("13 normal columns, k = 3", normal, 13, 3),
    ("13 real-shaped columns, k = 10", real_shaped, 13, 10),
    ("13 real-shaped columns, k = 3", real_shaped, 13, 3),
    ("3 normal columns, k = 10", normal, 3, 10),
    ("30 normal columns, k = 10", normal, 30, 10),
)
SIZES = (10_000, 30_000, 100_000, 150_000, 300_000, 1_000_000)
QUICK = (1_000, 3_000, 10_000)
# Seconds that a run may be expected to take.
LIMIT, QUICK_LIMIT = 25.0, 5.0


def measure(quick: bool) -> Section:
    """Measure each kind of table."""
    sizes, limit = (QUICK, QUICK_LIMIT) if quick else (SIZES, LIMIT)
    panels = []
    for title, table, columns, k in KINDS:
        finds = {name: partial(partition, k=k, method=name) for name in METHODS}
        made = partial(table, columns=columns)
        panels.append(Panel(title, list(grow(finds, made, sizes, limit))))
    text = [line for panel in panels for line in compared(panel, 0 if quick else 100_000)]
    about = "Time and information loss of `mdav`, of F-MDAV and of V-MDAV (gain 0.2)."
    return Section("MDAV", about, panels, text)


def compared(panel: Panel, least_rows: int) -> list[str]:
    """Say how much faster `mdav` is, and how the times grow."""
    times = {name: {m.rows: m.seconds for m in panel.of(name)} for name in METHODS}
    both = sorted(times["mdav"].keys() & times["fmdav"].keys())
    ratios = [f"{times['fmdav'][n] / times['mdav'][n]:.1f} at {n:,}" for n in both]
    growth = {name: exponent(panel.of(name), least_rows) for name in METHODS}
    told = [f"`{name}` {power:.2f}" for name, power in growth.items() if power is not None]
    return [
        f"{panel.title}: times `mdav` is faster than `fmdav`: {', '.join(ratios)} rows. "
        f"Time grows with rows to the power: {', '.join(told)}"
        f"{f' (from {least_rows:,} rows)' if least_rows else ''}.",
        "",
    ]
