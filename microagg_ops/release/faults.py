"""JSON Schema, with faults that say what was found and what is allowed."""

from __future__ import annotations

import difflib
import functools
import json
import math
import re
from collections.abc import Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from microagg_ops.plugins import plugins

# The most faults that a message tells, and the most characters of what a file holds.
MOST_FAULTS, LONGEST = 100, 60
ShapeFault = tuple[str, str, str, str]
TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


def schema_path(name: str) -> Path:
    """Find a schema: inside the package when installed, beside it in a checkout."""
    here = Path(__file__).parent.parent
    inside = here / "schemas" / f"{name}.schema.json"
    return inside if inside.exists() else here.parent / "schemas" / f"{name}.schema.json"


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """Read a schema of this package by its name, with what other packages add to a release."""
    found = dict(json.loads(schema_path(name).read_text("utf-8")))
    if name == "release":
        _extend(found["properties"])
    return found


def _extend(sections: dict[str, Any]) -> None:
    """Let a release name the methods and the checks of other packages."""
    # What parameters these take, only they know; those of our own are listed one by one.
    own = sections["aggregate"]["properties"]["method"]["enum"]
    if added := [name for name in plugins("methods") if name not in own]:
        own += added
        sections["aggregate"]["properties"]["params"]["additionalProperties"] = True
    checks = sections["validate"]["properties"]["checks"]["properties"]
    for name in plugins("checks"):
        checks[name] = {"description": "Parameters of this check.", "type": "object"}


@functools.cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    usual = Draft202012Validator.TYPE_CHECKER
    strict = usual.redefine_many(
        {
            # JSON Schema takes 5.0 for an integer; k = 5.0 is more likely a slip.
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            # NaN is neither below a minimum nor above a maximum.
            "number": lambda _, value: usual.is_type(value, "number") and not math.isnan(value),
        }
    )
    make: Any = extend
    return make(Draft202012Validator, {"pattern": _pattern}, type_checker=strict)(schema(name))


def _pattern(validator: Any, pattern: str, value: Any, where: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    # Our patterns are for the whole text; a search would let a last newline pass.
    if validator.is_type(value, "string") and not re.fullmatch(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def shape_faults(document: Any, name: str) -> Iterator[ShapeFault]:
    """List where a document differs from a schema: pointer, found, allowed, suggestion."""
    # What a hand wrote has a few faults; whoever sends thousands is shown the first of them.
    errors = islice(_validator(name).iter_errors(document), MOST_FAULTS)
    for error in sorted(errors, key=lambda e: [str(p) for p in e.path]):
        pointer = "".join(f"/{_escaped(part)}" for part in error.absolute_path)
        yield from _faults_of(error, printable(pointer, 3 * LONGEST))


def _faults_of(error: Any, pointer: str) -> Iterator[ShapeFault]:
    rule, wanted = str(error.validator), error.validator_value
    if rule == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        for key in sorted(set(error.instance) - set(known))[:MOST_FAULTS]:
            close = difflib.get_close_matches(str(key)[:LONGEST], known, 1)
            suggestion = close[0] if close else ""
            allowed = _listed(known) if known else _allowed(rule, wanted, error.schema)
            at = f"{pointer}/{printable(_escaped(key))}"
            yield at, "an unknown key", allowed, suggestion
    elif rule == "required":
        # One error a missing key, each naming the key only in its text.
        for key in wanted:
            if key not in error.instance and f"{key!r} is a required" in error.message:
                about = (
                    error.schema.get("properties", {}).get(key, {}).get("description", "a value")
                )
                yield f"{pointer}/{_escaped(key)}", "nothing", about.rstrip("."), ""
    elif rule == "enum":
        found = str(error.instance)[:LONGEST]
        close = difflib.get_close_matches(found, [str(w) for w in wanted], 1)
        yield pointer, _shown(error.instance), _listed(wanted), close[0] if close else ""
    else:
        yield pointer, _shown(error.instance), _allowed(rule, wanted, error.schema), ""


def _allowed(rule: str, wanted: Any, where: Any) -> str:
    words = {
        "minimum": f"{wanted} or more",
        "maximum": f"{wanted} or less",
        "exclusiveMinimum": f"more than {wanted}",
        "minLength": "text that is not empty",
        "minItems": f"{wanted} or more entries",
        "maxItems": f"{wanted} entries or fewer",
        "minProperties": f"{wanted} or more columns",
        "uniqueItems": "each entry once",
        "pattern": f"text that matches {wanted}",
    }
    if rule == "type":
        return _listed(TYPES[kind] for kind in (wanted if isinstance(wanted, list) else [wanted]))
    return words.get(rule) or str(where.get("description", rule)).rstrip(".")


def _listed(values: Any) -> str:
    return ", ".join(str(value) for value in values) or "none"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, date):
        return f"the date {value.isoformat()} (text stands in quotes)"
    if not isinstance(value, list | dict):
        return printable(repr(value))
    return printable(_outline(value))


def _outline(value: Any) -> str:
    """Show a list or a mapping without writing all of it."""
    inside = list(islice(value, 3))
    return (
        repr(inside) if isinstance(value, list) else f"a mapping of {', '.join(map(str, inside))}"
    )


def printable(text: str, longest: int = LONGEST) -> str:
    """Cut a text to what a message can bear, and escape what a terminal would obey."""
    text = text if len(text) <= longest else f"{text[: longest - 3]}..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _escaped(part: Any) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")
