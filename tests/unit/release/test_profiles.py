"""Profiles: what a document of a regulator asks of a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from microagg_ops.errors import ReleaseError
from microagg_ops.release.document import check_release, load_release
from microagg_ops.release.faults import schema
from microagg_ops.release.profiles import PROFILES, least_k
from microagg_ops.release.validate import Diverse


def written(path: Path, profile: str, k: int, validate: str = "") -> Path:
    """Write a release with a profile."""
    text = path.read_text().replace("k: 3", f"k: {k}")
    path.write_text(f"profile: {profile}\n{text}validate: {{{validate}}}\n")
    return path


def test_the_schema_lists_every_profile() -> None:
    assert schema("release")["properties"]["profile"]["enum"] == [*PROFILES, None]


@pytest.mark.parametrize(
    ("risk", "k"), [(0.09, 12), (1 / 11, 11), (0.1, 10), (0.05, 20), (1 / 3, 3), (0.5, 2), (1, 1)]
)
def test_the_least_k_keeps_the_risk_and_one_less_does_not(risk: float, k: int) -> None:
    assert least_k(risk) == k
    assert 1 / k <= risk
    assert k == 1 or 1 / (k - 1) > risk


@pytest.mark.parametrize("n", range(1, 2000, 37))
def test_one_in_n_takes_a_class_of_n(n: int) -> None:
    assert least_k(1 / n) == n


def test_each_threshold_names_its_clause_and_what_is_a_convention() -> None:
    for profile in PROFILES.values():
        assert profile.version >= 1
        for _, threshold in profile.thresholds():
            assert threshold.clause
    # One document alone names the number.
    assert [n for n, p in PROFILES.items() if not p.max_risk.convention] == ["ema0070"]


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_sets_what_is_not_said(release_file: Path, name: str) -> None:
    profile = PROFILES[name]
    release = load_release(written(release_file, name, profile.k))
    assert (release.profile, release.validate.max_risk) == (name, profile.max_risk.value)
    assert (dict(release.validate.l) == {"diagnosis": Diverse(2)}) is (name == "wp29")


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_a_floor_of_k(release_file: Path, name: str) -> None:
    k = PROFILES[name].k
    (fault,) = check_release(written(release_file, name, k - 1))
    assert fault.pointer == "/aggregate/k"
    assert f"{k} or more: profile {name}" in fault.allowed


def test_ema_needs_twelve(release_file: Path) -> None:
    with pytest.raises(ReleaseError) as caught:
        load_release(written(release_file, "ema0070", 11))
    assert (
        "/aggregate/k: found 11, a risk of 0.0909; allowed: 12 or more: profile ema0070 allows a "
        "risk of 0.09." in str(caught.value)
    )


@pytest.mark.parametrize(
    ("looser", "pointer"),
    [
        ("max_risk: 0.1", "/validate/max_risk"),
        ("k: 11", "/validate/k"),
        ("guarantee: per_group", "/validate/guarantee"),
        ("l: {diagnosis: {kind: entropy, l: 1.5}}", "/validate/l/diagnosis"),
    ],
)
def test_looser_than_the_profile_is_a_fault(release_file: Path, looser: str, pointer: str) -> None:
    (fault,) = check_release(written(release_file, "wp29", 12, looser))
    assert fault.pointer == pointer
    assert "profile wp29" in fault.allowed


def test_stricter_than_the_profile_is_kept(release_file: Path) -> None:
    path = written(release_file, "wp29", 20, "max_risk: 0.05, l: {diagnosis: 3}")
    validate = load_release(path).validate
    assert (validate.max_risk, validate.l) == (0.05, {"diagnosis": Diverse(3)})


def test_without_a_profile_nothing_is_set(release_file: Path) -> None:
    validate = load_release(release_file).validate
    assert (validate.max_risk, validate.average_risk, validate.l) == (None, None, {})


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ("{fraction: 0}", "/sample/fraction"),
        ("{fraction: 1.5}", "/sample/fraction"),
        ("{weighted: true}", "/sample/weighted"),
    ],
)
def test_a_sample_makes_sense(release_file: Path, said: str, pointer: str) -> None:
    release_file.write_text(f"{release_file.read_text()}sample: {said}\n")
    (fault,) = check_release(release_file)
    assert fault.pointer == pointer
