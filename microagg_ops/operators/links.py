"""Links from a task to what it left for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator


class MicroaggReportLink(BaseOperatorLink):
    """The report of the run that a task was part of."""

    name = "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """Return the address of the page, or of the first file if there is no page.

        Airflow asks at the end of a task, in its process, and keeps the answer as an XCom.
        """
        uris: dict[str, str] = getattr(operator, "reports", {})
        pages = [uri for uri in uris.values() if uri.endswith("/report.html")]
        found = next(iter([*pages, *uris.values()]), "")
        return in_airflow(found) if found in pages else found


def in_airflow(uri: str) -> str:
    """Find where Airflow itself shows a report: no browser follows a link to a file or a bucket.

    The page Releases shows what lies in the folder of the installation, and nothing else.
    """
    from pathlib import Path
    from urllib.parse import quote, urlsplit

    from airflow.sdk.configuration import conf

    from microagg_ops.operators.places import reports_folder

    folder = reports_folder()
    root = folder.resolve().as_uri() if isinstance(folder, Path) else str(folder)
    inside = uri.removeprefix(f"{root.rstrip('/')}/").split("/")
    if len(inside) != 3:
        return uri
    base = urlsplit(str(conf.get("api", "base_url", fallback="") or "")).path.rstrip("/")
    return f"{base}/microagg/releases/{inside[0]}/runs/{quote(inside[1], safe='%')}"
