"""``make bench``: one module a question; each writes its section and its plot into results/.

``python -m tests.benchmarks [names] [--quick]`` asks some of them, or all on small tables.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from tests.benchmarks.harness import write, write_index

QUESTIONS = (
    "mdav", "ablation", "one_column", "search", "cache", "best", "bound", "scale", "graph",
    "grouping", "measures", "attacks", "walk", "diverse", "series",
)  # fmt: skip


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(QUESTIONS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small tables: to see that it works")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(QUESTIONS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for name in arguments.names or QUESTIONS:
        section = import_module(f"tests.benchmarks.{name}").measure(arguments.quick)
        print(write(name, section, arguments.quick))
    write_index()


if __name__ == "__main__":
    main()
