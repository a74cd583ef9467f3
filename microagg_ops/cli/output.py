"""What the command line prints: results on standard output, the rest on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from microagg_ops.errors import MicroaggError

WIDTH = 30


@dataclass
class Output:
    """Text for people or JSON for machines."""

    as_json: bool = False
    _open: bool = False
    _finished: str = ""

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
        if not self.as_json:
            print(line, file=sys.stderr, flush=True)

    def progress(self, stage: str, share: float) -> None:
        """Draw a bar, if the terminal is one."""
        if self.as_json or stage == self._finished or not sys.stderr.isatty():
            return
        filled = int(share * WIDTH)
        bar = "█" * filled + "░" * (WIDTH - filled)
        sys.stderr.write(f"\r{stage:<12} {bar} {share:4.0%}\x1b[K")
        self._open = share < 1
        if share >= 1:
            self._finished = stage
            sys.stderr.write("\n")
        sys.stderr.flush()

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
