"""What can go wrong, and what the reader can do about it.

No message ever holds a cell value: it names the column, the count and the threshold.
"""

from __future__ import annotations

import errno
import os
import traceback
from typing import Any

ENOUGH_MEMORY = (
    "Release fewer columns or fewer rows at once (source.where, publish.mode: append_interval), "
    "or give the process more memory (ulimit -v, the limit of its container)."
)


class MicroaggError(Exception):
    """Something went wrong.

    Parameters
    ----------
    message
        What happened: names, counts and thresholds, never a cell value.
    code
        A word for machines; each class has a default.
    hint
        What to do next.
    retryable
        Whether the same call may succeed later with nothing changed.
    """

    code = "fault"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str = "",
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = type(self).code if code is None else code
        self.retryable = type(self).retryable if retryable is None else retryable

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with the message alone and lose the rest.
        return _rebuild, (type(self), self.__dict__.copy())


class ReleaseError(MicroaggError):
    """The release file, or an argument in its place, is not as it must be."""

    code = "bad_release"


class DataError(MicroaggError):
    """The data cannot be released as the release asks."""

    code = "bad_data"


class DisclosureError(MicroaggError):
    """A check failed: never retried, never published."""

    code = "check_failed"


class BudgetError(MicroaggError):
    """The time budget ran out before there was any result to use."""

    code = "budget_spent"


class StagingError(MicroaggError):
    """A staged file is missing or not what was staged."""

    code = "staging"
    retryable = True


class WarehouseError(MicroaggError):
    """The warehouse refused or could not be reached."""

    code = "warehouse"
    retryable = True


def _rebuild(cls: type[MicroaggError], state: dict[str, Any]) -> MicroaggError:
    error = cls.__new__(cls)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


def lacks_memory(error: BaseException) -> bool:
    """Whether an exception says that there was no memory, in whatever words it does."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    said = str(error)
    return isinstance(error, OSError | ImportError | RuntimeError) and any(
        words in said
        for words in ("Cannot allocate memory", "failed to map segment", "start new thread")
    )


def scrubbed(error: BaseException) -> MicroaggError:
    """Turn any exception into one that is safe to log.

    Libraries put cell values into their messages, so of an exception that is not ours only the
    type and the place are kept. ``MICROAGG_DEBUG=1`` keeps the text, where values may be seen.
    """
    if isinstance(error, MicroaggError):
        return error
    if lacks_memory(error):
        return MicroaggError(
            "There is not enough memory for this.",
            code="out_of_memory",
            hint=ENOUGH_MEMORY,
            retryable=True,
        )
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "microagg_ops" in f.filename]
    place = ""
    if frames:
        inside = frames[-1].filename.replace("\\", "/").rpartition("microagg_ops/")[2]
        place = f" at microagg_ops/{inside}:{frames[-1].lineno}"
    text = f": {error}" if os.environ.get("MICROAGG_DEBUG") == "1" else ""
    return MicroaggError(
        f"Unexpected {type(error).__name__}{place}{text}.",
        hint="" if text else "Its text may hold data and is withheld; MICROAGG_DEBUG=1 shows it.",
        retryable=isinstance(error, OSError | MemoryError),
    )
