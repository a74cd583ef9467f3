"""Recount: what can be counted without the source, once more, on the bytes to be published.

A verdict is a file beside the table, and a file can be of another table. So publish believes what
it counts itself: by the same rules as validate, and without Great Expectations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from microagg_ops.checks.evidence import Groups, Published
from microagg_ops.checks.registry import CHECKS
from microagg_ops.errors import DisclosureError
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import pyarrow as pa


def recount(
    release: Release, protected: pa.Table, entities: pa.ChunkedArray | None, groups: Groups
) -> None:
    """Refuse a table in which less holds than the release demands.

    Parameters
    ----------
    release
        What is demanded: k, l, t and risk, of whom, in which classes, with which rule for NULL.
    protected
        The table that is published.
    entities
        The entity of each row, where the release has a key of entities.
    groups
        The columns that were aggregated together; they matter where k is that of each group.
    """
    found = list(shortfalls(release, protected, entities, groups))
    if found:
        raise DisclosureError(
            f"Counted again on the bytes to be published: {'; '.join(found)}.",
            hint="Nothing was published. Run the release from the start.",
        )


def shortfalls(
    release: Release, protected: pa.Table, entities: pa.ChunkedArray | None, groups: Groups
) -> Iterator[str]:
    """List what does not hold, in counts."""
    key = release.columns.entity
    if sorted(protected.column_names) != sorted(release.published_columns):
        yield "the columns are not those of the release"
    elif not protected.num_rows:
        yield "there are no rows"
    elif (key is None) != (entities is None):
        yield "it is not known whose the rows are"
    elif entities is not None and len(entities) != protected.num_rows:
        yield "the rows are not those whose entities are known"
    else:
        if key is not None:  # never a published column, so the name is free
            protected = protected.append_column(key, entities)
        published = Published(release, protected, groups)
        for check in CHECKS:
            yield from check.recount(published)
