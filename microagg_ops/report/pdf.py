"""A report as PDF, printed by a browser where there is one.

The page may load nothing and the browser reaches no network; what it keeps is in a folder of its
own that is removed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from microagg_ops.errors import StagingError
from microagg_ops.staging.private import write_private

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
TIMEOUT = 120.0
QUIET = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-dev-shm-usage", "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def find_browser() -> str:
    """Return the browser of this machine; ``CHROMIUM`` may name it."""
    given = os.environ.get("CHROMIUM")
    found = given or next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if not found:
        raise StagingError(
            "A PDF is printed by Chromium or Chrome, and there is none here.",
            code="no_browser",
            retryable=False,
            hint="Install it, name it in CHROMIUM, or print report.html in any browser.",
        )
    return found


def print_page(page: Path) -> Path:
    """Print a page beside itself, for its owner alone."""
    browser, pdf = find_browser(), page.with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="microagg-print-") as folder:
        printed = Path(folder, "page.pdf")
        # Chromium's own sandbox does not start for root.
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            subprocess.run(  # noqa: S603 - no shell, and a browser that the user chose
                [browser, *QUIET, *alone, f"--user-data-dir={folder}/profile",
                 f"--print-to-pdf={printed}", page.resolve().as_uri()],
                check=True, capture_output=True, timeout=TIMEOUT,
            )  # fmt: skip
            content = printed.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise StagingError(
                f"The browser did not print {page.name} ({type(error).__name__}).",
                code="no_pdf",
                hint="Print it from the browser by hand.",
            ) from None
    write_private(pdf, content)
    return pdf
