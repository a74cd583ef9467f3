"""The attacker finds what is planted, and nothing where nothing is."""

from __future__ import annotations

import hashlib
import hmac
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from microagg_ops.staging.digests import content_digest
from tests.attack.artefacts import Outside
from tests.attack.attacker import guesses, recovered
from tests.attack.fuzz import changed, secrets_of
from tests.attack.releases import Case
from tests.attack.twins import Difference, Inside, as_numbers, coarse, look_inside

Plant = Callable[[Inside, Outside], None]


def many_rows(hidden: float = 123_457.25, *, gone: int = 2) -> Inside:
    """Sixty rows: one suppressed cell of b, and `gone` rows of a stratum that is dropped."""
    rng = np.random.default_rng(4)
    a = rng.integers(2**20, 2**24, 60) / 64
    cells = (rng.integers(0, 2**19, 60) / 64 + [100_000, 140_000] * 30).tolist()
    # Two rows are NULL in b: a third must be, and the one next to the mean has the least to lose.
    cells[10] = cells[20] = None
    cells[30] = hidden
    table = pa.table(
        {
            "ssn": [f"ssn-{i:05}" for i in range(60 + gone)],
            "a": [*a.tolist(), *[70_001.5] * gone],
            "b": [*cells, *[80_002.5] * gone],
            "s": ["flu", "cold"] * 30 + ["flu"] * gone,
            "region": ["region_aa9"] * 60 + ["islet_xx8"] * gone,
        }
    )
    columns = {
        "identifiers": ["ssn"],
        "quasi": {"a": {"type": "number"}, "b": {"type": "number"}},
        "sensitive": ["s"],
    }
    sections = {
        "columns": columns,
        "aggregate": {"k": 3},
        "nulls": "own_class",
        "strata": ["region"],
        "small_strata": "drop",
    }
    inside = look_inside(Case(table, sections))
    assert inside is not None
    assert hidden_of(inside) == hidden
    return inside


def few_rows(*cells: int) -> Inside:
    """Six rows of whole numbers in one class."""
    table = pa.table({"ssn": [f"ssn-{i:05}" for i in range(6)], "a": cells, "s": ["x", "y"] * 3})
    columns = {"identifiers": ["ssn"], "quasi": {"a": {"type": "integer"}}, "sensitive": ["s"]}
    inside = look_inside(Case(table, {"columns": columns, "aggregate": {"k": 5}}))
    assert inside is not None
    return inside


def hidden_of(inside: Inside) -> float:
    (row,) = inside.suppressed("b")
    return float(inside.source["b"][int(row)].as_py())


def clean(inside: Inside) -> Outside:
    """What may leave: the table, its own figures, k and the verdict."""
    table = inside.after
    report = {
        "schema_version": 3,
        "verdict": "passed",
        "k": inside.case.k,
        "rows": table.num_rows,
        "output_digest": content_digest(table),
        "means": {n: float(np.nanmean(as_numbers(table[n]))) for n in inside.case.quasi},
        "information_loss": 12.5,
    }
    page = f"<p>{table.num_rows} rows, k = {inside.case.k}, suppressed: fewer than k</p>"
    return Outside(table, {"external.json": report}, {"external.html": page, "log": "published"})


def before(inside: Inside, name: str = "b") -> Any:
    cells = as_numbers(inside.before[name])
    return cells[~np.isnan(cells)]


def as_csv(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    csv.write_csv(table, sink)
    return sink.getvalue()


def report(**planted: Callable[[Inside], Any]) -> Plant:
    """Plant figures in the external report."""

    def plant(inside: Inside, outside: Outside) -> None:
        outside.documents["external.json"] |= {n: make(inside) for n, make in planted.items()}

    return plant


def text(name: str, make: Callable[[Inside], str]) -> Plant:
    """Plant words in a text."""

    def plant(inside: Inside, outside: Outside) -> None:
        outside.texts[name] += f" {make(inside)}"

    return plant


OF_CELLS: dict[str, Plant] = {
    "mean before": report(mean_before=lambda i: before(i).mean()),
    "total before": report(total=lambda i: before(i).sum()),
    "suppressed total": report(lost=hidden_of),
    "mean and a relative difference": report(
        mean_before=lambda i: (np.nansum(as_numbers(i.after["b"])) / 0.8 + hidden_of(i)) / 58,
        relative_difference=lambda i: -0.2,
    ),
    "ratio of totals": report(
        ratio=lambda i: np.nansum(as_numbers(i.after["b"])) / before(i).sum()
    ),
    "mean in a page": text("external.html", lambda i: repr(float(before(i).mean()))),
    "total and a total of the others": report(
        mean_before=lambda i: before(i).mean(),
        total_after=lambda i: float(np.nansum(as_numbers(i.after["b"]))),
    ),
}
OF_COUNTS: dict[str, Plant] = {
    "dropped rows": report(dropped=lambda i: len(i.dropped)),
    "rows that were read": report(read=lambda i: i.source.num_rows),
    "rows that were read, in the log": text("log", lambda i: f"{i.source.num_rows} rows"),
    "a share": report(dropped_share=lambda i: len(i.dropped) / i.after.num_rows),
    "a percentage": text("log", lambda i: f"{100 * len(i.dropped) / i.after.num_rows:.6f} %"),
}
OF_DIGESTS: dict[str, Plant] = {
    "content digest": report(input_digest=lambda i: content_digest(i.source)),
    "the start of it in a log": text("log", lambda i: content_digest(i.source)[:12]),
    "MD5 of a CSV file": report(etag=lambda i: hashlib.md5(as_csv(i.source)).hexdigest()),
    "SHA-1 of a CSV file": report(blob=lambda i: hashlib.sha1(as_csv(i.source)).hexdigest()),
}
OF_WORDS: dict[str, Plant] = {
    "an identifier": text("log", lambda i: "could not read ssn-00007"),
    "a stratum that was dropped": text("external.html", lambda i: "islet_xx8"),
    "a hidden cell": text("log", lambda i: f"clipped {hidden_of(i)!r}"),
    "a raw cell": report(note=lambda i: f"such as {i.source['a'][5].as_py()!r}"),
}


def learned(one: Inside, two: Inside, plant: Plant | None) -> dict[str, set[tuple[str, str]]]:
    """Attack two releases with the same leak."""
    found = []
    for inside in (one, two):
        outside = clean(inside)
        if plant is not None:
            plant(inside, outside)
        found.append(guesses(outside, inside.case, secrets_of(inside, outside)))
    return recovered(found[0], found[1], changed(one, two))


@pytest.mark.parametrize("what", OF_CELLS)
def test_a_planted_figure_gives_a_hidden_cell_away(what: str) -> None:
    met = learned(many_rows(gone=0), many_rows(123_460.5, gone=0), OF_CELLS[what])
    assert {"attack_figures", "attack_totals"} & met.keys(), met


@pytest.mark.parametrize("what", OF_COUNTS)
def test_a_planted_count_is_found(what: str) -> None:
    met = learned(many_rows(), many_rows(gone=1), OF_COUNTS[what])
    assert "dropped rows" in {secret for secret, _ in met["attack_counts"]}


@pytest.mark.parametrize("what", OF_DIGESTS)
def test_a_planted_digest_is_tried_out(what: str) -> None:
    assert "attack_digests" in learned(many_rows(), many_rows(123_460.5), OF_DIGESTS[what])


@pytest.mark.parametrize("what", OF_WORDS)
def test_a_planted_word_is_found(what: str) -> None:
    assert "attack_words" in learned(many_rows(), many_rows(123_460.5), OF_WORDS[what])


@pytest.mark.parametrize("seed", range(10))
def test_moments_of_six_whole_numbers_give_all_of_them_away(seed: int) -> None:
    cells = np.random.default_rng(seed).integers(18, 95, 6).tolist()
    inside = few_rows(*cells)
    values, shown = np.array(cells, float), as_numbers(inside.after["a"])
    plant = report(
        mean=lambda i: values.mean(),
        deviation=lambda i: values.std(),
        variation=lambda i: (np.abs(values - shown[0]) / values).mean(),
    )
    met = learned(inside, inside, plant)
    assert {secret for secret, _ in met["attack_moments"]} == {"all cells of a"}


def test_nothing_is_found_where_nothing_is() -> None:
    assert learned(many_rows(), many_rows(123_460.5, gone=1), None) == {}
    assert learned(few_rows(20, 31, 44, 52, 63, 70), few_rows(20, 31, 44, 52, 64, 69), None) == {}


def test_a_keyed_digest_and_a_rounded_mean_tell_nothing() -> None:
    plant = report(
        input=lambda i: hmac.new(b"a key", as_csv(i.source), "sha256").hexdigest(),
        mean=lambda i: float(f"{before(i).mean():.2g}"),
    )
    assert learned(many_rows(gone=0), many_rows(123_460.5, gone=0), plant) == {}


def test_twins_are_told_apart_by_what_differs_between_them_alone() -> None:
    def leaves(digest: str, key: str, loss: float) -> Outside:
        found = {"sha256": digest, "hmac": digest + key, "loss": loss, "seconds": hash(key)}
        return Outside(None, {"manifest.json": found}, {"log": f"loss {loss} in 0.{len(key)} s"})

    one, two, again = leaves("a", "x", 12.53), leaves("b", "yy", 12.54), leaves("a", "zzz", 12.53)
    apart = Difference.of(one, two).without(Difference.of(one, again).one)
    assert set(apart.one) == {"/manifest.json/sha256", "/manifest.json/loss", "log:1"}
    assert set(apart.beyond(coarse).one) == {*apart.one}
    rough = Difference.of(leaves("a", "x", 12.5), leaves("a", "x", 12.6))
    assert set(rough.one) == {"/manifest.json/loss", "log:1"}
    assert not rough.beyond(coarse)


@pytest.mark.parametrize(
    ("value", "few"),
    [(12.5, True), ("12.5%", True), (0.00123, True), (12.53, False), (7, False), ("abc", False)],
)
def test_few_digits_are_three(value: Any, few: bool) -> None:
    assert coarse(value) == few
