"""One release of the fuzzer: publish it and its twin, attack both, say what was learned."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.attack.artefacts import Office, Outside
from tests.attack.attacker import SHORTEST_WORD, Guess, Secrets, guesses, recovered
from tests.attack.releases import Case, random_case
from tests.attack.twins import (
    BY_COUNT,
    BY_LOSS,
    TWINS,
    Difference,
    Inside,
    Twin,
    as_numbers,
    coarse,
    countable,
    find_twin,
    look_inside,
    other_ends,
    other_identifier,
    put,
    with_identifiers,
)

OF_CELLS = ("attack_figures", "attack_totals")
KEYS = ("the key of one installation", "the key of another one", "and that of a third one")


@dataclass
class Tally:
    """What was tried, and what was learned from it.

    Parameters
    ----------
    published, refused
        Releases that were published, and that were not.
    twins
        Pairs that were compared, by what they differ in.
    findings
        What was learned: a line each.
    noise
        Where two runs of one source differed.
    """

    published: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    twins: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    noise: set[str] = field(default_factory=set)


def secrets_of(inside: Inside, outside: Outside) -> Secrets:
    """Collect what must not be found."""
    numeric = [
        n for n, h in inside.case.quasi.items() if h["type"] in ("number", "integer", "date")
    ]
    raw = {name: as_numbers(inside.source[name]) for name in numeric}
    return Secrets(
        k=inside.case.k,
        hidden=inside.hidden(),
        raw={name: cells[~np.isnan(cells)].tolist() for name, cells in raw.items()},
        counts=inside.counts(),
        words=secret_words(inside.case, outside),
        source=inside.source,
        # Who knows all but one sensitive value tries the others.
        decoys=tuple(put(inside.source, "s", {0: guess}) for guess in ("none", "mumps")),
    )


def secret_words(case: Case, outside: Outside) -> frozenset[str]:
    """Texts of the source that nobody would write by chance, and that are not published."""
    found: set[str] = set()
    for column in case.table.columns:
        found |= {word for cell in column.unique().to_pylist() if (word := as_word(cell))}
    if outside.table is not None:
        for column in outside.table.columns:
            found -= {as_word(cell) for cell in column.unique().to_pylist()}
    return frozenset(found)


def as_word(cell: Any) -> str:
    """A cell as a text would have it; nothing where it could stand there by chance."""
    if isinstance(cell, bool) or cell is None or type(cell) is datetime.date:
        return ""
    word = cell.isoformat() if isinstance(cell, datetime.datetime) else str(cell)
    return word if len(word) > SHORTEST_WORD else ""


def attack_release(
    office: Office, seed: int, tally: Tally, kinds: tuple[Twin, ...] = TWINS
) -> None:
    """Publish a random release and a twin of it; note what an attacker learns."""
    given = look_inside(random_case(seed))
    if given is None:
        refuse(office, random_case(seed), seed, tally)
        return
    inside = look_inside(with_identifiers(given.case.of(given.source), "ssn"))
    assert inside is not None
    rng = np.random.default_rng(seed)
    kind, twin = choose_twin(inside, rng, tally, kinds)
    one = office.run(inside.case, KEYS[0])
    two = office.run(twin.case, KEYS[1])
    if not (one.published and two.published):
        refuse(office, inside.case, seed, tally, one if not one.published else two)
        return
    tally.published += 1
    tally.twins[kind.__name__] += 1
    assert one.table is not None
    assert two.table is not None
    assert one.table.equals(two.table), (seed, kind.__name__)
    apart = differences(office, inside.case, kind, (one, two), tally)
    if apart:
        tally.findings.append(f"{seed} {kind.__name__}: twins differ\n    {apart}")
    first = guesses(one, inside.case, secrets_of(inside, one))
    second = guesses(two, twin.case, secrets_of(twin, two))
    note(seed, recovered(first, second, changed(inside, twin)), tally)
    if set(OF_CELLS) & first.keys():
        confirm(office, inside, seed, first, tally)


def choose_twin(
    inside: Inside, rng: np.random.Generator, tally: Tally, kinds: tuple[Twin, ...]
) -> tuple[Twin, Inside]:
    """Find a twin, of the kind that was tried least."""
    for kind in sorted(
        kinds, key=lambda kind: (kind is other_identifier, tally.twins[kind.__name__])
    ):
        twin = find_twin(inside, kind, rng)
        if twin is not None:
            return kind, twin
    raise AssertionError(f"no twin, and other identifiers always make one; tried {kinds}")


def differences(
    office: Office, case: Case, kind: Twin, pair: tuple[Outside, Outside], tally: Tally
) -> Difference:
    """Tell twins apart by what leaves; what differs for one source, too, tells nothing."""
    apart = Difference.of(*pair)
    # What was noise before is taken for it again, but for every fourth time.
    if apart.without(tally.noise) or tally.published % 4 == 0:
        # The third run is the last, so that a clock that stood still for it did so for the second.
        noise = Difference.of(pair[0], office.run(case, KEYS[2])).one.keys()
        tally.noise |= noise
        apart = apart.without(noise)
    else:
        apart = apart.without(tally.noise)
    if kind in BY_LOSS:
        apart = apart.beyond(coarse)
    return apart.beyond(lambda value: countable(value, case.k)) if kind in BY_COUNT else apart


def changed(one: Inside, two: Inside) -> set[str]:
    """Name the secrets that differ: only of them a formula can be right twice and not by chance."""
    names = {what for what, many in one.counts().items() if many != two.counts().get(what)}
    for name, cells in one.hidden().items():
        if sorted(cells) != sorted(two.hidden().get(name, [])):
            some = ("the hidden cell", "a hidden cell", f"the sum of {len(cells)} hidden cells")
            names |= {f"{what} of {name}" for what in some}
        ends = [as_numbers(side.source[name]) for side in (one, two)]
        for what, end in (("the least cell", np.nanmin), ("the largest", np.nanmax)):
            if not np.isnan(ends[0]).all() and end(ends[0]) != end(ends[1]):
                names.add(f"{what} of {name}")
    return names


def confirm(
    office: Office, inside: Inside, seed: int, first: dict[str, set[Guess]], tally: Tally
) -> None:
    """Try what met a cell once on a release with other cells."""
    source = next(other_ends(inside, np.random.default_rng(seed)))
    other = look_inside(with_identifiers(inside.case.of(source), "ssn"))
    if other is None:
        return
    outside = office.run(other.case, KEYS[1])
    if outside.published:
        second = guesses(outside, other.case, secrets_of(other, outside))
        of_cells = {
            name: first[name] for name in ("attack_figures", "attack_totals") if name in first
        }
        note(seed, recovered(of_cells, second, changed(inside, other)), tally)


def refuse(
    office: Office, case: Case, seed: int, tally: Tally, outside: Outside | None = None
) -> None:
    """Look at what is left of a release that was not published."""
    outside = outside or office.run(case)
    tally.refused[outside.texts.get("error", "published")[:60]] += 1
    for page in ("external.json", "external.html"):
        if not outside.published and (page in outside.documents or page in outside.texts):
            tally.findings.append(f"{seed} {page} of a table that was not published")
    note(seed, guesses(outside, case, Secrets(case.k, words=secret_words(case, outside))), tally)


def note(seed: int, found: dict[str, set[Guess]], tally: Tally) -> None:
    """Write down what was recovered."""
    for attack, met in found.items():
        listed = [f"{what}: {how}" for what, how in sorted(met)]
        tally.findings.append(f"{seed} {attack}, {len(met)} ways\n    " + "\n    ".join(listed[:4]))
