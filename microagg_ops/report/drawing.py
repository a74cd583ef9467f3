"""A picture that stands alone: in a notebook, or as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from microagg_ops.errors import ReleaseError
from microagg_ops.staging.private import write_private

# The pages of reports have these classes in their own style; a picture by itself needs them too.
STYLE = """
svg.microagg { --ink: #16191d; --soft: #565e68; --line: #d5dae0; --paper: #fff; --after: #1f5f8b;
  --before: #dfe4ea; --edge: #8b95a1; font: 13px system-ui, sans-serif; background: var(--paper) }
@media (prefers-color-scheme: dark) { svg.microagg { --ink: #e9ebee; --soft: #a9b2bd;
  --line: #383f47; --paper: #131619; --after: #7db8e0; --before: #343b43; --edge: #78828d } }
.microagg text { fill: var(--ink) } .microagg .tick, .microagg .soft { font-size: 12px;
  fill: var(--soft) }
.microagg .axis { stroke: var(--soft) } .microagg .grid { stroke: var(--line) }
.microagg .before { fill: var(--before); stroke: var(--edge) } .microagg .after {
  fill: var(--after) }
"""


@dataclass(frozen=True, repr=False)
class Drawing:
    """A picture as SVG: a notebook shows it, ``save`` writes it.

    Parameters
    ----------
    svg
        What a browser draws.
    """

    svg: str

    @classmethod
    def of(cls, picture: str) -> Drawing:
        """Let a picture of a page stand alone."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="microagg"{picture[4:]}'
        start, end, rest = head.partition(">")
        return cls(f"{start}{end}<style>{STYLE}</style>{rest}")

    def __repr__(self) -> str:
        """Say what it is; the picture is for eyes."""
        return f"<Drawing: {len(self.svg):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file that only its owner can read."""
        path = Path(path)
        try:
            write_private(path, self.svg.encode())
        except OSError as error:
            raise ReleaseError(
                f"The plot cannot be written to {path} ({error.strerror}).", code="no_plot"
            ) from None
        return path
