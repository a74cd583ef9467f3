"""The release file: one protected table, described once, checked before anything is touched.

``model`` holds what a release says, ``document`` reads and checks a file; ``columns``,
``validate``, ``purpose``, ``profiles`` and ``condition`` are about one part of it each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.lazily import loaded_on_use

if TYPE_CHECKING:
    from microagg_ops.release.document import (
        Fault,
        build,
        check_release,
        find_faults,
        load_release,
        parse,
        read_bounded,
        sense_faults,
    )
    from microagg_ops.release.model import (
        STAGES,
        Aggregate,
        Group,
        Publish,
        Release,
        Report,
        Source,
        Standardize,
        in_seconds,
    )

__all__ = [
    "STAGES",
    "Aggregate",
    "Fault",
    "Group",
    "Publish",
    "Release",
    "Report",
    "Source",
    "Standardize",
    "build",
    "check_release",
    "find_faults",
    "in_seconds",
    "load_release",
    "parse",
    "read_bounded",
    "sense_faults",
]

# A part of the package must not load all of it: the condition is read without a YAML file.
__getattr__, __dir__ = loaded_on_use(
    globals(),
    {
        **dict.fromkeys(
            ("Fault", "build", "check_release", "find_faults", "load_release", "parse"), "document"
        ),
        **dict.fromkeys(("read_bounded", "sense_faults"), "document"),
        **dict.fromkeys(
            ("STAGES", "Aggregate", "Group", "Publish", "Release", "Report", "Source"), "model"
        ),
        **dict.fromkeys(("Standardize", "in_seconds"), "model"),
    },
)
