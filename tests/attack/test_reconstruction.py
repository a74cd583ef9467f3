"""Nobody who reads all that leaves learns a raw cell, a suppressed cell or a count below k.

``MICROAGG_FUZZ`` is the number of releases: ``make fuzz`` tries a thousand.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.attack.artefacts import Office
from tests.attack.attacker import ATTACKS
from tests.attack.fuzz import Tally, attack_release
from tests.attack.twins import (
    TWINS,
    Twin,
    dropped_row,
    imputed_cell,
    other_entity,
    suppressed_missing,
)

RELEASES = int(os.environ.get("MICROAGG_FUZZ", "100"))
# What releases once told, with their seeds: one row that was dropped (with k = 2 fewer than two,
# and not none), that a suppressed cell was like the others (a warning of a constant column), how
# many rows were somebody's second (the k that was counted over entities), how long a search took
# (the iterations in the manifest), a count of one column below k (by the sum over all, by the NULLs
# of the table, by the word that stood for it), and how large blocks were (the name of the method).
ONCE = (
    (23, dropped_row),
    (103, suppressed_missing),
    (120, other_entity),
    (182, other_entity),
    (403, suppressed_missing),
    (651, suppressed_missing),
    (708, suppressed_missing),
    (846, imputed_cell),
    (971, other_entity),
    (972, suppressed_missing),
)


def test_what_is_tried_is_listed() -> None:
    for each in (*ATTACKS, *TWINS):
        assert each.__doc__
        print(f"{each.__name__}: {each.__doc__.splitlines()[0]}")


@pytest.mark.parametrize(("seed", "kind"), ONCE)
def test_what_was_recovered_once_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, kind: Twin
) -> None:
    tally = Tally()
    attack_release(Office(tmp_path, monkeypatch), seed, tally, (kind,))
    assert tally.published == 1
    assert not tally.findings, "\n".join(tally.findings)


def test_nothing_is_recovered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office, tally = Office(tmp_path, monkeypatch), Tally()
    for seed in range(RELEASES):
        attack_release(office, seed, tally)
    print(f"{tally.published} published; not: {dict(tally.refused)}; twins: {dict(tally.twins)}")
    learned = "\n".join(tally.findings)
    assert not tally.findings, f"{len(tally.findings)} findings:\n{learned[:20_000]}"
    # An attacker who was shown nothing has found nothing.
    assert tally.published > RELEASES * 0.6
    assert len(tally.twins) >= min(len(TWINS) - 2, RELEASES // 8)
