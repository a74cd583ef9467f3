"""Where staging lies if nobody says: never in another folder than the one that was named."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from microagg_ops.errors import StagingError

VARIABLES = ("TMPDIR", "TEMP", "TMP")
USUAL = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - where Python looks, not what we write to


def temporary_folder() -> Path:
    """Find the temporary directory; refuse what Python would silently put in its place."""
    for name in VARIABLES:
        given = os.environ.get(name)
        if given:
            if not (os.path.isdir(given) and os.access(given, os.W_OK | os.X_OK)):
                raise _unusable(f"{name} names {given!r}, which is no folder that we can write.")
            return Path(given).absolute()
    try:
        found = Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise _unusable("There is no temporary folder that we can write.") from None
    # Where it finds none, Python ends up with the working directory.
    if found == Path.cwd() and str(found) not in USUAL:
        raise _unusable("There is no temporary folder that we can write.")
    return found


def _unusable(what: str) -> StagingError:
    return StagingError(
        what,
        code="no_temporary_folder",
        retryable=False,
        hint="Raw rows are staged there: name a private folder by TMPDIR or --staging.",
    )
