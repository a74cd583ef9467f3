"""Names in SQL: quoted, whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a table, in up to three parts."""

    parts: tuple[str, ...]

    @classmethod
    def parse(cls, name: str | Sequence[str] | TableName) -> TableName:
        """Split a name at its dots; a list is taken part by part, as it is."""
        if isinstance(name, TableName):
            return name
        return cls(tuple(name.split(".") if isinstance(name, str) else name))

    @property
    def name(self) -> str:
        """The table's own name."""
        return self.parts[-1]

    @property
    def schema(self) -> str | None:
        """The schema, if one is given."""
        return self.parts[-2] if len(self.parts) > 1 else None

    def __str__(self) -> str:
        return ".".join(self.parts)

    def quoted(self) -> str:
        """Return the name in standard SQL."""
        return ".".join(quote(part) for part in self.parts)


def quote(name: str) -> str:
    """Quote an identifier in standard SQL; whatever it holds, it is merely a name."""
    if "\0" in name:
        raise ValueError("a name with a NUL character")
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Write a text as a literal of standard SQL, where none can be bound."""
    if "\0" in text:
        raise ValueError("a text with a NUL character")
    return "'" + text.replace("'", "''") + "'"
