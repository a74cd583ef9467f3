"""A first release file for a table: what each column seems to be, with reasons, and a k that fits.

``facts`` counts, ``roles`` judges, ``source`` reads, ``draft`` writes. No cell is shown.
"""

from __future__ import annotations

from microagg_ops.proposal.draft import drafted
from microagg_ops.proposal.source import Proposal, propose

__all__ = ["Proposal", "drafted", "propose"]
