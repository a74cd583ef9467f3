"""What SQLAlchemy's types are in Arrow, and the other way round."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

MYSQL = ("mysql", "mariadb")


def arrow_column(name: str, values: list[Any], kind: sa.types.TypeEngine[Any]) -> pa.Array:
    """Make a column of its declared type; what does not hold that is of the type that it has."""
    import pyarrow as pa
    import pyarrow.types as t

    kinds = {type(value) for value in values if value is not None}
    if bytes in kinds and len(kinds) > 1:
        raise DataError(
            f"The column {name!r} mixes bytes with other values.",
            code="bad_type",
            hint="Read a view that casts it.",
        )
    try:
        found = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])
    declared = arrow_type(kind)
    if declared == pa.bool_() and t.is_integer(found.type):
        return found.cast(declared) if set(values) <= {0, 1, None} else found

    def counts(kind: pa.DataType) -> bool:
        return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind))

    alike = declared is not None and counts(declared) and counts(found.type)
    if declared is None or not (alike or t.is_null(found.type)):
        return found
    try:
        return found.cast(declared)
    except pa.ArrowInvalid:  # it does not fit
        return found


def arrow_type(kind: sa.types.TypeEngine[Any]) -> pa.DataType | None:
    """Return the Arrow type of a declared one, if its cells are all alike."""
    import pyarrow as pa
    import sqlalchemy as sa

    if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        fits = kind.precision is not None and kind.scale is not None and kind.precision <= 38
        return pa.decimal128(kind.precision, kind.scale) if fits else None
    if isinstance(kind, sa.DateTime):
        return None if kind.timezone else pa.timestamp("us")
    types = (
        (sa.Boolean, pa.bool_()), (sa.Integer, pa.int64()), (sa.Float, pa.float64()),
        (sa.Date, pa.date32()), (sa.String, pa.string()),
    )  # fmt: skip
    return next((found for declared, found in types if isinstance(kind, declared)), None)


def read_as(dialect: str, kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    """Choose how cells come out: the driver's own way loses some of them."""
    import sqlalchemy as sa

    if isinstance(kind, sa.Float) and kind.asdecimal:  # ten places, where a double has more
        return sa.Double()
    # Decimals of no declared scale are mere numbers in SQLite.
    if dialect == "sqlite" and isinstance(kind, sa.Numeric) and kind.scale is None:
        return sa.Double()
    # MySQL has no truth values, but this is what it makes of them.
    if dialect in MYSQL and getattr(kind, "display_width", None) == 1:
        return sa.Boolean()
    return kind


def fetched_as(dialect: str, kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    """Let no driver make a truth of a number: what is declared boolean may hold a 2."""
    import sqlalchemy as sa

    made_up = dialect in ("sqlite", *MYSQL) and isinstance(kind, sa.Boolean)
    return sa.Integer() if made_up else kind


def known_type(dialect: sa.Dialect, told: str | None) -> sa.types.TypeEngine[Any] | None:
    """Find the type that a description names, such as NUMERIC(10, 2), if the dialect has it."""
    import sqlalchemy as sa

    found = re.fullmatch(r"(\w+(?: \w+)*)(?:\((\d+)(?:, ?(\d+))?\))?", told or "")
    if found is None:
        return None
    made: Any = getattr(dialect, "ischema_names", {}).get(found[1].upper())
    sizes = [int(size) for size in found.groups()[1:] if size]
    try:
        if sizes and made and issubclass(made, sa.DateTime | sa.Time):
            sized: sa.types.TypeEngine[Any] = made(fsp=sizes[0])
            return sized
        return made and made(*sizes)  # type: ignore[no-any-return]
    except TypeError:  # it takes no such size
        return None


def sql_type(kind: pa.DataType) -> Any:
    """Return the type of a new column for what Arrow holds."""
    import pyarrow.types as t
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    for matches, found in (
        (t.is_boolean, sa.Boolean()),
        (t.is_integer, sa.BigInteger()),
        (t.is_floating, sa.Double()),
        (t.is_date, sa.Date()),
        # MySQL's own would lose fractions of seconds, and what is longer than 64 KB.
        (t.is_timestamp, sa.DateTime().with_variant(mysql.DATETIME(fsp=6), *MYSQL)),
        (t.is_binary, sa.LargeBinary().with_variant(mysql.LONGBLOB(), *MYSQL)),
    ):
        if matches(kind):
            return found
    if t.is_decimal(kind):
        return sa.Numeric(kind.precision, kind.scale)
    return sa.Text().with_variant(mysql.LONGTEXT(), *MYSQL)
