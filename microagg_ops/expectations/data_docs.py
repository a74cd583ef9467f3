"""The Data Docs of one evaluation: a site that Great Expectations makes of its results."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from microagg_ops.errors import StagingError
from microagg_ops.staging.private import make_private


def build_site(context: Any, folder: Path) -> None:
    """Write the site of what a context evaluated, for its owner alone; one that is there goes.

    Parameters
    ----------
    context
        A context of Great Expectations with results.
    folder
        Where the site goes; it must hold nothing else.
    """
    try:
        make_private(folder.parent)
        # Great Expectations writes files that all can read: first where nobody else can look.
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".data-docs-") as made:
            site = Path(made) / "site"
            context.add_data_docs_site("run", site_in(site))
            context.build_data_docs(site_names=["run"])
            for path in (site, *site.rglob("*")):
                path.chmod(0o700 if path.is_dir() else 0o600)
            if folder.exists():
                shutil.rmtree(folder)
            site.rename(folder)
    except OSError as error:
        raise StagingError(
            f"The Data Docs {folder} cannot be written ({type(error).__name__}).",
            code="no_report",
            hint="Check that report.data_docs is a local folder that is writable and has room.",
        ) from None


def site_in(folder: Path) -> dict[str, Any]:
    """Configure a site in a local folder."""
    return {
        "class_name": "SiteBuilder",
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        "store_backend": {
            "class_name": "TupleFilesystemStoreBackend",
            "base_directory": str(folder),
        },
        "show_how_to_buttons": False,
    }
