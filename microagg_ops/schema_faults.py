"""JSON Schema, with faults that say what was found and what is allowed."""

from __future__ import annotations

import difflib
import functools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    here = Path(__file__).parent
    inside = here / "schemas" / f"{name}.schema.json"
    return inside if inside.exists() else here.parent / "schemas" / f"{name}.schema.json"


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """Read a schema of this package by its name."""
    return dict(json.loads(schema_path(name).read_text("utf-8")))


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
    errors = sorted(_validator(name).iter_errors(document), key=lambda e: [str(p) for p in e.path])
    for error in errors:
        pointer = "".join(f"/{_escaped(part)}" for part in error.absolute_path)
        yield from _faults_of(error, pointer)


def _faults_of(error: Any, pointer: str) -> Iterator[ShapeFault]:
    rule, wanted = str(error.validator), error.validator_value
    if rule == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        for key in sorted(set(error.instance) - set(known)):
            close = difflib.get_close_matches(str(key), known, 1)
            suggestion = close[0] if close else ""
            yield f"{pointer}/{_escaped(key)}", "an unknown key", _listed(known), suggestion
    elif rule == "required":
        # One error a missing key, each naming the key only in its text.
        for key in wanted:
            if key not in error.instance and f"{key!r} is a required" in error.message:
                about = (
                    error.schema.get("properties", {}).get(key, {}).get("description", "a value")
                )
                yield f"{pointer}/{_escaped(key)}", "nothing", about.rstrip("."), ""
    elif rule == "enum":
        close = difflib.get_close_matches(str(error.instance), [str(w) for w in wanted], 1)
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
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _escaped(part: Any) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")
