"""What a release says of itself, and of whom it is about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """Who answers for a release, what it is for, and against whom it protects."""

    owner: str | None = None
    purpose: str | None = None
    recipients: str | None = None
    kind: str | None = None
    context: str | None = None
    threats: str | None = None
    scenarios: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """What part of the population the rows are: all of it, unless this says otherwise."""

    fraction: float | None = None
    weighted: bool = False
