"""The condition of a source: one boolean expression over its columns, on any database.

Three gates, each of which would do. The text is cut into tokens that every database cuts alike:
no backslash, no comment, no quoting but the standard's. A parser of the database's own dialect
must find one boolean expression in them. And each word must be a column, or be known to be
harmless. What runs is written anew from these tokens, names quoted and parameters bound: the
user's text itself never reaches a database.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from microagg_ops.release.vocabulary import (
    FUNCTIONS,
    KEYWORDS,
    OPENERS,
    PLAIN_TYPES,
    PSEUDO_COLUMNS,
    TYPES,
    UNITS,
)

# Where the database is not known yet, one of these must accept a condition.
DIALECTS = ("duckdb", "postgres", "mysql", "sqlite")
LONGEST = 20_000
DEEPEST = 20
# What stands for quoted names and parameters while the parser looks on: dialects write them each
# in a way of its own.
STAND_IN = {"quoted": "stand_in_for_quoted_", "parameter": "stand_in_for_bound_"}

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<string>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<comment>--|/\*|\#)
      | (?P<end>;)
      | (?P<dollar>\$)
      | (?P<open>['"`])
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<cast>::)
      | :(?P<parameter>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<word>[^\W\d]\w*)
      | (?P<mark>[(),.])
      | (?P<operator>!~\*|!~|~\*|<=>|<>|<=|>=|!=|==|\|\||//|[=<>~+*/%&|-])""",
    re.VERBOSE,
)
# An operator of which a part was taken (~~, ->, @>), and what begins U&'…'.
_RUN_ON = re.compile(r"""&['"]|.[!<>=~|@^&?*/%]""")
_REFUSED = {
    "comment": "a comment",
    "end": "a semicolon",
    "dollar": "dollar-quoted text",
    "open": "a quote that is not closed",
}
_WORDS = KEYWORDS | UNITS | TYPES


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a condition; ``apart`` where white space stood before it."""

    kind: str
    text: str
    apart: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition, and the functions that its release trusts beyond the harmless ones."""

    text: str
    trusted: tuple[str, ...] = ()

    def check(self, dialect: str | None = None) -> None:
        """Refuse what is not one harmless boolean expression.

        Parameters
        ----------
        dialect
            The dialect of the database, as sqlglot calls it; ``None`` asks the common ones.

        Raises
        ------
        ValueError
            With what was found instead.
        """
        faults = []
        for name in (dialect,) if dialect is not None else DIALECTS:
            try:
                read(self.text, name, self.trusted)
                return
            except ValueError as error:
                faults.append(error)
        raise faults[0]

    def columns(self, dialect: str) -> list[tuple[str, bool]]:
        """List the columns, each with whether it was quoted."""
        found = read(self.text, dialect, self.trusted)
        return [_named(token) for token in found if token.kind == "column"]

    def written(
        self, dialect: str, column: Callable[[str, bool], str], placeholder: Callable[[str], str]
    ) -> str:
        """Write the condition for a database: columns quoted, parameters bound."""
        out: list[str] = []
        before = Token("mark", "(", False)
        for token in read(self.text, dialect, self.trusted):
            # A call and its parenthesis stay together: MySQL would not know it otherwise.
            close = token.kind == "mark" or before.text in ("(", ".")
            out.append("" if close and not token.apart else " ")
            if token.kind == "column":
                out.append(column(*_named(token)))
            else:
                parameter = token.kind == "parameter"
                out.append(placeholder(token.text) if parameter else token.text)
            before = token
        return "".join(out).strip()


def parameters(text: str) -> list[str]:
    """List the parameters of a condition in the order of their appearance."""
    return [token.text for token in tokens(text) if token.kind == "parameter"]


def resolve(name: str, quoted: bool, described: Iterable[str], dialect: str) -> str | None:
    """Find the column of a table that a database takes a name for."""
    known = list(described)
    if dialect == "postgres":
        folded = name if quoted else "".join(c.lower() if c.isascii() else c for c in name)
        return folded if folded in known else None
    if name in known:
        return name
    alike = [column for column in known if column.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


@lru_cache(maxsize=64)
def read(text: str, dialect: str, trusted: tuple[str, ...]) -> tuple[Token, ...]:
    """Cut a condition into tokens, columns among them, if it is one that may run."""
    found = list(tokens(text))
    canonical, starts = _neutral(found)
    columns = _columns(canonical, dialect)
    named = [
        Token("column", token.text, token.apart)
        if token.kind in ("word", "quoted") and starts[i] in columns
        else token
        for i, token in enumerate(found)
    ]
    _check_words(named, frozenset(name.lower() for name in trusted))
    return tuple(named)


def tokens(text: str) -> Iterator[Token]:
    """Cut a condition into tokens that are the same in every dialect."""
    _check_characters(text)
    at, depth, before, apart = 0, 0, "", True
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"the character {text[at]!r}")
        kind, at = str(token.lastgroup), token.end()
        if kind in _REFUSED:
            raise ValueError(_REFUSED[kind])
        if kind == "space":
            apart = True
            continue
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth < 0:
            raise ValueError("a parenthesis that is not opened")
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} parentheses in each other")
        _check_neighbours(before, kind, apart)
        if kind == "word" and not all(map(_is_plain, token.group())):
            raise ValueError(f"the word {token.group()!r}, whose letters are unusual")
        if kind == "operator" and _RUN_ON.match(text, at - 1):
            raise ValueError("an operator that is not known")
        yield Token(kind, token[kind], apart)
        before, apart = kind, False
    if depth:
        raise ValueError("a parenthesis that is not closed")


def _check_characters(text: str) -> None:
    if len(text) > LONGEST:
        raise ValueError(f"more than {LONGEST} characters")
    if "\\" in text:
        raise ValueError("a backslash, which databases read differently")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", text):
        raise ValueError("a control character")
    if "stand_in_for_" in text.lower():
        raise ValueError("a name that is kept for parameters")


def _check_neighbours(before: str, kind: str, apart: bool) -> None:
    """Refuse tokens that some database would read as one: E'…', 1x, and the like."""
    solid = ("word", "quoted", "string", "number", "parameter")
    if before in solid and kind in solid and not apart:
        found = "text with a prefix" if kind in ("string", "quoted") else "two words in one"
        raise ValueError(found)
    if before == "string" and kind == "string":
        raise ValueError("two texts side by side")


def _is_plain(letter: str) -> bool:
    """Whether every database knows a letter for itself: it is no wide form, nor like a quote."""
    return letter.isascii() or (
        unicodedata.category(letter) in ("Ll", "Lu", "Lo")
        and unicodedata.normalize("NFKC", letter) == letter
    )


def _neutral(found: list[Token]) -> tuple[str, list[int]]:
    """Write tokens so that every dialect reads them alike; give where each begins."""
    # In parentheses a word can begin no statement.
    text, starts = "(", []
    for i, token in enumerate(found):
        # A name and its parenthesis stay together, or they would not be a call everywhere.
        text += "" if token.kind == "mark" and not token.apart else " "
        starts.append(len(text))
        text += f"{STAND_IN[token.kind]}{i}" if token.kind in STAND_IN else token.text
    return f"{text} )", starts


def _columns(text: str, dialect: str) -> set[int]:
    """Parse one boolean expression; give where its columns begin."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(text, into=exp.Condition, dialect=dialect)
    except (SqlglotError, RecursionError):
        raise ValueError("what is not one SQL condition") from None
    if not isinstance(tree, exp.Paren):
        raise ValueError("what is not one SQL condition")
    _check_tree(tree)
    return {node.this.meta["start"] for node in tree.find_all(exp.Column)}


def _check_tree(tree: Any) -> None:
    from sqlglot import exp

    # Functions are judged by name, token by token: here it counts what they are not.
    plain = (
        exp.Binary, exp.Unary, exp.Func, exp.Between, exp.In, exp.Column, exp.Identifier,
        exp.Literal, exp.Boolean, exp.Null, exp.Tuple, exp.Interval, exp.DataTypeParam, exp.Var,
        exp.AtTimeZone, exp.Placeholder,
    )  # fmt: skip
    other = (
        exp.AggFunc, exp.Query, exp.Window, exp.Lambda, exp.SubqueryPredicate, exp.Collate,
        exp.JSONExtract, exp.Operator, exp.Alias, exp.UDTF,
    )  # fmt: skip
    for node in tree.walk():
        if isinstance(node, exp.DataType):
            if getattr(node.this, "name", "") not in PLAIN_TYPES or node.args.get("nested"):
                raise ValueError("a cast to a type that is not plain")
        elif isinstance(node, exp.Is) and not isinstance(node.expression, exp.Null | exp.Boolean):
            raise ValueError("IS before what is neither NULL nor true or false")
        elif not isinstance(node, plain) or isinstance(node, other):
            raise ValueError(f"what is not plain in a condition ({type(node).__name__})")
    if not _is_boolean(tree):
        raise ValueError("an expression that is neither true nor false")


def _is_boolean(node: Any) -> bool:
    from sqlglot import exp

    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Connector | exp.Not | exp.Paren):
            stack += node.iter_expressions()
        elif isinstance(node, exp.Cast):
            if node.to.this.name != "BOOLEAN":
                return False
        elif isinstance(node, exp.Column):
            if node.name.startswith(STAND_IN["parameter"]):
                return False
        elif not isinstance(node, exp.Predicate | exp.Boolean | exp.Escape | exp.Func | exp.Dot):
            return False
    return True


def _check_words(found: list[Token], trusted: frozenset[str]) -> None:
    """Refuse words that are neither columns nor known, and text where a type could be meant."""
    nothing = Token("operator", "", True)
    name = ""
    for before, token, after in zip([nothing, *found], found, [*found[1:], nothing], strict=False):
        if token.kind == "quoted":
            raise ValueError("a quoted name that is no column")
        if token.kind == "string" and before.kind == "column":
            raise ValueError("text after a name")
        if token.kind == "column" and after.text == "(":
            raise ValueError(f"the function {token.text}()")
        if token.kind == "column" and token.text.lower() in PSEUDO_COLUMNS:
            raise ValueError(f"the word {token.text!r}, which must be quoted to be a column")
        if token.text == "." and (before.kind, after.kind) != ("word", "word"):
            raise ValueError("a name with a dot")
        if token.kind == "word" or token.text == ".":
            name += token.text.lower()
            if "." not in (token.text, after.text):
                _check_word(name, after.text == "(", trusted)
                name = ""


def _check_word(name: str, called: bool, trusted: frozenset[str]) -> None:
    if name in trusted or name in (FUNCTIONS | OPENERS if called else _WORDS):
        return
    raise ValueError(f"the function {name}()" if called else f"the word {name!r}")


def _named(token: Token) -> tuple[str, bool]:
    quoted = token.text.startswith('"')
    return (token.text[1:-1].replace('""', '"') if quoted else token.text), quoted
