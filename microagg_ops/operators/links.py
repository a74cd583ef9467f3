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
        """Give the address of the page, or of the first file if there is no page.

        Airflow asks at the end of a task, in its process, and keeps the answer as an XCom.
        """
        uris: dict[str, str] = getattr(operator, "reports", {})
        pages = [uri for uri in uris.values() if uri.endswith(".html")]
        return next(iter([*pages, *uris.values()]), "")
