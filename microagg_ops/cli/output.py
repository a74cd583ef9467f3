"""What the command line prints: results on standard output, the rest on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from microagg_ops.errors import MicroaggError

WIDTH = 30
# Seconds between two lines of one stage, where there is no terminal to draw on.
EVERY = 10.0


@dataclass
class Output:
    """Text for people or JSON for machines."""

    as_json: bool = False
    quiet: bool = False
    _open: bool = False
    _began: float = 0.0
    _told: float = 0.0
    _finished: str = ""
    _stage: str = ""

    def result(self, document: Mapping[str, Any], lines: Sequence[str]) -> None:
        """Print what was asked for."""
        self._close()
        print(json.dumps(document, indent=2) if self.as_json else "\n".join(lines))

    def error(self, error: MicroaggError) -> None:
        """Print what went wrong."""
        self._close()
        if self.as_json:
            document = {
                "error": error.code,
                "message": error.message,
                "hint": error.hint,
                "retryable": error.retryable,
            }
            print(json.dumps(document, indent=2), file=sys.stderr)
        else:
            print(f"microagg: {error}", file=sys.stderr)

    def say(self, line: str) -> None:
        """Tell a person what is going on."""
        self._close()
        if not (self.as_json or self.quiet):
            print(line, file=sys.stderr, flush=True)

    def progress(self, stage: str, share: float) -> None:
        """Draw a bar; where nobody sees it move, write a line a stage, and one now and then."""
        if self.as_json or self.quiet or stage == self._finished:
            return
        if not sys.stderr.isatty():
            self._line(stage, share)
            return
        filled = int(share * WIDTH)
        bar = "█" * filled + "░" * (WIDTH - filled)
        sys.stderr.write(f"\r{stage:<12} {bar} {share:4.0%}\x1b[K")
        self._open = share < 1
        if share >= 1:
            self._finished = stage
            sys.stderr.write("\n")
        sys.stderr.flush()

    def _line(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._told = stage, now, now
        if share >= 1:
            self._finished = stage
            print(f"{stage:<12} done in {now - self._began:.1f} s", file=sys.stderr, flush=True)
        elif now - self._told >= EVERY:
            self._told = now
            print(f"{stage:<12} {share:.0%}", file=sys.stderr, flush=True)

    def _close(self) -> None:
        if self._open:
            sys.stderr.write("\n")
            self._open = False


def aligned(rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> list[str]:
    """Return rows as lines with columns below each other, those of numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(widths[i]) if i in numbers else cell.ljust(widths[i])
            for i, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]
