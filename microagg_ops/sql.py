"""Names and conditions in SQL: names are quoted, values are bound, nothing is pasted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# What a colon inside must not be taken for a parameter, then the parameter itself.
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*' | "(?:[^"]|"")*" | ::)
      | (?P<comment>--|/\*)
      | (?P<end>;)
      | (?P<dollar>\$\w*\$)
      | (?P<open>['"])
      | (?P<paren>[()])
      | :(?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE,
)


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
        """Give the name in standard SQL."""
        return ".".join(quote(part) for part in self.parts)


def quote(name: str) -> str:
    """Quote an identifier in standard SQL; whatever it holds, it is merely a name."""
    if "\0" in name:
        raise ValueError("a name with a NUL character")
    return '"' + name.replace('"', '""') + '"'


def parameters(condition: str) -> list[str]:
    """List the parameters of a condition in the order of their appearance."""
    names: list[str] = []

    def note(name: str) -> str:
        names.append(name)
        return ""

    bind(condition, note)
    return names


def bind(
    condition: str, placeholder: Callable[[str], str], text: Callable[[str], str] = str
) -> str:
    """Replace each ``:name`` of a condition by the placeholder of a driver.

    Quoted text and casts (``::``) are left alone. What could end the condition is refused.
    """
    out: list[str] = []
    at = depth = 0
    for token in _TOKEN.finditer(condition):
        kind = token.lastgroup
        if kind == "comment":
            raise ValueError("a comment")
        if kind == "end":
            raise ValueError("a semicolon")
        if kind == "dollar":
            raise ValueError("dollar-quoted text")
        if kind == "open":
            raise ValueError("a quote that is not closed")
        if kind == "paren":
            # The condition is wrapped in parentheses, which it must not close.
            depth += 1 if token.group() == "(" else -1
            if depth < 0:
                raise ValueError("a parenthesis that is not opened")
        out.append(text(condition[at : token.start()]))
        out.append(placeholder(token["name"]) if kind == "name" else text(token.group()))
        at = token.end()
    out.append(text(condition[at:]))
    if depth:
        raise ValueError("a parenthesis that is not closed")
    return "".join(out)
