"""A hostile reader: what he tries on the published table and all that leaves beside it.

He knows the release file and the code. An attack makes guesses, each with the formula that led to
it. Small numbers are everywhere, so a guess that is right proves nothing: a formula counts only if
it is right again where the secret is another one (see `recovered`).
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from microagg_ops.staging.digests import content_digest, in_order, to_parquet
from tests.attack.artefacts import Figures, Outside, numbers_of
from tests.attack.releases import Case
from tests.attack.twins import FEWER, as_numbers

Guess = tuple[str, str]
# How closely a value must be met: all that is rounded to less is not recovered.
CLOSE = 1e-6
# Largest table whose raw values are searched for, and the most solutions that are looked at.
FEW_ROWS, FEW_SOLUTIONS = 8, 20_000
SHORTEST_DIGEST, SHORTEST_WORD = 12, 6


@dataclass(frozen=True)
class Secrets:
    """What must not be found: the answers that guesses are held against.

    Parameters
    ----------
    k
        Counts from 1 to k - 1 are secret.
    hidden
        Column to the cells that are not published in any form, as numbers.
    raw
        Column to all its cells, as numbers.
    counts
        What is counted of rows and cells that are not published as they were.
    words
        Texts that are in the source but not in the published table.
    source, decoys
        The source as the release reads it, and others that the attacker cannot rule out.
    """

    k: int
    hidden: dict[str, list[float]] = field(default_factory=dict)
    raw: dict[str, list[float]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    source: pa.Table | None = None
    decoys: tuple[pa.Table, ...] = ()


def published_sums(outside: Outside, case: Case, name: str) -> Iterator[tuple[str, float, int]]:
    """Sum and count of a published column, in all rows and in each stratum."""
    assert outside.table is not None
    table = outside.table
    parts = [("all rows", table)]
    for stratum in table[case.strata[0]].unique().to_pylist() if case.strata else ():
        if stratum is not None:
            chosen = table.filter(pc.equal(table[case.strata[0]], stratum))
            parts.append((f"stratum {stratum}", chosen))
    for what, part in parts:
        cells = as_numbers(part[name])
        yield f"published {name} of {what}", float(np.nansum(cells)), int((~np.isnan(cells)).sum())


# Attacks: each gives the secrets that its guesses met, with the formula of each.


def attack_figures(outside: Outside, case: Case, secrets: Secrets) -> Iterator[Guess]:
    """A figure is itself a hidden cell, or the least or largest cell of the source."""
    known = outside.figures
    for name, cells in targets(case, outside, secrets, extremes=True):
        for what, cell in cells:
            for at, figure in known.items():
                if close(figure, cell):
                    yield f"{what} of {name}", at


def attack_totals(outside: Outside, case: Case, secrets: Secrets) -> Iterator[Guess]:
    """A mean or total before, less what is published, is what was hidden.

    Tried are x - S, S / x - S, n x - S, n x - S / (1 + y) and n x - y: x and y any two figures, n
    any count that rows or cells may have had, S the sum of a published column or stratum of it.
    """
    places, x = unlike(outside.figures)
    others, y = unlike(numbers_of(outside.leaves))
    small = np.flatnonzero((np.abs(y) < 1) & (y != 0))
    for name, cells in targets(case, outside, secrets):
        for of, total, many in published_sums(outside, case, name) if cells else ():
            rows = case_counts(outside, many, case.k, x)
            before = np.multiply.outer(x, rows)
            with np.errstate(all="ignore"):
                tables: dict[str, Any] = {
                    "x - S": x - total,
                    "S / x - S": total / x - total,
                    "n x - S": before - total,
                    "n x - S / (1 + y)": np.subtract.outer(before, total / (1 + y[small])),
                    "n x - y": np.subtract.outer(before, y),
                }
            for (what, cell), (formula, tried) in itertools.product(cells, tables.items()):
                met = np.argwhere(np.abs(tried - cell) <= CLOSE * abs(cell))
                for index in met[:50]:
                    used = f"x = {places[index[0]]}"
                    if len(index) > 2:
                        seconds = others if formula.endswith("- y") else [others[i] for i in small]
                        used += f", y = {seconds[index[2]]}"
                    yield f"{what} of {name}", f"{formula}: {used}, S = {of}"


def unlike(known: Figures) -> tuple[list[str], Any]:
    """Figures that differ, with the first place of each."""
    first: dict[float, str] = {}
    for at, number in known.items():
        first.setdefault(number, at)
    return list(first.values()), np.array(list(first))


def case_counts(outside: Outside, many: int, k: int, x: Any) -> Any:
    """How many rows or cells there may have been: as published, a few more, or as a figure says."""
    assert outside.table is not None
    rows = outside.table.num_rows
    near = {many + i for i in range(k)} | {rows + i for i in range(k)}
    told = {int(f) for f in x if f == int(f) and many <= f <= 2 * rows + k}
    return np.array(sorted(near | set(sorted(told)[:20])), float)


def attack_moments(outside: Outside, case: Case, secrets: Secrets) -> Iterator[Guess]:
    """Mean, deviation and variation of few whole numbers have one solution: all of them."""
    assert outside.table is not None
    n, known = outside.table.num_rows, outside.figures
    if n > FEW_ROWS:
        return
    for name, how in case.quasi.items():
        raw = secrets.raw.get(name, [])
        if how["type"] != "integer" or len(raw) != n or outside.table[name].null_count:
            continue
        cells = as_numbers(outside.table[name])
        for at, total, squares in find_moments(known, cells):
            solved = list(itertools.islice(solutions(n, total, squares), FEW_SOLUTIONS))
            for told, few in tell_apart(solved, cells, known):
                if few == [tuple(sorted(map(int, raw)))]:
                    yield f"all cells of {name}", f"moments: {at}{told}"


def find_moments(known: Figures, cells: Any) -> Iterator[tuple[str, int, int]]:
    """Find figures that are mean and deviation of whole numbers: few fractions are by chance."""
    n, total = len(cells), float(cells.sum())
    sums = {round(n * mean): at for at, mean in known.items() if abs(n * mean - total) <= n}
    for (sum_, at), (with_, spread), free in itertools.product(sums.items(), known.items(), (0, 1)):
        squares = (n - free) * spread**2 + sum_**2 / n
        near = abs(squares - round(squares)) < 1e-9 * max(squares, 1.0)
        if near and spread > 0 and spread != int(spread):
            yield f"{at}, {with_}", sum_, round(squares)


def solutions(n: int, total: int, squares: int, least: int = 0) -> Iterator[tuple[int, ...]]:
    """All rising tuples of n whole numbers with a given sum and sum of squares."""
    if n == 2:
        square = 2 * squares - total * total
        apart = math.isqrt(square) if square >= 0 else -1
        low = total - apart
        if apart >= 0 and apart * apart == square and low % 2 == 0 and low >= 2 * least:
            yield low // 2, low // 2 + apart
        return
    # None is farther from the mean than all the others together, and the next is the least.
    around = n * squares - total * total
    if around < 0:
        return
    lowest = math.ceil((total - math.sqrt((n - 1) * around)) / n - CLOSE)
    for value in range(max(least, lowest), total // n + 1):
        left, rest = total - value, squares - value * value
        # Others that are not below it have the most squares if all but one are equal to it.
        most = (n - 2) * value**2 + (left - (n - 2) * value) ** 2
        if rest <= most:
            for others in solutions(n - 1, left, rest, value):
                yield (value, *others)


def tell_apart(
    solved: list[tuple[int, ...]], cells: Any, known: Figures
) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    """Keep the solutions whose mean relative difference to the published cells is a figure."""
    yield "", solved
    there = np.array(sorted(known.values()))
    ordered = np.sort(cells)
    left = []
    for one in solved:
        values = np.array(one, float)
        if (values == 0).any():
            continue
        il1 = float((np.abs(values - ordered) / values).mean())
        if np.abs(there - il1).min() < 1e-9:
            left.append(one)
    yield ", with the variation", left


def attack_digests(outside: Outside, case: Case, secrets: Secrets) -> Iterator[Guess]:
    """A digest is that of one of the sources that could be, and of no other."""
    if secrets.source is None:
        return
    tokens = set(re.findall(rf"\b[0-9a-f]{{{SHORTEST_DIGEST},}}\b", outside.everything))
    if not tokens:
        return
    starts = {token[:SHORTEST_DIGEST]: token for token in tokens}
    # Where nothing had to be changed, the source is the published table.
    known = [*secrets.decoys, *([outside.table] if outside.table is not None else [])]
    others = {digest for table in known for _, digest in digests(table)}
    for how, digest in digests(secrets.source):
        token = starts.get(digest[:SHORTEST_DIGEST])
        if token and digest.startswith(token) and digest not in others:
            yield "the source", how


def digests(table: pa.Table) -> Iterator[tuple[str, str]]:
    """Digests of a table, of its columns and its cells, in all forms that come to mind."""
    yield "content_digest", content_digest(table)
    ordered = in_order(table)
    for what, one in (("rows as staged", table), ("rows in order", ordered)):
        for form, content in encoded(one):
            for name in ("sha256", "sha1", "md5", "sha512", "blake2b"):
                yield f"{name} of {form}, {what}", hashlib.new(name, content).hexdigest()


def encoded(table: pa.Table) -> Iterator[tuple[str, bytes]]:
    """Write a table down."""
    for header in (True, False):
        sink = io.BytesIO()
        csv.write_csv(table, sink, csv.WriteOptions(include_header=header))
        yield f"csv, header {header}", sink.getvalue()
    yield "parquet", to_parquet(table)
    rows = table.to_pylist()
    yield "json", json.dumps(rows, default=str).encode()
    yield "json columns", json.dumps(table.to_pydict(), default=str).encode()
    for name in table.column_names:
        cells = [str(row[name]) for row in rows]
        yield f"cells of {name}", "\n".join(cells).encode()
        yield f"sorted cells of {name}", json.dumps(sorted(cells)).encode()


def attack_counts(outside: Outside, case: Case, secrets: Secrets) -> Iterator[Guess]:
    """A count below k is a figure, a difference of two, or a share of the rows.

    Tried are x, x - n, round(x n) and x - y: x any figure, n rows or NULLs of the table, y another
    figure of k or more.
    """
    known = outside.figures
    whole = {at: f for at, f in known.items() if f == int(f) and 0 <= f <= 1e6}
    if case.k == 2:  # none is told as 0, so fewer than two are one
        whole |= {at: 1.0 for at, word in outside.leaves.items() if word == FEWER}
    wanted = {many: [] for many in range(case.k)}  # type: dict[int, list[str]]
    for what, many in secrets.counts.items():
        if many < case.k:
            wanted[many].append(what)
    wanted = {many: what for many, what in wanted.items() if what}
    for many, formula in count_formulas(outside, whole, known, case.k):
        for what in wanted.get(many, ()):
            yield what, formula


def count_formulas(
    outside: Outside, whole: Figures, known: Figures, k: int
) -> Iterator[tuple[int, str]]:
    """Everything that a count could be computed as."""
    assert outside.table is not None
    rows = outside.table.num_rows
    table = {"rows of the table": rows} | {
        f"{name} that is NULL in the table": outside.table[name].null_count
        for name in outside.table.column_names
    }
    for at, x in whole.items():
        yield int(x), at
    # Of counts that may leave the difference may not; versions and seeds would meet it by chance.
    counts = {at: x for at, x in whole.items() if at in outside.leaves and x >= k} | table
    pairs = itertools.chain(
        itertools.permutations(counts.items(), 2), itertools.product(whole.items(), table.items())
    )
    for (one, x), (two, y) in pairs:
        yield int(x - y), f"{one} - {two}"
    for at, x in known.items():
        for share, how in ((x, ""), (x / 100, " %")):
            if 0 < share < 1 and abs(share * rows - round(share * rows)) < 1e-3:
                yield round(share * rows), f"{at}{how} of {rows} rows"


def attack_words(outside: Outside, case: Case, secrets: Secrets) -> Iterator[Guess]:
    """A text of the source that is not in the published table stands somewhere."""
    text = outside.everything
    # Digits may stand within longer ones by chance.
    numbers = set(re.findall(r"[\d.:T-]+", text))
    for word in secrets.words:
        if word in numbers or (word in text and not word[0].isdigit()):
            yield "a word of the source", word


def targets(
    case: Case, outside: Outside, secrets: Secrets, *, extremes: bool = False
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """What is worth a guess of each column: hidden cells, their sum, and the ends of its range."""
    for name, cells in secrets.hidden.items():
        found = [("the hidden cell", cells[0])] if len(cells) == 1 else []
        if 1 < len(cells) < case.k:
            found.append((f"the sum of {len(cells)} hidden cells", sum(cells)))
            found += [("a hidden cell", cell) for cell in cells]
        if extremes and secrets.raw.get(name):
            there = set() if outside.table is None else set(as_numbers(outside.table[name]))
            ends = {"the least cell": min(secrets.raw[name]), "the largest": max(secrets.raw[name])}
            found += [(what, end) for what, end in ends.items() if end not in there]
        # A cell that could be met by chance proves nothing.
        yield name, [(what, cell) for what, cell in found if abs(cell) > 1e4]


def close(figure: float, cell: float) -> bool:
    """Tell whether a figure meets a cell."""
    return abs(figure - cell) <= CLOSE * abs(cell)


Attack = Callable[[Outside, Case, Secrets], Iterator[Guess]]
ATTACKS: tuple[Attack, ...] = (
    attack_figures, attack_totals, attack_moments, attack_digests, attack_counts, attack_words,
)  # fmt: skip
#: Attacks that need no table.
ALWAYS = (attack_digests, attack_words)
#: Attacks whose guesses no chance can meet.
CERTAIN = (attack_moments, attack_digests, attack_words)


def guesses(outside: Outside, case: Case, secrets: Secrets) -> dict[str, set[Guess]]:
    """Try every attack; give what was met, by the attack."""
    attacks = ATTACKS if outside.published else ALWAYS
    return {
        attack.__name__: found
        for attack in attacks
        if (found := set(attack(outside, case, secrets)))
    }


def recovered(
    first: dict[str, set[Guess]], second: dict[str, set[Guess]], changed: set[str]
) -> dict[str, set[Guess]]:
    """Keep what a formula meets in two releases whose secrets differ, and what is certain.

    Parameters
    ----------
    first, second
        What was met in each.
    changed
        The secrets that differ; others may be met twice by chance.
    """
    certain = {attack.__name__ for attack in CERTAIN}
    found = {}
    for name, met in first.items():
        twice = {guess for guess in met & second.get(name, set()) if guess[0] in changed}
        kept = met if name in certain else twice
        if kept:
            found[name] = kept
    return found
