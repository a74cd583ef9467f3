"""``python -m microagg_ops.cli``."""

from __future__ import annotations

from microagg_ops.cli.main import entry

entry()
