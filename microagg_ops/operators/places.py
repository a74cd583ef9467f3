"""Where things go: settings, the folders that they name, and paths on disks and object stores."""

from __future__ import annotations

from typing import Any


def setting(name: str) -> str:
    """Read an option of the ``[microagg]`` section."""
    from airflow.sdk.configuration import conf

    return str(conf.get("microagg", name, fallback="") or "")


def reports_folder() -> Any:
    """Give the folder for reports of releases that name none."""
    from pathlib import Path

    given = setting("reports")
    if given:
        return place_of(given, None)
    import os

    return Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "microagg" / "reports"


def temporary() -> str:
    """Give a folder of this user in the temporary directory; fit for one machine only."""
    import os
    import tempfile
    from pathlib import Path

    from microagg_ops.artifact import make_private, own
    from microagg_ops.errors import StagingError

    folder = Path(tempfile.gettempdir()) / f"microagg-{os.getuid()}"
    try:
        make_private(folder)
        own(folder)
    except OSError as error:
        raise StagingError(
            f"The default staging {folder} cannot be used ({type(error).__name__}).",
            hint="Set the option staging of the section [microagg].",
        ) from None
    return str(folder)


def place_of(at: str, conn_id: str | None) -> Any:
    """Give a path: through Airflow's object storage for a URI."""
    from microagg_ops.artifact import local

    if "://" not in at:
        return local(at)
    from airflow.sdk import ObjectStoragePath

    return local(ObjectStoragePath(at, conn_id=conn_id))
