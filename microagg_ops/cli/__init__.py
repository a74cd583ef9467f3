"""The command line: ``microagg``."""

from __future__ import annotations

from microagg_ops.cli.main import main

__all__ = ["main"]
