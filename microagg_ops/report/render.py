"""A report as a page that stands alone, and as JSON."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from microagg_ops.release.model import in_seconds
from microagg_ops.report import words
from microagg_ops.report.plots import outside_plots, plots

TEMPLATES = Path(__file__).parent.parent / "templates"


def as_json(figures: Mapping[str, Any], page: str = "report") -> str:
    """Render a report for machines; they are all alike here."""
    return json.dumps(figures, indent=2, allow_nan=False) + "\n"


def as_html(figures: Mapping[str, Any], page: str = "report") -> str:
    """Render a report as one page that needs nothing else, and may load nothing.

    Parameters
    ----------
    figures
        What its schema describes.
    page
        Its template: report (internal) or external.
    """
    from markupsafe import Markup

    # Ours, so they need no escape: the style, the script, and pictures that escaped their words.
    style, script = ((TEMPLATES / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return str(
        template(page).render(
            dict(figures)
            | {
                "plots": {"report": plots, "external": outside_plots}[page](figures),
                "style": Markup(style),  # noqa: S704
                "script": Markup(script),  # noqa: S704
                "style_hash": digest(style),
                "script_hash": digest(script),
                "drawn": Markup,
            }
        )
    )


@functools.cache
def template(page: str) -> Any:
    """Compile a page, once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "figure": words.as_figure,
        "percent": words.as_percent,
        "share": words.as_share,
        "unit": words.as_unit,
        "tiny": words.as_tiny,
        "count": "{:,}".format,
        "moment": words.as_moment,
        "seconds": words.as_seconds,
        "title_of": words.as_title,
        "check": words.check_title,
        "measured": words.as_measured,
        "limit": words.as_limit,
        "setting": words.as_setting,
        "counted": words.counted,
        "duration": lambda text: words.as_seconds(in_seconds(text)),
    }
    return environment.get_template(f"{page}.html.j2")


def digest(text: str) -> str:
    """Return the hash by which a policy of the page allows what stands in it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
