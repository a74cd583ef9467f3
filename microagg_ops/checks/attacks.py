"""Attacks: what each finds out of people in the release, beyond what it finds out of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from microagg_ops.checks.check import NO_SOURCE, Check, Finding, larger
from microagg_ops.checks.evidence import Evidence, Groups
from microagg_ops.release.model import Release


class Attacked(Check):
    """Each attack that is limited finds out little; one that cannot be tried is not resisted."""

    titles = {"attack": "Attack"}
    units = {"attack": "percent"}
    key = "`attacks`"
    shown = "one for each attack named"
    about = (
        "what [an attack](howto/attack-a-release.md) finds out beyond what it finds out of people "
        "who are not in the release"
    )

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for each attack that has a limit."""
        yield from (f"attack_{name}" for name in release.validate.attacks.asked)

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Compare the upper end of each attack's interval with its limit."""
        attacks = evidence.attacks
        found = worst(attacks) if attacks else {}
        for name, share in evidence.release.validate.attacks.asked.items():
            limit, seen = 100 * share, found.get(name)
            claim = f"an attack by {name.replace('_', ' ')} finds out at most {limit:g} %"
            if seen is None:
                why = (attacks["note"] if attacks else NO_SOURCE) or "the attack could not be tried"
                yield Finding(f"attack_{name}", claim, limit, None, False, {}, why)
                continue
            claim += ", with 95 % confidence"
            yield Finding(f"attack_{name}", claim, limit, 100 * seen, seen <= share, {})

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise larger clusters."""
        return larger(release, f"validate.attacks.{rest}", "raise")


def worst(found: Mapping[str, Any]) -> dict[str, float | None]:
    """Name each attack with what its limit is compared with: the upper end of its interval.

    Of several sensitive columns the worst counts; nothing where an attack could not be made.
    """

    def high(one: Mapping[str, Any] | None) -> float | None:
        return None if one is None else float(one["high"])

    return {
        "linkage": high(found["linkage"]),
        "singling_out": high(found["singling_out"]),
        "linkability": high(found["linkability"]),
        "inference": max((one["high"] for one in found["inference"]), default=None),
        "homogeneity": max((one["share"] for one in found["homogeneity"]), default=None),
    }
