"""Where things go: settings, the folders that they name, and paths on disks and object stores."""

from __future__ import annotations

from typing import Any


def setting(name: str) -> str:
    """Read an option of the ``[microagg]`` section."""
    from airflow.sdk.configuration import conf

    return str(conf.get("microagg", name, fallback="") or "")


def reports_folder() -> Any:
    """Return the folder for reports of releases that name none."""
    from pathlib import Path

    given = setting("reports")
    if given:
        return place_of(given, None)
    import os

    return Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "microagg" / "reports"


def temporary() -> str:
    """Return a folder of this user in the temporary directory; fit for one machine only."""
    import os

    from microagg_ops.errors import StagingError
    from microagg_ops.staging.private import opened, reason
    from microagg_ops.staging.temporary import temporary_folder

    folder = temporary_folder() / f"microagg-{os.geteuid()}"
    try:
        # Everybody can write there, and may have put something in its place.
        with opened(folder, make=True):
            return str(folder)
    except OSError as error:
        raise StagingError(
            f"The default staging {folder} cannot be used ({reason(error)}).",
            hint="Set the option staging of the section [microagg].",
            retryable=False,
        ) from None


def place_of(at: str, conn_id: str | None) -> Any:
    """Return a path: through Airflow's object storage for a URI."""
    from microagg_ops.staging.store import local

    if "://" not in at:
        return local(at)
    from airflow.sdk import ObjectStoragePath

    return local(ObjectStoragePath(at, conn_id=conn_id))
