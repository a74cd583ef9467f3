"""Profiles: what a document of a regulator asks of a release, as thresholds.

A profile sets what the release leaves unsaid under ``validate``, and a floor of k. The release may
ask for more, never for less. Most documents name no number: what is set then is a convention of
those who work with them, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from microagg_ops.release.columns import Columns
from microagg_ops.release.validate import Diverse, Validate, at


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold, the clause that it comes from, and whether that clause has the number."""

    value: float
    clause: str
    convention: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a document asks of a release.

    Parameters
    ----------
    version
        Raised whenever a threshold changes.
    source
        The document, with its edition.
    max_risk, average_risk
        The highest and the average chance of a prosecutor, at most.
    l
        Different values of every sensitive column in every class, at least.
    """

    version: int
    source: str
    max_risk: Threshold
    average_risk: Threshold | None = None
    l: Threshold | None = None  # noqa: E741

    @property
    def k(self) -> int:
        """The least k whose classes are all within the highest risk."""
        return least_k(self.max_risk.value)

    def thresholds(self) -> Iterator[tuple[str, Threshold]]:
        """List what is set, by its key under validate."""
        for name in ("max_risk", "average_risk", "l"):
            found = getattr(self, name)
            if found is not None:
                yield name, found


NO_NUMBER = "The document names no number; 0.09 is what EMA and Health Canada ask of public data."
PROFILES = {
    "ema0070": Profile(
        version=1,
        source="EMA policy 0070, external guidance on its implementation, EMA/90915/2016",
        # One in eleven is 0.0909, so that k = 11 does not keep it.
        max_risk=Threshold(0.09, "chapter 3, threshold of the risk of re-identification"),
    ),
    "hipaa": Profile(
        version=1,
        source="HIPAA Privacy Rule, 45 CFR 164.514(b)(1), expert determination",
        max_risk=Threshold(
            1 / 11,
            "164.514(b)(1)(i), a very small risk",
            "The rule names no number; one in eleven is the smallest cell that CMS lets out. "
            "The expert may ask for less risk.",
        ),
    ),
    "wp29": Profile(
        version=1,
        source="Article 29 Working Party, opinion 05/2014 on anonymisation techniques, WP216",
        max_risk=Threshold(0.09, "section 2.2.2, singling out", NO_NUMBER),
        l=Threshold(
            2,
            "section 2.2.2, inference",
            "The opinion names no number; with one value a class tells it of everybody in it.",
        ),
    ),
    "nist800188": Profile(
        version=1,
        source="NIST SP 800-188, De-Identifying Government Datasets, September 2023",
        max_risk=Threshold(0.09, "a standard with measurable performance levels", NO_NUMBER),
    ),
    "iso27559": Profile(
        version=1,
        source="ISO/IEC 27559:2022, privacy enhancing data de-identification framework",
        max_risk=Threshold(0.09, "7.3.2, maximum or average risk", NO_NUMBER),
    ),
}


def least_k(risk: float) -> int:
    """Find the smallest class in which nobody is found with a chance above a risk."""
    k = max(1, int(1 / risk) - 1)
    while 1 / k > risk:
        k += 1
    return k


def filled(validate: Validate, name: str | None, columns: Columns) -> Validate:
    """Set what a profile asks for where the release says nothing."""
    if name is None:
        return validate
    profile = PROFILES[name]
    given: dict[str, Any] = {
        key: threshold.value
        for key, threshold in profile.thresholds()
        if key != "l" and getattr(validate, key) is None
    }
    named = {}
    if profile.l is not None:
        named = {column: Diverse(profile.l.value) for column in _published_as_they_are(columns)}
    return replace(validate, **given, l=named | dict(validate.l))


def profile_faults(
    validate: Validate, name: str | None, k: int, columns: Columns
) -> Iterator[tuple[str, str, str]]:
    """List where a release asks for less than its profile: pointer, found, allowed."""
    if name is None:
        return
    profile = PROFILES[name]
    limit = profile.max_risk.value
    why = f"{profile.k} or more: profile {name} allows a risk of {limit:.3g}"
    for pointer, given in (("/aggregate/k", k), ("/validate/k", validate.k)):
        if given is not None and given < profile.k:
            yield pointer, f"{given}, a risk of {1 / given:.4f}", why
    if validate.guarantee != "joint":
        yield "/validate/guarantee", validate.guarantee, f"joint, with profile {name}"
    for key, threshold in profile.thresholds():
        if key != "l" and (found := getattr(validate, key)) > threshold.value:
            allowed = f"{threshold.value:.4g} or less, with profile {name}"
            yield f"/validate/{key}", f"{found:g}", allowed
    if profile.l is not None:
        for column in _published_as_they_are(columns):
            if validate.l[column].l < profile.l.value:
                allowed = f"{profile.l.value:g} or more, with profile {name}"
                yield at("l", column), f"{validate.l[column].l:g}", allowed


def _published_as_they_are(columns: Columns) -> list[str]:
    """Name the sensitive columns; a weight that is published is not about anybody."""
    return [name for name in columns.sensitive if name != columns.weight]
