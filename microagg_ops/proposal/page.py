"""A proposal as a page that stands alone."""

from __future__ import annotations

from microagg_ops.proposal.draft import told_losses, told_uniques
from microagg_ops.proposal.source import Proposal
from microagg_ops.report.render import TEMPLATES, digest, template


def as_page(found: Proposal) -> str:
    """Render a proposal as a page that needs nothing else, and may load nothing."""
    from markupsafe import Markup

    style, script = ((TEMPLATES / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return str(
        template("proposal").render(
            found=found,
            uniques=told_uniques(found),
            losses=list(told_losses(found)),
            style=Markup(style),  # noqa: S704 - ours
            script=Markup(script),  # noqa: S704 - ours
            style_hash=digest(style),
            script_hash=digest(script),
        )
    )
