"""What a release says of itself to those who read its report."""

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
