"""Cells of text files: which type a column has, by all that it holds.

A column has a type if every cell of it has that form; else it is text. So nothing is guessed from
the first rows, and what would change by being read stays text: 02139 is no number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# What statistical programs write for NULL. In columns of text they are words: NA is Namibia too.
NULLS = ("NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", ".", "-", "?")
INTEGER = r"^-?(0|[1-9][0-9]{0,18})$"
NUMBER = r"^-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
BOOLEAN = r"^([Tt]rue|TRUE|[Ff]alse|FALSE)$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})"


def typed_cells(column: pa.ChunkedArray, nulls: tuple[str, ...], decimal: str) -> pa.Array:
    """Cast a column of text to the type that all its cells have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = column.combine_chunks().dictionary_encode()
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    words = without(cells.dictionary, nulls)
    found = _typed(words, decimal)
    return (
        found.take(cells.indices)
        if not found.equals(cells.dictionary)
        else pc.cast(cells, pa.string())
    )


def without(words: pa.Array, nulls: tuple[str, ...]) -> pa.Array:
    """Let words be NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not nulls:
        return words
    mask = pc.is_in(words, value_set=pa.array(nulls, pa.string()))
    return pc.if_else(mask, pa.scalar(None, pa.string()), words)


def _typed(words: pa.Array, decimal: str) -> pa.Array:
    """Cast words to the narrowest type that fits all of them; else leave them as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(without(words, NULLS))
    numbers = pc.utf8_ltrim(cells, "+")
    if decimal != ".":
        numbers = pc.replace_substring(numbers, decimal, ".")
    kinds = (
        (numbers, INTEGER, pa.int64()),
        (numbers, NUMBER, pa.float64()),
        (cells, BOOLEAN, pa.bool_()),
        (cells, DATE, pa.date32()),
        (cells, MOMENT + "$", pa.timestamp("us")),
        (cells, MOMENT + ZONE + "$", pa.timestamp("us", "UTC")),
    )
    for given, pattern, kind in kinds:
        fits = pc.all(pc.match_substring_regex(given, pattern), min_count=1).as_py()
        if not fits:
            continue
        try:
            return given.cast(kind)
        except pa.ArrowInvalid:  # 30 February, or more than 64 bits
            continue
    return words
