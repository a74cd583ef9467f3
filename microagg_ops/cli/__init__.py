"""The command line: ``microagg``."""

from __future__ import annotations

from microagg_ops.cli.main import entry, main

__all__ = ["entry", "main"]
