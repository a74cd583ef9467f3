"""Keyed digests of entities and of what is published of them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING

from microagg_ops.series.history import DIGITS
from microagg_ops.staging.keys import derived

if TYPE_CHECKING:
    import pyarrow as pa


def entity_digests(key: bytes, column: pa.ChunkedArray) -> list[str]:
    """HMAC-SHA256 of each entity key as text, of which half is enough."""
    own = derived(key, "series entity")
    return [hmac.digest(own, text.encode(), "sha256").hex()[:32] for text in as_text(column)]


def record_digests(key: bytes, table: pa.Table, names: Sequence[str]) -> list[str]:
    """Digest each row: the digests of its cells, joined."""
    return ["".join(cells) for cells in zip(*(cell_digests(key, table[n]) for n in names),
                                            strict=True)]  # fmt: skip


def cell_digests(key: bytes, column: pa.ChunkedArray) -> list[str]:
    """Digest each cell of a column; each distinct one once."""
    import pyarrow.compute as pc

    own = derived(key, "series record")
    coded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    found = [
        hashlib.blake2b(text.encode(), digest_size=DIGITS // 2, key=own).hexdigest()
        for text in as_text(coded.dictionary)
    ]
    return [found[code] for code in coded.indices.to_pylist()]


def as_text(column: pa.ChunkedArray | pa.Array) -> list[str]:
    """Write cells as text; NULL is like none of them."""
    import pyarrow as pa

    return ["\0" if cell is None else cell for cell in column.cast(pa.string()).to_pylist()]
