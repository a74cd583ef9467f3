"""Kill −9 between publication and ledger: the next run agrees with what is published.

``CHAOS=long`` (``make chaos``) kills a hundred runs, ``CHAOS_KILLS`` as many as it says.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.ledger import Chain

LONG = os.environ.get("CHAOS") == "long"
KILLS = int(os.environ.get("CHAOS_KILLS", "100" if LONG else "4"))
SEED = int(os.environ.get("CHAOS_SEED", "20261119"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "table"])
def test_the_next_run_agrees_with_what_is_published(tmp_path: Path, kind: str) -> None:
    chain = Chain(tmp_path, kind, random.Random(f"{SEED} {kind}"))
    chain.attempts(KILLS // 2)
    print(kind, "killed", chain.killed, "of", KILLS // 2, "in", chain.lines, "lines;",
          chain.behind, "left the ledger behind the target")  # fmt: skip
    assert chain.faults == []
    assert chain.killed == KILLS // 2
