"""Clean up: remove what a run staged, whatever happened to it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.operators.base import MicroaggOperator, translated
from microagg_ops.operators.lineage import of_cleanup
from microagg_ops.operators.places import place_of
from microagg_ops.release.document import load_release

if TYPE_CHECKING:
    from airflow.sdk import Context

log = logging.getLogger("microagg_ops")


class MicroaggCleanupOperator(MicroaggOperator):
    """Remove the staging of a run; alone: the Parquet file or staged folder ``source`` names."""

    stage = "cleanup"

    def execute(self, context: Context) -> dict[str, Any]:
        """Remove the folder; tell whether there was one."""
        from microagg_ops.errors import ReleaseError
        from microagg_ops.staging.store import Staging

        with self.remembering(), translated():
            if self.release is None and self.source is None:
                raise ReleaseError(
                    "MicroaggCleanupOperator has neither a 'release' nor a 'source'."
                )
            if self.release is not None:
                removed = Staging(self.staged(context)).remove()
                told = "staging removed" if removed else "there was no staging"
                # The file may be broken by now, and that must stop nobody from cleaning up.
                log.info("%s cleanup: %s", Path(str(self.release)).stem, told)
                self.note_lineage(lambda: of_cleanup(load_release(str(self.release)).release))
                return {"removed": removed}
            place = place_of(str(self.source), self.conn_id)
            if place.is_file():
                place.unlink()
                return {"removed": True}
            return {"removed": Staging(place).remove()}
