"""Ways to decide which quasi-identifiers are aggregated together."""

from __future__ import annotations

GROUPINGS = {
    "single": "All quasi-identifiers in one group: k holds over all of them jointly.",
    "fixed": "The groups that the release lists.",
    "correlated": "Groups of a given size whose columns are strongly correlated: little is lost.",
    "uncorrelated": "Groups of a given size that keep strongly correlated columns apart.",
    "gomm": "A genetic search for the groups with the least mean of loss and risk.",
    "dgomm": "The same search, without operators that no longer help it.",
}
