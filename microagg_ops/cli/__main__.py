"""``python -m microagg_ops.cli``."""

from __future__ import annotations

import sys

from microagg_ops.cli.main import main

sys.exit(main())
