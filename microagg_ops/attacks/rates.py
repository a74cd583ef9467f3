"""How often an attack succeeds, and how much of that is due to the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The quantile of the normal distribution that leaves 95 % inside.
Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of attempts that succeeded: the middle of its Wilson interval, and half its width."""

    middle: float
    half: float

    @classmethod
    def of(cls, successes: int, attempts: int) -> Rate:
        """Estimate the chance that the next attempt succeeds."""
        if not attempts:
            return cls(0.5, 0.5)  # nothing is known
        total, share = attempts + Z * Z, successes / attempts
        spread = (attempts * share * (1 - share) + Z * Z / 4) ** 0.5
        return cls((successes + Z * Z / 2) / total, Z * spread / total)


@dataclass(frozen=True, slots=True)
class Risk:
    """An attack on people in the release, beside the same attack on people who are not in it.

    Parameters
    ----------
    attempts, successes
        On people who are in the release.
    control_attempts, control_successes
        On people who are not: what anybody could find out without it.
    """

    attempts: int
    successes: int
    control_attempts: int
    control_successes: int

    @property
    def attack(self) -> Rate:
        """How often the attack succeeds."""
        return Rate.of(self.successes, self.attempts)

    @property
    def control(self) -> Rate:
        """How often it succeeds on people who are not in the release."""
        return Rate.of(self.control_successes, self.control_attempts)

    @property
    def risk(self) -> float:
        """The share of what could not be found out otherwise that the release gives away."""
        return max(0.0, (self.attack.middle - self.control.middle) / (1 - self.control.middle))

    @property
    def half(self) -> float:
        """Half the width of the 95 % confidence interval of the risk."""
        attack, control = self.attack, self.control
        left = 1 - control.middle
        by_control = (1 - attack.middle) / (left * left) * control.half
        return float(((attack.half / left) ** 2 + by_control**2) ** 0.5)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return max(0.0, self.risk - self.half)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return min(1.0, self.risk + self.half)

    def told(self) -> dict[str, Any]:
        """List the figures, as shares."""
        return {
            "risk": self.risk,
            "low": self.low,
            "high": self.high,
            "attack": self.attack.middle,
            "control": self.control.middle,
            "attempts": self.attempts,
            "control_attempts": self.control_attempts,
        }
